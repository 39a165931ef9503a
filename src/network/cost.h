// What messages between nodes cost, in the terms of PiP-MColl, section III: Hockney's alpha + M beta, inside a node and between
// nodes apart.
#pragma once

#include <algorithm>

namespace tutti::network {

/// Seconds, seconds a byte, messages a second. As shipped: Omni-Path's rate and bandwidth (PiP-MColl, section IV.A); the
/// paper has no figures for the others. Those inside the node are what selection::parameters_of makes of the shipped model.
struct Parameters {
  double between_start = 1e-6;      ///< alpha_e
  double between_byte = 8 / 100e9;  ///< beta_e, of a node's link: 100 Gb/s
  double message_rate = 97e6;       ///< of a node, all its ranks together
  double unasked_bytes = 0;         ///< longer messages wait until the receiver is asked; 0: not known
  double inside_start = 200e-9;     ///< alpha_r
  double inside_byte = 1 / 12e9;    ///< beta_r
  double reduce_byte = 1 / 12e9;    ///< gamma

  /// As so many a long message may be sent for which the receiver would have to be asked: what one of `places` ranks of a node
  /// starts in the round trip of asking, while the others do, too. 64 at most, since each needs a request.
  int pieces_instead_of_asking(int places) const {
    return static_cast<int>(std::clamp(2 * between_start * message_rate / places, 1.0, 64.0));
  }
};

/// Of one call, between nodes alone.
struct Cost {
  double rounds = 0;    ///< one after the other
  double messages = 0;  ///< that leave the busiest node
  double bytes = 0;     ///< the same

  double seconds(const Parameters& with) const {
    return rounds * with.between_start + std::max(bytes * with.between_byte, messages / with.message_rate);
  }
};

}  // namespace tutti::network
