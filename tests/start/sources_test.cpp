// Where a decision table is from, as TUTTI_EXPLAIN says it.
#include "mpi/start/sources.h"

#include <gtest/gtest.h>

namespace tutti::mpi {
namespace {

TEST(Sources, ATableSaysWithWhatItWasMeasuredAndWhen) {
  const Source source = source_of_table("/x.json", {{}, "MPICH", "5.0.2", "2026-10-01T12:00:00+00:00"});
  EXPECT_EQ(source.path, "/x.json");
  EXPECT_EQ(source.words, "measured with MPICH 5.0.2, 2026-10-01T12:00:00+00:00");
}

TEST(Sources, WhatATableDoesNotSayIsLeftOut) {
  EXPECT_EQ(source_of_table("", {{}, "Some MPI", "", ""}).words, "measured with Some MPI");
}

}  // namespace
}  // namespace tutti::mpi
