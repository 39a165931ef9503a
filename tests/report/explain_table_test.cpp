// What TUTTI_EXPLAIN prints, from rows that are made up.
#include "mpi/report/explain_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tutti::mpi {
namespace {

Row row(const std::string& collective, long size_class, const std::string& algorithm, double seconds) {
  Row row;
  row.collective = collective;
  row.size_class = size_class;
  row.communicator = {2, 1, 1, 1, false};
  row.algorithm = algorithm;
  row.reason = "cheapest by the model";
  row.calls = 10;
  row.bytes = 40960;
  row.seconds = row.least_seconds = seconds;
  row.mechanisms = {{"slot", 4}, {"window", 6}};
  return row;
}

Heading heading() {
  Heading heading;
  heading.ranks = 2;
  heading.seconds = 1.5;
  return heading;
}

/// As one rank alone would have it.
Heading heading_of(const std::vector<Row>& rows) {
  Heading alone = heading();
  alone.slowest = times_of(rows);
  return alone;
}

TEST(ExplainTable, RowsStandByTimeInColumns) {
  Row throttled = row("scatter", 20, "throttled", 0.25);
  throttled.parameter_name = "k";
  throttled.parameter = 4;
  throttled.communicator = {64, 1, 3, 2.5, false};
  Row host = row("barrier", Row::none, "host", 0.00002);
  host.mechanisms.clear();
  host.bytes = 0;
  host.reason = "intercommunicator";
  host.communicator.intercommunicator = true;
  const std::vector<Row> rows{host, row("bcast", 12, "eager", 0.001), throttled};
  EXPECT_EQ(
      table(heading_of(rows), rows, 40),
      "tutti: 2 ranks, 1.5 s from MPI_Init to MPI_Finalize; 30 collectives in 251 ms, 10 of them by the MPI itself\n"
      "tutti: collective     size  communicator                    algorithm     mechanism    calls   bytes    time"
      "  a call  why\n"
      "tutti: scatter     <=1 MiB  64 ranks, 3 levels, 2.5 a core  throttled(4)  window+slot     10  40 KiB  250 ms"
      "   25 ms  cheapest by the model\n"
      "tutti: bcast       <=4 KiB  2 ranks                         eager         window+slot     10  40 KiB    1 ms"
      "  100 us  cheapest by the model\n"
      "tutti: barrier           -  2 ranks, inter                  host          -               10       -   20 us"
      "    2 us  intercommunicator\n");
}

Row messages(const std::string& function, const std::string& carried_by, double seconds) {
  Row messages = row(function, 16, carried_by, seconds);
  messages.is_of_messages = true;
  messages.reason = carried_by == "host" ? "buffered by the MPI" : "long, to a rank of the node";
  messages.mechanisms.clear();
  if (carried_by != "host") messages.mechanisms = {{"lent", 9}, {"read", 1}};
  return messages;
}

TEST(ExplainTable, MessagesHaveATableOfTheirOwn) {
  const std::vector<Row> rows{row("bcast", 12, "eager", 0.001), messages("bsend", "host", 0.00002),
                              messages("isend", "envelope", 0.0004)};
  Heading both = heading_of(rows);
  both.slowest_in_messages = times_of(rows, true);
  EXPECT_EQ(
      table(both, rows, 40),
      "tutti: 2 ranks, 1.5 s from MPI_Init to MPI_Finalize; 10 collectives in 1 ms, 0 of them by the MPI itself; 20 "
      "calls for messages in 420 us, 10 of them by the MPI itself\n"
      "tutti: collective     size  communicator  algorithm  mechanism    calls   bytes  time  a call  why\n"
      "tutti: bcast       <=4 KiB  2 ranks       eager      window+slot     10  40 KiB  1 ms  100 us  cheapest by the "
      "model\n"
      "tutti: message      size  communicator  carried by  way        calls   bytes    time  a call  why\n"
      "tutti: isend    <=64 KiB  2 ranks       envelope    lent+read     10  40 KiB  400 us   40 us  long, to a rank "
      "of "
      "the node\n"
      "tutti: bsend    <=64 KiB  2 ranks       host        -             10  40 KiB   20 us    2 us  buffered by the "
      "MPI\n");
  EXPECT_EQ(
      summary(both, rows),
      "tutti: 2 ranks, 1.5 s from MPI_Init to MPI_Finalize; 10 collectives in 1 ms, of these 10 by Tutti in 1 ms; "
      "20 calls for messages in 420 us, of these 10 by Tutti in 400 us\n");
  const std::string written = json(both, rows);
  EXPECT_LT(written.find("{\"collective\": \"bcast\""), written.find("\"messages\": ["));
  EXPECT_GT(written.find("{\"function\": \"isend\""), written.find("\"messages\": ["));
}

TEST(ExplainTable, OfMessagesAllRanksAreAddedUp) {
  std::vector<Row> rows{messages("isend", "envelope", 0.5)};
  merge(rows, {messages("isend", "envelope", 0.25)}, Merge::ranks);
  merge(rows, unpacked(packed({messages("isend", "host", 1)})), Merge::ranks);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].calls, 20u);
  EXPECT_EQ(rows[0].bytes, 81920u);
  EXPECT_EQ(rows[0].seconds, 0.75);
  EXPECT_EQ(rows[0].least_seconds, 0.25);
  EXPECT_EQ(rows[0].ranks, 2);
  EXPECT_EQ(rows[0].mechanisms.at("lent"), 18u);
  EXPECT_TRUE(rows[1].is_of_messages);
}

