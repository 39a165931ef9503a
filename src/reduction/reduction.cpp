#include "reduction/reduction.h"

#include "reduction/instruction_set.h"
#include "reduction/pairs.h"
#include "reduction/plain.h"

namespace tutti::reduction {

namespace {

// Best last. Of the Arm sets, SVE code runs at whatever width the processor has.
constexpr InstructionSet by_preference[] = {InstructionSet::baseline, InstructionSet::sse4, InstructionSet::avx2,
                                            InstructionSet::avx512,   InstructionSet::neon, InstructionSet::sve,
                                            InstructionSet::sve2};

Kernel scalar_kernel(Operator operation, Type type) noexcept {
  if (Kernel found = location_kernel(operation, type)) return found;
  return extended_kernel(operation, type);
}

Finder vector_finder(InstructionSet set, Operator operation) noexcept {
  switch (operation) {
    case Operator::sum:
      return sum_finders().built_for(set);
    case Operator::prod:
      return product_finders().built_for(set);
    case Operator::max:
    case Operator::min:
      return extremum_finders().built_for(set);
    case Operator::band:
    case Operator::bor:
    case Operator::bxor:
      return bitwise_finders().built_for(set);
    case Operator::land:
    case Operator::lor:
    case Operator::lxor:
      return logical_finders().built_for(set);
    default:
      return nullptr;
  }
}

// The best set this machine runs and we were built for. Asking the processor can cost microseconds in a
// virtual machine.
InstructionSet best_instruction_set() noexcept {
  static const InstructionSet best = [] {
    InstructionSet found = InstructionSet::baseline;
    for (InstructionSet set : by_preference) {
      if (sum_finders().built_for(set) != nullptr && processor::runs(set)) found = set;
    }
    return found;
  }();
  return best;
}

}  // namespace

Kernel kernel_built_for(InstructionSet set, Operator operation, Type type) noexcept {
  if (const Finder find = vector_finder(set, operation)) {
    if (Kernel found = find(operation, type)) return found;
  }
  return set == InstructionSet::baseline ? scalar_kernel(operation, type) : nullptr;
}

Kernel kernel(Operator operation, Type type) noexcept {
  if (Kernel found = kernel_built_for(best_instruction_set(), operation, type)) return found;
  return scalar_kernel(operation, type);
}

std::size_t size_of(Type type) noexcept {
  switch (type) {
    case Type::i8:
    case Type::u8:
    case Type::boolean:
    case Type::logical8:
    case Type::byte:
      return 1;
    case Type::i16:
    case Type::u16:
    case Type::logical16:
      return 2;
    case Type::i32:
    case Type::u32:
    case Type::logical32:
      return 4;
    case Type::i64:
    case Type::u64:
    case Type::logical64:
      return 8;
    case Type::f32:
      return sizeof(float);
    case Type::f64:
      return sizeof(double);
    case Type::f80:
      return sizeof(long double);
    case Type::c32:
      return sizeof(plain::Complex<float>);
    case Type::c64:
      return sizeof(plain::Complex<double>);
    case Type::c80:
      return sizeof(plain::Complex<long double>);
    case Type::f32_i32:
      return sizeof(PairF32I32);
    case Type::f64_i32:
      return sizeof(PairF64I32);
    case Type::i64_i32:
      return sizeof(PairI64I32);
    case Type::i32_i32:
      return sizeof(PairI32I32);
    case Type::i16_i32:
      return sizeof(PairI16I32);
    case Type::f80_i32:
      return sizeof(PairF80I32);
    case Type::f32_f32:
      return sizeof(PairF32F32);
    case Type::f64_f64:
      return sizeof(PairF64F64);
  }
  return 0;
}

}  // namespace tutti::reduction
