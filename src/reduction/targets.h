// Which of Highway's targets we build, and how their code is handed to the rest of the layer. Include before
// anything of Highway, in a source file that names itself in HWY_TARGET_INCLUDE. Internal.
#pragma once

// An allow-list: whatever else a version of Highway knows is not worth its compile time to us. SCALAR or
// EMU128 stands for the baseline, for which we do not use Highway's code but our own plain loops.
#define HWY_DISABLED_TARGETS \
  (~(HWY_SCALAR | HWY_EMU128 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_NEON | HWY_SVE | HWY_SVE2))
// Highway's own assertions would need its library at link time.
#define HWY_IS_DEBUG_BUILD 0

// True where the code now compiled uses vectors. HWY_TARGET changes with each inclusion.
#define TUTTI_VECTOR_TARGET (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

// The end of a source file, within #if HWY_ONCE: the finders, of find_<operators>, which was built in each target's
// namespace.
#define TUTTI_DEFINE_FINDERS(operators)     \
  namespace tutti::reduction {              \
  Finders operators##_finders() noexcept {  \
    return TUTTI_FINDERS(find_##operators); \
  }                                         \
  }
#define TUTTI_FINDERS(find)                                                                                           \
  ::tutti::reduction::Finders {                                                                                       \
    HWY_CHOOSE_SSE4(find), HWY_CHOOSE_AVX2(find), HWY_CHOOSE_AVX3(find), HWY_CHOOSE_NEON(find), HWY_CHOOSE_SVE(find), \
        HWY_CHOOSE_SVE2(find), HWY_CHOOSE_FALLBACK(find)                                                              \
  }