TEST(ExplainTable, SaysWhyThereIsNoWindow) {
  Heading without = heading();
  without.no_window = "malloc is that of ./app, whose memory is not in the window";
  EXPECT_NE(table(without, {}, 40).find("tutti: no window: malloc is that of ./app, whose memory"), std::string::npos);
  EXPECT_NE(json(without, {}).find("\"no_window\": \"malloc is that of ./app"), std::string::npos);
  EXPECT_EQ(table(heading(), {}, 40).find("no window"), std::string::npos);
}

TEST(ExplainTable, SaysWhatWasStagedOfDevices) {
  Heading with = heading();
  with.staged_buffers = 24;
  with.staged_bytes = 3 << 19;
  EXPECT_NE(table(with, {}, 40).find("tutti: device buffers staged: 24, 1.5 MiB\n"), std::string::npos)
      << table(with, {}, 40);
  EXPECT_NE(json(with, {}).find("\"device_buffers_staged\": 24,\n \"device_bytes_staged\": 1572864"),
            std::string::npos);
  EXPECT_EQ(table(heading(), {}, 40).find("device"), std::string::npos);
}

TEST(ExplainTable, SummaryIsOneLineOfWhatWasCarriedOut) {
  const std::vector<Row> rows{row("bcast", 12, "eager", 0.25), row("barrier", Row::none, "host", 0.5)};
  EXPECT_EQ(summary(heading_of(rows), rows),
            "tutti: 2 ranks, 1.5 s from MPI_Init to MPI_Finalize; 20 collectives in 750 ms, of these 10 by Tutti in "
            "250 ms\n");
  EXPECT_EQ(summary(heading(), {}), "tutti: 2 ranks, 1.5 s from MPI_Init to MPI_Finalize; 0 collectives in 0 ns\n");
  const std::vector<Row> of_host{row("barrier", Row::none, "host", 0.5)};
  Heading inactive = heading_of(of_host);
  inactive.why_inactive = "TUTTI_ENABLE=0";
  EXPECT_EQ(summary(inactive, of_host),
            "tutti: 2 ranks, 1.5 s from MPI_Init to MPI_Finalize; 10 collectives in 500 ms, all of them by the MPI "
            "itself: TUTTI_ENABLE=0\n");
}

