// Of what stubs.S and entries.cpp share: where calls by second names come from. There is no C++ here, since the
// assembler reads it, too.
#pragma once

// clang-format off
#define TUTTI_PAGE_BITS 12
// How many pages are remembered, each in the place that its last bits say: a power of two, and more than the library of
// any binding has.
#define TUTTI_CALLER_BITS 12
#define TUTTI_CALLERS (1 << TUTTI_CALLER_BITS)
// clang-format on
