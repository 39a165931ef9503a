// What algorithms cost, in the model's terms. Each algorithm states its own cost beside its code; here are the
// machine's parameters and the sum. The shipped values are of an ordinary server core; no size from which
// on an algorithm is taken stands anywhere else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/moving.h"
#include "network/cost.h"
#include "topology/distance.h"

namespace tutti::selection {

/// From so many bytes of a message or block on, stores into another rank's memory go past its caches.
inline constexpr std::size_t streamed_to_peers_min = std::size_t{16} << 10;
/// The same of the results of a reduction, which their owner seldom stores all by himself.
inline constexpr std::size_t streamed_results_min = std::size_t{4} << 10;

/// Of what a rank sends through its slots so much is taken back from those who have read it before the next call needs it
/// (OperationView::expect_data): about as many lines as a core can have under way.
inline constexpr double taken_ahead = 2048;
/// Of what was stored past a rank's caches it waits for so much; the rest comes ahead of it.
inline constexpr double waited_for = 24 * 1024;
/// Of what is lent so much is copied before others begin to read it.
inline constexpr double lent_at_once = 16 * 1024;
/// Shorter messages and blocks are moved in the plain way only.
inline constexpr std::size_t moved_min = std::size_t{4} << 10;

/// Seconds, and seconds a byte.
struct Model {
  double hop = 100e-9;                     ///< a flag, from the store to the peer that sees it
  double turn = 1.8e-6;                    ///< until a rank that shares its core runs, for each rank before it
  double busy_turn = 2.4e-6;               ///< the same where what the ranks of a core hold fills its private cache
  double copy_byte = 1.0 / 25e9;           ///< copy within the caches of one core
  double spilled_byte = 1.0 / 12e9;        ///< copy of own data that the core has no more room for in its private cache
  double remote_byte = 1.0 / 12e9;         ///< copy of what another core has just written
  double slot_byte = 1.0 / 8e9;            ///< copy into lines that another core has read before
  double reduce_byte = 1.0 / 20e9;         ///< one source of a reduction, from the own caches
  double write_byte = 1.0 / 8e9;           ///< copy into lines that another core has taken over
  double stream_byte = 1.0 / 9e9;          ///< the same past the owner's caches
  double streams_byte = 1.0 / 60e9;        ///< of all that go past caches at the same time: what memory takes
  double cache_streams_byte = 1.0 / 60e9;  ///< the same of the cores of one shared cache, which go there by one way
  double exchange_byte = 1.0 / 12e9;       ///< as remote_byte, while the owner copies from another rank as well
  double left_byte = 1.0 / 8e9 - 1.0 / 25e9;  ///< what the owner of lines that others have read pays more to write them
  double found_byte = 1.0 / 8e9 - 1.0 / 25e9;  ///< what a rank pays more to use what another one has stored for it
  double found_streamed_byte =
      1.0 / 8e9 - 1.0 / 25e9;       ///< the same of what was stored past its caches: it is in memory
  double take_byte = 1.0 / 50e9;    ///< what it costs a rank more to take over lines that it reads
  double private_cache = 1 << 20;   ///< bytes that a core keeps for itself
  double kept_far = 1 << 17;        ///< bytes of another's that a core's part of another cache holds
  double shared_cache = 1e15;       ///< bytes that the caches of the node hold; shipped: no limit, since it is unknown
  double memory_byte = 1.0 / 10e9;  ///< copy of what has left the caches, where that is slower
  double expose = 60e-9;            ///< exposing a buffer and finding the peers' ones

  // The above are of cores as near each other as cores are. What a hop takes as many times as long, and a byte of what
  // is another core's, where two share no cache but a NUMA node, no NUMA node but a socket, nothing but the machine.
  double hop_numa = 1.5;
  double hop_socket = 2;
  double hop_machine = 3;
  double byte_numa = 1.25;
  double byte_socket = 1.5;
  double byte_machine = 2;
  // The same of a byte that is stored to lines that another core has.
  double store_numa = 1.25;
  double store_socket = 1.5;
  double store_machine = 2;
  // The same of a byte that lies in memory, or goes there: no NUMA node but a socket, nothing but the machine.
  double memory_socket = 1.5;
  double memory_machine = 2;