TEST(ExplainTable, WhatIsTooMuchIsOneLine) {
  std::vector<Row> rows;
  for (long size_class = 0; size_class < 50; ++size_class) rows.push_back(row("bcast", size_class, "eager", 1));
  const std::string text = table(heading(), rows, 40);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 43);
  EXPECT_NE(text.find("tutti: 10 more rows, together 10 s; TUTTI_EXPLAIN=FILE writes all of them\n"), std::string::npos)
      << text;
}

TEST(ExplainTable, AnInactiveLibrarySaysWhy) {
  Heading inactive = heading();
  inactive.ranks = 1;
  inactive.why_inactive = "a single rank";
  EXPECT_EQ(table(inactive, {}, 40),
            "tutti: 1 rank, 1.5 s from MPI_Init to MPI_Finalize; 0 collectives in 0 ns, 0 of them by the MPI itself\n"
            "tutti: the library was inactive: a single rank\n");
}

TEST(ExplainTable, TheHeadingSaysWhatTheChoicesRestOn) {
  Heading shipped = heading();
  shipped.model.words = "shipped values";
  EXPECT_EQ(table(shipped, {}, 40),
            "tutti: 2 ranks, 1.5 s from MPI_Init to MPI_Finalize; 0 collectives in 0 ns, 0 of them by the MPI itself\n"
            "tutti: model: shipped values\n"
            "tutti: table: none\n");
  Heading files = heading();
  files.model = {"/a/probe.json", "measured 2026-10-01T12:00:00+00:00"};
  files.table = {"/a/table.json", "measured with MPICH 5.0.2, 2026-10-02T12:00:00+00:00"};
  EXPECT_EQ(table(files, {}, 40),
            "tutti: 2 ranks, 1.5 s from MPI_Init to MPI_Finalize; 0 collectives in 0 ns, 0 of them by the MPI itself\n"
            "tutti: model: measured 2026-10-01T12:00:00+00:00 (/a/probe.json)\n"
            "tutti: table: measured with MPICH 5.0.2, 2026-10-02T12:00:00+00:00 (/a/table.json)\n");
}

TEST(ExplainTable, WhereTheLibraryTakesPartBetweenNodesItSaysByWhichParameters) {
  Heading across = heading();
  across.model.words = "shipped values";
  across.network = {"/a/probe.json", "measured then with MPICH on 4 nodes of 3 ranks"};
  EXPECT_NE(table(across, {}, 40)
                .find("tutti: model: shipped values\n"
                      "tutti: between nodes: measured then with MPICH on 4 nodes of 3 ranks "
                      "(/a/probe.json)\n"
                      "tutti: table: none\n"),
            std::string::npos);
  EXPECT_NE(json(across, {}).find("\"network_source\": {\"path\": \"/a/probe.json\""), std::string::npos);
  EXPECT_NE(json(heading(), {}).find("\"network_source\": null"), std::string::npos);
}

TEST(ExplainTable, JsonHasTheSources) {
  Heading some = heading();
  EXPECT_NE(json(some, {}).find("\"model_source\": null,\n \"table\": null,"), std::string::npos) << json(some, {});
  some.model.words = "shipped values";
  some.table = {"/a/\"t\".json", "measured with MPICH"};
  EXPECT_NE(json(some, {}).find("\"model_source\": {\"path\": null, \"words\": \"shipped values\"},\n \"table\": "
                                "{\"path\": \"/a/\\\"t\\\".json\", \"words\": \"measured with MPICH\"},"),
            std::string::npos)
      << json(some, {});
}

