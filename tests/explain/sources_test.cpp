// Where a decision table is from, as TUTTI_EXPLAIN says it.
#include "mpi/sources.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::mpi {
namespace {

std::string words_of(const std::string& text) {
  selection::TableOrigin origin;
  origin.host = "MPICH";
  origin.host_version = "5.0.2";
  const Source source = source_of_table("/x.json", text, origin);
  EXPECT_EQ(source.path, "/x.json");
  return source.words;
}

TEST(Sources, ATableSaysWithWhatItWasMeasuredAndWhen) {
  EXPECT_EQ(words_of(R"({"schema": "tutti-table-1", "date": "2026-10-01T12:00:00+00:00", "entries": []})"),
            "measured with MPICH 5.0.2, 2026-10-01T12:00:00+00:00");
  EXPECT_EQ(words_of("{\"date\" :\n \"2026-10-01\", \"entries\": []}"), "measured with MPICH 5.0.2, 2026-10-01");
}

TEST(Sources, ADateThatIsNoneIsLeftOut) {
  for (const char* text : {R"({"entries": []})", R"({"date": 7, "entries": []})", R"({"date": "", "entries": []})",
                           R"({"date": "yesterday\n", "entries": []})", R"({"entries": [{"date": "2026-10-01"}]})",
                           R"({"date": "2026)", R"({"date")"})
    EXPECT_EQ(words_of(text), "measured with MPICH 5.0.2") << text;
}

TEST(Sources, AHostWithoutAVersionIsNamedAlone) {
  selection::TableOrigin origin;
  origin.host = "Some MPI";
  EXPECT_EQ(source_of_table("", "{}", origin).words, "measured with Some MPI");
}

}  // namespace
}  // namespace tutti::mpi