  // What all get together who copy at once, of ordinary servers with two sockets. The prices above are of one who copies
  // alone; two that share one of these get no more of it, however fast each could copy.
  double rank_byte = 1.0 / 40e9;    ///< from one rank's memory, or to it
  double node_byte = 1.0 / 300e9;   ///< from the caches and the memory of one NUMA node, or to them
  double link_byte = 1.0 / 100e9;   ///< from one socket to another one
  double total_byte = 1.0 / 600e9;  ///< on the whole machine

  // Copies by the kernel (process_vm_readv and writev), as the CMA-aware paper has them (section II.B and III):
  // alpha + n beta + pages * lock * gamma(c), gamma(c) = gamma_square c^2 + gamma_linear c, c of them at once on one
  // rank.
  double kernel_start = 400e-9;           ///< alpha
  double kernel_byte = 1.0 / 10e9;        ///< beta
  double kernel_write_byte = 1.0 / 10e9;  ///< the same for process_vm_writev
  double kernel_page = 60e-9;             ///< lock: one page alone
  double page_bytes = 4096;               ///< s: of such a page; who copies less locks one all the same
  double kernel_gamma_square = 0.1;       ///< for c above 1
  double kernel_gamma_linear = 0.9;

  double gamma(double concurrency) const {
    return concurrency <= 1 ? 1.0 : kernel_gamma_square * concurrency * concurrency + kernel_gamma_linear * concurrency;
  }
  /// The mean over such shares of the distances.
  double hop_factor(const topology::DistanceShares& shares) const {
    return shares[0] + shares[1] * hop_numa + shares[2] * hop_socket + shares[3] * hop_machine;
  }
  double byte_factor(const topology::DistanceShares& shares) const {
    return shares[0] + shares[1] * byte_numa + shares[2] * byte_socket + shares[3] * byte_machine;
  }
  /// The same of what is stored to lines that others have.
  double store_factor(const topology::DistanceShares& shares) const {
    return shares[0] + shares[1] * store_numa + shares[2] * store_socket + shares[3] * store_machine;
  }
  /// The same of what lies in memory, or goes there, past the caches.
  double memory_factor(const topology::DistanceShares& shares) const {
    return shares[0] + shares[1] + shares[2] * memory_socket + shares[3] * memory_machine;
  }
  /// Whether a copy that one rank makes for others to read goes past the caches: where it comes to them sooner from memory
  /// than out of its caches, by a tenth at least, as what stays there is near for its next calls.
  bool is_lent_past_caches(const topology::Distances& distances) const {
    const double through =
        store_factor(distances.pairs) * write_byte + byte_factor(distances.pairs) * remote_byte + take_byte;
    return stream_byte + memory_factor(distances.pairs) * memory_byte < 0.9 * through;
  }
};

/// How buffers of a size are usually reached: loaded and stored, copied by the kernel, or through a copy of the owner.
enum class Reach { mapped, kernel, staged };

/// In which ways bytes may be moved: the user's word.
enum class Moves { cheapest, plain, caches, memory };

/// The call as all ranks see it: only what is equal on all of them.
struct Shape {
  int ranks = 2;
  std::size_t bytes = 0;  ///< of the message; of one block where each rank has its own; of all for Reduce_scatter
  bool regular = true;    ///< false: sizes differ between ranks, `bytes` is a guess that all share
  int levels = 1;         ///< depth of the hierarchy
  topology::Distances distances;  ///< between the ranks
  double ranks_per_core = 1;      ///< above 1 the ranks take turns
  std::size_t eager_max = 0;
  std::size_t slot_bytes = 0;  ///< what an operation can send through its data area
  std::size_t flat_max = 0;
  double buffers = 2;  ///< what a rank's buffers hold, in multiples of `bytes`
  bool commutative = true;
  bool exclusive = false;  ///< of Scan: Exscan, where rank 0 has no result
  int nodes = 1;           ///< that the ranks sit on
  int places = 0;          ///< ranks of the node that has most, which is the number of lanes; 0: all ranks share memory
  int runs = 1;            ///< results that a node has to keep apart to combine in the order of ranks (Nodes::runs_of)
  Reach reach = Reach::mapped;
  bool kernel_beyond_slot = false;  ///< where reach is `staged`: what does not fit a slot is copied by the kernel
  bool past_caches = false;         ///< where reach is `staged`: what is copied for others goes past the caches
  Moves moves = Moves::cheapest;
  std::size_t moved_max = 0;      ///< ranks whose buffers hold more move bytes in the plain way only
  Moving moving = Moving::plain;  ///< where reach is `mapped`
  int parameter = 0;              ///< k or j of the algorithm that is looked at; 0 if it has none