TEST(ExplainTable, OfSeveralRanksTheSlowestAndTheFastestCount) {
  std::vector<Row> rows;
  merge(rows, {row("bcast", 12, "eager", 2)}, Merge::ranks);
  merge(rows, {row("bcast", 12, "eager", 5), row("bcast", 13, "eager", 1)}, Merge::ranks);
  merge(rows, {row("bcast", 12, "eager", 3)}, Merge::ranks);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].calls, 10u);
  EXPECT_EQ(rows[0].ranks, 3);
  EXPECT_EQ(rows[0].seconds, 5);
  EXPECT_EQ(rows[0].least_seconds, 2);
  EXPECT_EQ(rows[0].mechanisms.at("window"), 18u);
  EXPECT_EQ(rows[1].ranks, 1);
}

TEST(ExplainTable, TheTimeInCollectivesIsThatOfOneRank) {
  // Each rank is slow in another collective: together their slowest rows are more than either had.
  const std::vector<Row> first{row("bcast", 12, "eager", 1.25), row("barrier", Row::none, "host", 0.125)};
  const std::vector<Row> second{row("bcast", 12, "eager", 0.125), row("barrier", Row::none, "host", 1)};
  std::vector<Row> rows;
  merge(rows, first, Merge::ranks);
  merge(rows, second, Merge::ranks);
  EXPECT_EQ(summary(heading_of(first), rows),
            "tutti: 2 ranks, 1.5 s from MPI_Init to MPI_Finalize; 20 collectives in 1.38 s, of these 10 by Tutti in "
            "1.25 s\n");
}

TEST(ExplainTable, CommunicatorsOfOneRankAddUp) {
  std::vector<Row> rows{row("bcast", 12, "eager", 2)};
  merge(rows, {row("bcast", 12, "eager", 5)}, Merge::communicators);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].calls, 20u);
  EXPECT_EQ(rows[0].bytes, 81920u);
  EXPECT_EQ(rows[0].seconds, 7);
  EXPECT_EQ(rows[0].ranks, 1);
}

TEST(ExplainTable, CommunicatorsOnOtherNumbersOfNodesAreRowsOfTheirOwn) {
  Row one = row("bcast", 12, "eager", 5), other = one;
  other.communicator.nodes = 2;
  std::vector<Row> rows{one};
  merge(rows, {other}, Merge::communicators);
  EXPECT_EQ(rows.size(), 2u);
}

TEST(ExplainTable, RowsTravelWhole) {
  Row one = row("scatterv", Row::varying, "throttled", 0.1234567890123);
  one.parameter_name = "k";
  one.parameter = 3;
  one.communicator = {7, 3, 2, 3.5, true};
  one.ranks = 5;
  const std::vector<Row> back = unpacked(packed({one, row("barrier", Row::none, "host", 1e-7)}));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].key(), one.key());
  EXPECT_EQ(back[0].parameter_name, "k");
  EXPECT_EQ(back[0].seconds, one.seconds);
  EXPECT_EQ(back[0].mechanisms, one.mechanisms);
  EXPECT_EQ(back[0].ranks, 5);
  EXPECT_EQ(back[1].collective, "barrier");
  EXPECT_TRUE(back[1].by_host());
  EXPECT_TRUE(unpacked("").empty());
  EXPECT_TRUE(unpacked("rubbish").empty());
}

TEST(ExplainTable, JsonHasClassesAsBytesAndEscapes) {
  Heading odd = heading();
  odd.program = "/a \"b\"\n";
  const std::string text = json(odd, {row("bcast", 12, "eager", 0.5), row("bcast", 0, "eager", 0.25)});
  EXPECT_NE(text.find("\"schema\": \"tutti-explain-1\""), std::string::npos);
  EXPECT_NE(text.find("\"program\": \"/a \\\"b\\\"\\u000a\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"bytes_from\": 2049, \"bytes_to\": 4096"), std::string::npos) << text;
  EXPECT_NE(text.find("\"bytes_from\": 0, \"bytes_to\": 1"), std::string::npos) << text;
  EXPECT_LT(text.find("\"bytes_to\": 4096"), text.find("\"bytes_to\": 1,")) << "the longest first";
}

}  // namespace
}  // namespace tutti::mpi
