#include "collectives/memory_of_calls.h"

#include <algorithm>

namespace tutti {

void MemoryOfCalls::learn(TriedLine& line, std::uint64_t sequence, bool mapped) {
  others_more_often_ = std::clamp(others_more_often_ + (mapped ? -1 : 1), -calls_remembered, calls_remembered);
  if (others_more_often_ == 0) return;
  const int found = others_more_often_ > 0 ? others : mapped_ones;
  // Sooner a rank may still need the decision before the last one, whose word would be taken.
  const bool too_soon = decision_.from > 0 && sequence < decision_.from + selection::published_after;
  if (found == decision_.candidate || too_soon) return;
  decision_ = {selection::Decision::from_after(sequence), selection::Decision::Phase::settled, found, 0};
  line.decision[second_ ? 1 : 0].set(decision_.word());
  second_ = !second_;
}

}  // namespace tutti