  /// How `exposed` bytes of one rank are reached together, where an algorithm exposes more than `bytes`.
  Reach reach_of(std::size_t exposed) const {
    return reach == Reach::staged && kernel_beyond_slot && exposed > slot_bytes ? Reach::kernel : reach;
  }
  /// The same of blocks: what would need the kernel lies in the data area if it fits there.
  Reach reach_of_blocks(std::size_t blocks) const {
    const Reach found = reach_of(blocks * bytes);
    return found == Reach::kernel && blocks * bytes <= slot_bytes ? Reach::staged : found;
  }
  /// How the hierarchy branches; if all groups are of equal size, where that is not known.
  topology::Branching branching() const {
    if (distances.branching.children > 0) return distances.branching;
    const double group = std::pow(ranks, 1.0 / levels);
    topology::Branching equal{levels * (group - 1), ranks / group, 0, group};
    for (double below = ranks / group; below > 1.5; below /= group) equal.on_the_way += below;
    return equal;
  }
  /// Whether ranks are on several sockets; by the levels, where it is not known.
  bool several_sockets() const {
    return distances.branching.children > 0 ? distances.pairs[index_of(topology::Distance::machine)] > 0 : levels > 1;
  }
  /// Whether ranks that are near each other by rank, or for operators that commute in the machine's order, are near on
  /// the machine.
  bool neighbors_are_near() const { return commutative || !distances.scattered; }
  /// Whether bytes may be moved so. It takes enough of them, between buffers that are mapped, of different cores.
  bool may_move(Moving how) const {
    if (how == Moving::plain) return moves == Moves::cheapest || moves == Moves::plain;
    if (reach != Reach::mapped || buffers * static_cast<double>(bytes) > static_cast<double>(moved_max)) return false;
    if (moves == Moves::cheapest) return bytes >= moved_min && !oversubscribed();
    return moves == (how == Moving::lent_beyond ? Moves::memory : Moves::caches);
  }
  bool oversubscribed() const { return ranks_per_core > 1; }
  bool spans_nodes() const { return places > 0; }
  /// Nothing is in the size class of one byte.
  double class_bytes() const { return std::max(1.0, static_cast<double>(bytes)); }
  bool small() const { return regular && bytes <= eager_max; }
  bool few_ranks() const { return static_cast<std::size_t>(ranks) <= flat_max; }
};

/// How far the bytes of the slowest rank go, and the hops that it waits for.
enum class Across {
  farthest,  ///< bytes of one other rank, which is far away; so are the hops
  all,       ///< bytes of all the others, or to them, near and far; some hops are far
  levels,    ///< both from level to level of the hierarchy
  ranks,     ///< bytes of the rank before, wherever that is; so are the hops
};

/// What one rank, the root, does at the same time as the others do their work.
struct Beside {
  double copied_bytes = 0;   ///< between own buffers
  double remote_bytes = 0;   ///< read from or written to others' buffers
  double written_bytes = 0;  ///< the part of remote_bytes that is written to others' buffers
  double slot_bytes = 0;     ///< into memory that others have read before
  double exposures = 0;
};

/// What one call costs one rank, slowest rank first.
struct Cost {
  double hops = 0;             ///< flag hops one after the other
  double rounds = 0;           ///< times a rank has to wait for all the others
  double copied_bytes = 0;     ///< between own buffers
  double remote_bytes = 0;     ///< read from or written to others' buffers
  double written_bytes = 0;    ///< the part of remote_bytes that is written to others' buffers
  double exchanged_bytes = 0;  ///< the part of remote_bytes that is read while its owner reads from another rank, too
  double slot_bytes = 0;       ///< into memory that others have read before: slots, staging, buffers that are handed on
  double drawn_bytes = 0;      ///< what many copy out of slots at once, where slot_bytes has it in the price of those
  double reduced_bytes = 0;
  double left_bytes = 0;  ///< of one rank's buffers that others read: their owner has to take them back
  double exposures = 0;
  double startups = 0;     ///< copies between ranks, each a call of the kernel where it does them; not those by slots
  bool by_kernel = false;  ///< copied by the kernel, though buffers of the message's size go through slots
  double lent_bytes = 0;   ///< the part of remote_bytes that is loaded from shared memory, also where the kernel copies
  double concurrency = 1;  ///< how many copy from or to one rank at once
  double crowded_bytes = 0;  ///< the part of remote_bytes that is copied not so, but by `crowd` at once
  double crowd = 0;
  double crossing = 0;    ///< how many copy from one socket to another at once; 0: what follows from the others
  double workers = 0;     ///< how many ranks do all this work, 0: every rank; what they do at the same time adds up
  double streams = 0;     ///< how many ranks copy from or to others at once, 0: as many as there are workers
  double held_bytes = 0;  ///< by the buffers of the rank that has copied_bytes; 0: by those of the mean rank
  bool common = false;  ///< every rank reads the same: on a shared core what one of them has fetched is near for others
  Beside beside = {};   ///< what the root does meanwhile: the slower of both counts
  Across across = Across::farthest;
  network::Cost between = {};  ///< of ranks on several nodes: what goes from node to node

