// What an algorithm between nodes costs, in the terms of PiP-MColl, section III: Hockney's alpha + M beta, inside a node
// and between nodes apart.
#pragma once

#include <algorithm>

namespace tutti::network {

/// The call, and the nodes.
struct Shape {
  int nodes = 1;
  int places = 1;    ///< ranks of the largest node, which is the number of lanes
  double bytes = 0;  ///< C_b: of a block, or of the whole message in Bcast, Reduce and Allreduce
  int runs = 1;      ///< results that a node has to keep apart to combine in the order of ranks (Nodes::runs_of)

  double ranks() const { return static_cast<double>(nodes) * places; }
};

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

struct Cost {
  double rounds = 0;            ///< between nodes, one after the other
  double messages = 0;          ///< that leave the busiest node
  double bytes = 0;             ///< the same
  double inside_starts = 0;     ///< inside the node, one after the other
  double inside_bytes = 0;      ///< copied by the rank that copies most
  double reduced_bytes = 0;     ///< read to be combined, by the rank that reads most
  double overlapped_bytes = 0;  ///< copied inside while messages are under way; not in inside_bytes

  /// Between nodes alone.
  double between_seconds(const Parameters& with) const {
    return rounds * with.between_start + std::max(bytes * with.between_byte, messages / with.message_rate);
  }
  /// Inside the node alone, before and after what goes between nodes, or in its pauses.
  double inside_seconds(const Parameters& with) const {
    return inside_starts * with.inside_start + inside_bytes * with.inside_byte + reduced_bytes * with.reduce_byte;
  }
  double overlapped_seconds(const Parameters& with) const { return overlapped_bytes * with.inside_byte; }
  double seconds(const Parameters& with) const {
    return std::max(between_seconds(with), overlapped_seconds(with)) + inside_seconds(with);
  }
};

}  // namespace tutti::network
