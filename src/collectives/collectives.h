// The collectives of the core: chosen, cut into segments, run. What src/mpi calls.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/arguments.h"
#include "engine/communicator.h"
#include "selection/algorithm.h"

namespace tutti {

/// The algorithms of each collective, by name. Made from the files of its folder.
template <class Arguments>
std::span<const selection::Algorithm<Arguments>* const> algorithms_of();

/// All names, to check what the user asks for.
std::vector<selection::UserChoice::Known> known_algorithms();

/// The choices of one communicator: made once a collective and size class, then one load a call.
class Collectives {
 public:
  Collectives(Communicator& communicator, const selection::UserChoice& user);

  /// Each returns false, without having communicated, if the host's own collective is to be used: on all ranks alike.
  bool barrier();
  bool bcast(const BcastArguments& arguments);
  bool reduce(const ReduceArguments& arguments);
  bool allreduce(const AllreduceArguments& arguments);

  Communicator& communicator() { return communicator_; }
  /// Name of the algorithm that ran last; "host" if none of ours.
  const char* last_algorithm() const { return last_algorithm_; }

 private:
  static constexpr int size_classes = 66;  // by the width of the size, and operators that do not commute apart
  template <class Arguments>
  struct Choices {
    struct Choice {
      const selection::Algorithm<Arguments>* algorithm = nullptr;
      bool made = false;
    };
    Choice of[2][size_classes];
  };
  template <class Arguments>
  const selection::Algorithm<Arguments>* choice(Choices<Arguments>& choices, const char* collective, std::size_t bytes,
                                                bool commutative);
  /// How to store messages of this size, of which each rank has `buffers` buffers.
  memory::Store store_for(std::size_t bytes, int buffers) const {
    const double footprint = static_cast<double>(bytes) * buffers * shape_.ranks;
    return footprint > cached_bytes_ ? memory::Store::streaming : memory::Store::cached;
  }
  template <class Arguments>
  bool run_reduction(Choices<Arguments>& choices, const char* collective, const Arguments& arguments);

  Communicator& communicator_;
  selection::UserChoice user_;
  selection::Model model_;
  selection::Shape shape_;
  double cached_bytes_;
  const char* last_algorithm_ = selection::host_algorithm;
  Choices<BarrierArguments> barrier_;
  Choices<BcastArguments> bcast_;
  Choices<ReduceArguments> reduce_;
  Choices<AllreduceArguments> allreduce_;
};

}  // namespace tutti