  /// Of ranks on several nodes, inside a node: before and after what goes between nodes, or in its pauses; and meanwhile.
  double inside_seconds(const network::Parameters& with) const {
    return hops * with.inside_start + copied_bytes * with.inside_byte + reduced_bytes * with.reduce_byte;
  }
  double meanwhile_seconds(const network::Parameters& with) const { return beside.copied_bytes * with.inside_byte; }
  double seconds(const network::Parameters& with) const {
    return std::max(between.seconds(with), meanwhile_seconds(with)) + inside_seconds(with);
  }

  /// Of ranks that share memory.
  double seconds(const Shape& shape, const Model& model) const {
    const double shared = std::max(1.0, shape.ranks_per_core);
    const Prices price = prices(shape, model, shared);
    const double drawn =
        drawn_bytes > 0 ? least_seconds(traffic(shape, price, shared, concurrency, common), model, drawn_bytes, 0) : 0;
    // What is lent is copied by its owner; by those who do no other work, while the others read what is there by then.
    const bool by_idle = workers > 0 && workers < shape.ranks;
    const double lent = lends_copies(shape.moving) ? left_bytes : 0;
    const double lent_before = by_idle ? std::min(lent, lent_at_once) : lent;
    const bool by_ring = is_lent_by_ring(shape);
    const double work = copied_bytes * price.own + std::max(slot_bytes * price.slot, drawn) + lent_before * price.lent +
                        reduced_bytes * model.reduce_byte + (by_ring ? 0 : exposures * model.expose) +
                        remote_seconds(shape, model, price, shared);
    const double meanwhile = beside.copied_bytes * price.own +
                             (beside.remote_bytes - beside.written_bytes) * price.read +
                             beside.written_bytes * price.written_alone + beside.slot_bytes * price.slot +
                             (by_idle ? lent * price.lent : 0) + beside.exposures * model.expose;
    const double slower = std::max(work, meanwhile);
    if (!shape.oversubscribed())
      return slower + (by_ring ? hops - 1 : hops) * model.hop * model.hop_factor(hop_distances(shape)) +
             aftermath_seconds(shape, model);
    const double cores = shape.ranks / shared;
    const double all = workers > 0 ? workers : shape.ranks;
    // Where one rank leaves the work to the others, there is a core on which none rests.
    const double busiest = all > 1 && all < shape.ranks ? all * work * shared / (shape.ranks - 1) : 0;
    return std::max({slower, busiest, (all * work + meanwhile) / cores}) + rounds * shared * price.turn;
  }

 private:
  /// Seconds a byte, and a turn.
  struct Prices {
    double own, slot, read, exchanged, written, written_alone, lent, turn;
    double beyond;  ///< the part of the data that is not in the caches any more when it is copied
  };

