// What differs between processors. For each there is a header and a source in processor/, and what only an assembler can
// say in preload/processor/; nothing else of src/ asks which one it is compiled for (docs/processors.md).
#pragma once

#include <cstddef>
#include <cstdint>

// Each has, beside what is said below:
//
//   cache_line_bytes        what a core fetches and gives up at once
//   least_page_bytes, most_page_bytes        of what the kernel maps
//   own_copy_bytes          from this size on copy_long() is better than memcpy; SIZE_MAX: none is
//   relax()                 in a loop that polls
//   ticks()                 grows steadily, at a rate of its own, and costs little
//   ticks_a_microsecond()   about
//   ticks_in_order()        the same, and no instruction moves across it
//   clock_source            what Linux calls its clock where all cores count the same ticks
//   order_streamed()        what stream_lines() has stored is visible to whoever sees a flag that is set afterwards
//   prefetch_to_write(line) a hint
//   thread_pointer()        of the calling thread, as note_opener has it (preload/instructions.h)
//   elf_machine, elf_slots  of its files: whose they are, and the relocations that are the address of a symbol alone
//   TUTTI_TARGET_CLONES     in front of a function that is to be compiled for several instruction sets
#if defined(__x86_64__)
#include "base/processor/x86_64.h"
#elif defined(__aarch64__)
#include "base/processor/aarch64.h"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#include "base/processor/ppc64le.h"
#else
#error "Tutti knows x86-64, aarch64 and ppc64le: what another processor needs goes into src/base/processor"
#endif

namespace tutti::processor {

/// A copy of at least own_copy_bytes. side_by_side: in four streams.
void copy_long(void* destination, const void* source, std::size_t bytes, bool side_by_side);

/// Copies that do not put what they store into the caches. In units of this, and to a multiple of it.
inline constexpr std::size_t stream_line_bytes = 64;
/// Where there are no stores for that it is memcpy.
void stream_lines(char* to, const char* from, std::size_t lines);

/// Removes memory from all caches; returns when that has been done.
void flush_from_caches(const void* begin, std::size_t bytes);

enum class Maker : std::int32_t { other, amd };
Maker maker();

/// Whether the processor says that this is a virtual machine. Not all tell programs.
bool is_virtual();

/// A family of vector instructions; `baseline` is what the compiler may use everywhere.
enum class InstructionSet : std::uint8_t { baseline, sse4, avx2, avx512, neon, sve, sve2 };
inline constexpr int instruction_set_count = static_cast<int>(InstructionSet::sve2) + 1;

/// Whether this machine's processor and operating system can run code built for the instruction set.
bool runs(InstructionSet set) noexcept;

}  // namespace tutti::processor
