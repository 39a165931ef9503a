#include "reduction/instruction_set.h"

namespace tutti::reduction {

Finder Finders::built_for(InstructionSet set) const noexcept {
  switch (set) {
    case InstructionSet::baseline:
      return baseline;
    case InstructionSet::sse4:
      return sse4;
    case InstructionSet::avx2:
      return avx2;
    case InstructionSet::avx512:
      return avx512;
    case InstructionSet::neon:
      return neon;
    case InstructionSet::sve:
      return sve;
    case InstructionSet::sve2:
      return sve2;
  }
  return nullptr;
}

}  // namespace tutti::reduction