  /// How many copy at once through what they share; not more than there are cores.
  struct Traffic {
    double rank;    ///< the memory of one
    double cache;   ///< a cache that several cores share, and no further
    double node;    ///< a NUMA node, between its caches or to others
    double link;    ///< from one socket to another one
    double total;   ///< the machine, between its caches
    double apart;   ///< the part of the pairs that are on several sockets
    double beyond;  ///< the part that comes from memory or goes there
  };

  /// at_once: from or to one rank. same: all read the same there.
  Traffic traffic(const Shape& shape, const Prices& price, double shared, double at_once, bool same) const {
    using topology::Distance;
    const topology::DistanceShares& pairs = shape.distances.pairs;
    const double cores = std::max(1.0, shape.ranks / shared);
    // Cores in the same domain, from the part of the pairs that are.
    const auto near = [&](double part) { return 1 + part * (cores - 1); };
    const double of_cache = near(pairs[index_of(Distance::cache)]);
    const double of_node = near(pairs[index_of(Distance::cache)] + pairs[index_of(Distance::numa)]);
    const double apart = pairs[index_of(Distance::machine)];
    const double sockets = cores / near(1 - apart);
    // Ranks that take turns do not copy at the same time.
    const double on_one = std::clamp(at_once / shared, 1.0, cores);
    const double usual = streams > 0 ? streams : workers > 0 ? workers : shape.ranks;
    const double all = std::max(on_one, std::min(usual, cores));
    // Of what all read, one fetches for all that share its cache; of a tree, and of neighbours, one of these has another.
    const double fetched = same ? of_cache : 1;
    const bool neighbors = across == Across::levels || crossing > 0;
    const double leaves = neighbors ? std::min(1.0, std::max(1.0, crossing) / of_cache)
                                    : std::min(1 - pairs[index_of(Distance::cache)], 1 / fetched);
    double link = 0;
    if (apart > 0)
      link = crossing > 0               ? crossing
             : across == Across::levels ? 1
                                        : std::max(on_one / sockets, all * apart / (sockets * (sockets - 1))) / fetched;
    return {.rank = on_one / fetched,
            .cache = std::max(all * (1 - leaves) * of_cache / cores, same ? std::min(on_one, of_cache) : 0.0),
            .node = std::max(on_one / fetched, all * leaves * of_node / cores),
            .link = link,
            .total = all * leaves,
            .apart = apart,
            .beyond = price.beyond};
  }

  /// The least that `bytes` take where so many copy as much at once, and the root `besides` from its memory or to it.
  static double least_seconds(const Traffic& traffic, const Model& model, double bytes, double besides) {
    // Who is alone gets what its core can do, of which the prices tell.
    const auto through = [&](double streams, double extra, double byte) {
      return streams > 1 || (streams > 0 && extra > 0) ? (streams * bytes + extra) * byte : 0.0;
    };
    return std::max({through(traffic.rank, besides, model.rank_byte), through(traffic.cache, 0, model.node_byte),
                     through(traffic.node, besides, model.node_byte),
                     through(traffic.link, traffic.apart * besides, model.link_byte),
                     through(traffic.total, besides, model.total_byte),
                     through(traffic.total, besides, traffic.beyond * model.streams_byte)});
  }

  /// Whether copies are lent through the ring of slots, where their owner does not wait until they are read.
  bool is_lent_by_ring(const Shape& shape) const {
    return lends_copies(shape.moving) && written_bytes <= 0 && hops >= 2 && 2 * shape.bytes <= shape.eager_max;
  }

  /// Whether stores into other ranks' memory go past their caches. Where ranks share cores, whoever gets a small block
  /// past its caches has the others of its core wait while it fetches that from memory: no faster than by other means.
  static bool stores_stream(const Shape& shape) {
    const bool large = !shape.oversubscribed() || !shape.small();
    return large && shape.bytes >= streamed_to_peers_min && !stores_through_caches(shape.moving);
  }

