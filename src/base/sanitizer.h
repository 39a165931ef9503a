// What a sanitizer has to be told: accesses that the compiler does not instrument, which are stores past the caches and
// the far side of the kernel's copies. Nothing where none is built in.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
#define TUTTI_THREAD_SANITIZER 1
#elif defined(__SANITIZE_ADDRESS__)
#define TUTTI_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TUTTI_THREAD_SANITIZER 1
#elif __has_feature(address_sanitizer)
#define TUTTI_ADDRESS_SANITIZER 1
#endif
#endif

// What instrumented code calls for accesses of any length.
#if defined(TUTTI_THREAD_SANITIZER)
extern "C" void __tsan_read_range(void* begin, unsigned long bytes);
extern "C" void __tsan_write_range(void* begin, unsigned long bytes);
#elif defined(TUTTI_ADDRESS_SANITIZER)
extern "C" void __asan_loadN(void* begin, unsigned long bytes);
extern "C" void __asan_storeN(void* begin, unsigned long bytes);
#endif

namespace tutti {

#if defined(TUTTI_THREAD_SANITIZER) || defined(TUTTI_ADDRESS_SANITIZER)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

inline void tell_sanitizer_of_read([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(TUTTI_THREAD_SANITIZER)
  __tsan_read_range(const_cast<void*>(begin), bytes);
#elif defined(TUTTI_ADDRESS_SANITIZER)
  __asan_loadN(const_cast<void*>(begin), bytes);
#endif
}

inline void tell_sanitizer_of_write([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(TUTTI_THREAD_SANITIZER)
  __tsan_write_range(begin, bytes);
#elif defined(TUTTI_ADDRESS_SANITIZER)
  __asan_storeN(begin, bytes);
#endif
}

}  // namespace tutti
