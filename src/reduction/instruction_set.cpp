#include "reduction/instruction_set.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace tutti::reduction {

namespace {

#if defined(__x86_64__)

// Two features that come with AVX2 on every processor but that a hypervisor may hide, and that some
// compilers'
// __builtin_cpu_supports cannot be asked about.
bool has_half_floats_and_leading_zero_count() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  const bool half_floats = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & (1u << 29)) != 0;
  const bool leading_zero_count = __get_cpuid(0x80000001u, &eax, &ebx, &ecx, &edx) && (ecx & (1u << 5)) != 0;
  return half_floats && leading_zero_count;
}

bool has_sse4() {
  __builtin_cpu_init();  // we may run before the constructors of the compiler's own library
  return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2");
}

bool has_avx2() {
  return has_sse4() && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         has_half_floats_and_leading_zero_count();
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
}

#endif

}  // namespace

bool runs_here(InstructionSet set) noexcept {
  if (set == InstructionSet::baseline) return true;
#if defined(__x86_64__)
  if (set == InstructionSet::sse4) return has_sse4();
  if (set == InstructionSet::avx2) return has_avx2();
  if (set == InstructionSet::avx512) return has_avx512();
#elif defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long sve_bit = 1ul << 22;  // HWCAP_SVE
  constexpr unsigned long sve2_bit = 1ul << 1;  // HWCAP2_SVE2
  constexpr unsigned long aes_bit = 1ul << 3;   // HWCAP_AES: Highway's NEON code is built with it
  if (set == InstructionSet::neon) return (getauxval(AT_HWCAP) & aes_bit) != 0;
  if (set == InstructionSet::sve) return (getauxval(AT_HWCAP) & sve_bit) != 0;
  if (set == InstructionSet::sve2) return (getauxval(AT_HWCAP2) & sve2_bit) != 0;
#endif
  return false;
}

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