  /// What the program pays after the call: to take back lines that others have read, when their owner writes them next,
  /// and to fetch what others have stored.
  double aftermath_seconds(const Shape& shape, const Model& model) const {
    const double left = lends_copies(shape.moving) ? 0 : left_bytes;
    const double stored = written_bytes + beside.written_bytes;
    if (shape.reach == Reach::staged || left + stored <= 0) return 0;
    topology::DistanceShares pairs = shape.distances.pairs;
    const bool streams = stores_stream(shape);
    const double elsewhere = left + (streams ? 0 : stored);
    // The part of so many bytes that is still in caches which hold so many.
    const auto kept = [](double bytes, double cache) { return bytes > cache ? cache / bytes : 1.0; };
    // Cores that share a cache find there what has left their private ones by then, as if it were their own.
    for (double& share : pairs) share *= kept(elsewhere, model.kept_far);
    double& near = pairs[index_of(topology::Distance::cache)];
    near = shape.distances.pairs[index_of(topology::Distance::cache)] * kept(elsewhere, model.private_cache / 8);
    // What went past the caches is in memory. It comes ahead of who goes through it in order.
    const double fetched =
        streams ? std::min(stored, waited_for) * model.found_streamed_byte * model.memory_factor(shape.distances.pairs)
                : 0;
    return fetched + model.store_factor(pairs) * (left * model.left_byte + (elsewhere - left) * model.found_byte);
  }

  /// What remote_bytes take. Those that are crowded, and the others, have their own part of everything.
  double remote_seconds(const Shape& shape, const Model& model, const Prices& price, double shared) const {
    const double read = remote_bytes - written_bytes;
    double copying = 0, page_seconds = 0, started = 0, called = remote_bytes;
    if (startups > 0 && (by_kernel || shape.reach == Reach::kernel)) {
      called -= lent_bytes;
      // What it costs to reach the data is on top of, or less than, what it is in the kernel's prices.
      const double reached = called * (price.read - model.remote_byte);
      copying = lent_bytes * price.read + std::max(0.0, (read - lent_bytes) * model.kernel_byte +
                                                            written_bytes * model.kernel_write_byte + reached);
      page_seconds = std::max(called / model.page_bytes, startups) * model.kernel_page;
      started = startups * model.kernel_start;
    } else {
      copying =
          (read - exchanged_bytes) * price.read + exchanged_bytes * price.exchanged + written_bytes * price.written;
    }
    // Ranks that take turns are not in the kernel at the same time.
    const auto seconds_of = [&](double bytes, double locked, double at_once, bool same, double besides) {
      const double copied = remote_bytes > 0 ? bytes / remote_bytes * copying : 0;
      return std::max(copied + locked * page_seconds * model.gamma(std::max(1.0, at_once / shared)),
                      least_seconds(traffic(shape, price, shared, at_once, same), model, bytes, besides));
    };
    const double crowded_pages = called > 0 ? std::min(1.0, crowded_bytes / called) : 0;
    const double others =
        seconds_of(remote_bytes - crowded_bytes, 1 - crowded_pages, concurrency, common, beside.remote_bytes);
    return started + others + (crowded_bytes > 0 ? seconds_of(crowded_bytes, crowded_pages, crowd, false, 0) : 0);
  }

  static topology::DistanceShares widest(const Shape& shape) {
    topology::DistanceShares one{};
    one[index_of(shape.distances.widest())] = 1;
    return one;
  }
  topology::DistanceShares hop_distances(const Shape& shape) const {
    return across == Across::levels  ? shape.distances.levels
           : across == Across::ranks ? shape.distances.consecutive
                                     : widest(shape);
  }
  topology::DistanceShares byte_distances(const Shape& shape) const {
    // Levels more, with no boundary of the machine between their groups, bring nobody's bytes nearer.
    return across == Across::all      ? shape.distances.pairs
           : across == Across::levels ? shape.distances.boundaries
                                      : widest(shape);
  }

  Prices prices(const Shape& shape, const Model& model, double shared) const {
    const double footprint = static_cast<double>(shape.bytes) * shape.buffers * shape.ranks;
    const double beyond = footprint > model.shared_cache ? 1 - model.shared_cache / footprint : 0;
    const auto byte = [&](double cached) { return cached + beyond * std::max(0.0, model.memory_byte - cached); };
    const double usual = static_cast<double>(shape.bytes) * shape.buffers;
    // What the ranks of a core hold is in one private cache.
    const double held = (held_bytes > 0 ? held_bytes : usual) + (shared - 1) * usual;
    const bool spilled = held > model.private_cache;
    Prices price{};
    price.beyond = beyond;
    price.own = byte(spilled ? model.spilled_byte : model.copy_byte);
    // Whoever has its turn finds as much less of its own in the caches as others have brought there.
    price.turn = model.turn + std::min(1.0, held / model.private_cache) * std::max(0.0, model.busy_turn - model.turn);
    const double apart = model.byte_factor(byte_distances(shape));
    const double memory_apart = model.memory_factor(byte_distances(shape));
    const double store_apart = model.store_factor(byte_distances(shape));
    // What others have read lies no nearer than what the rank has for itself. That others are far costs as much more as
    // with any line that is stored to or taken back.
    // The first of them come while the rank does something else.
    const double ahead = std::min(1.0, taken_ahead / static_cast<double>(std::max<std::size_t>(1, shape.bytes)));
    const double shared_lines =
        byte(model.slot_byte) + (1 - ahead / 2) * (store_apart - 1) * byte(std::max(model.write_byte, model.left_byte));
    price.slot = std::max(shape.past_caches ? memory_apart * model.stream_byte : shared_lines, price.own);
    price.read = apart * byte(model.remote_byte);
    price.exchanged = apart * byte(model.exchange_byte);
    const double writers = std::min(workers > 0 ? workers : shape.ranks, shape.ranks / shared);
    // Those who share a cache share the way from it to the memory; who is alone there gets what its core can do.
    const auto streamed_by = [&](double ranks) {
      const double near = 1 + shape.distances.pairs[index_of(topology::Distance::cache)] * (ranks - 1);
      return std::max(ranks * model.streams_byte, near > 1 ? near * model.cache_streams_byte : 0.0);
    };
    const double streams_together = streamed_by(writers);
    // What two ranks pass to and fro through their caches has to stay there.
    const bool fits =
        2.0 * static_cast<double>(shape.bytes) <= model.private_cache || !stores_through_caches(shape.moving);
    const double through = byte(fits ? model.write_byte : std::max(model.write_byte, model.memory_byte));
    if (shape.moving == Moving::lent) {
      price.lent = store_apart * through;
      price.read += model.take_byte;
      price.exchanged += model.take_byte;
    } else if (shape.moving == Moving::lent_beyond) {
      // Where some do all the work, the others lend.
      const double idle = shape.ranks - workers;
      price.lent = std::max(model.stream_byte, workers > 0 && idle > 0 ? streamed_by(idle) : streams_together);
      price.read = price.exchanged = memory_apart * std::max(model.memory_byte, model.copy_byte);
    }
    const bool streams = stores_stream(shape);
    price.written_alone = streams ? memory_apart * model.stream_byte : store_apart * through;
    price.written = streams ? std::max(price.written_alone, streams_together) : price.written_alone;
    if (!shape.oversubscribed()) return price;
    // Of the ranks that a rank copies from or to, some share its core, and its caches. Where many copy from or to one
    // of them, they are those of another core who finish last.
    const double others = std::max(1, shape.ranks - 1);
    const double far = workers > 1 ? 1.0 : std::max(0.0, 1 - (shared - 1) / others);
    // What several of a core read, one of them fetches.
    const double far_read = common ? far / shared : far;
    // The destination of such a copy has left the private cache as well. Of what that costs where source and
    // destination have, two thirds are its own: it comes, and what makes room for it goes.
    const double missed = spilled ? std::max(0.0, model.spilled_byte - model.copy_byte) * 2 / 3 : 0;
    const auto mixed = [&](double part, double farther) {
      return part * std::max(farther + missed, price.own) + (1 - part) * price.own;
    };
    // Every core copies while the others do, but for what one rank does alone.
    price.exchanged = mixed(far_read, std::max(price.read, price.exchanged));
    price.read = workers > 0 && workers <= 1 ? mixed(far_read, price.read) : price.exchanged;
    price.written = mixed(far, price.written);
    price.written_alone = mixed(far, price.written_alone);
    // Of those that have read a slot as well.
    price.slot = far * price.slot + (1 - far) * price.own;
    return price;
  }
};

}  // namespace tutti::selection
