#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tally/sinks/csv_sink.h"
#include "tally/sinks/json_lines_sink.h"
#include "tally/sinks/table_sink.h"
#include "tally/tests/sinks/log_folder.h"
#include "tally/tests/testing/message_of.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::message_of;
using testkit::text_at;

constexpr double kTime = 1700000000.25;

Results results_of(double accuracy) {
  Results results;
  results.add("accuracy", at::full({}, accuracy, at::kDouble));
  results.add("f1", at::tensor({0.5, std::nan("")}, at::kDouble),
              {Dimension::kClass});
  results.add("rows", at::full({}, 7, at::kLong));
  return results;
}

Run run_from(std::int64_t step) {
  Run run;
  run.id = "a \"run\"";
  run.command = "train --lr 1";
  run.first_step = step;
  run.time = kTime;
  return run;
}

template <class S>
void write_steps(const std::string& path, std::int64_t first,
                 std::int64_t last) {
  S sink(path);
  ASSERT_TRUE(sink.begin(run_from(first)).ok());
  for (std::int64_t step = first; step <= last; ++step) {
    ASSERT_TRUE(sink.write(step, kTime, results_of(0.25)).ok());
  }
  ASSERT_TRUE(sink.finish().ok());
}

using JsonLinesSinkTest = testkit::LogFolder;
using CsvSinkTest = testkit::LogFolder;
using LineSinksTest = testkit::LogFolder;

constexpr const char* kHead =
    "{\"tally_log\":1,\"run\":\"a \\\"run\\\"\",\"command\":\"train --lr 1\","
    "\"first_step\":0,\"time\":1700000000.250}\n";

/// What dimensions are is said once in each run.
std::string json_line(int step, bool is_first = false) {
  return "{\"step\":" + std::to_string(step) +
         ",\"time\":1700000000.250,\"results\":{\"accuracy\":0.25,\"f1\":[0.5,"
         "\"NaN\"],\"rows\":7}" +
         (is_first ? ",\"dimensions\":{\"f1\":[\"class\"]}}\n" : "}\n");
}

TEST_F(JsonLinesSinkTest, WritesAnObjectForEachStep) {
  write_steps<JsonLinesSink>(path("log.jsonl"), 0, 1);
  EXPECT_EQ(text_at(path("log.jsonl")),
            kHead + json_line(0, true) + json_line(1));
}

TEST_F(JsonLinesSinkTest, ARestartCutsTheTornLineAndLaterSteps) {
  const std::string torn = json_line(4).substr(0, 20);
  write_text("log.jsonl",
             kHead + json_line(1) + json_line(2) + json_line(3) + torn);
  write_steps<JsonLinesSink>(path("log.jsonl"), 3, 4);
  std::string head = kHead;
  head.replace(head.find("step\":0") + 6, 1, "3");
  EXPECT_EQ(text_at(path("log.jsonl")), kHead + json_line(1) + json_line(2) +
                                            head + json_line(3, true) +
                                            json_line(4));
}

TEST_F(JsonLinesSinkTest, ALogThatEndsWithinItsFirstLineStartsAnew) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{3}, std::string(kHead).size() - 1}) {
    write_text("log.jsonl", std::string(kHead).substr(0, size));
    write_steps<JsonLinesSink>(path("log.jsonl"), 0, 0);
    EXPECT_EQ(text_at(path("log.jsonl")), kHead + json_line(0, true)) << size;
  }
}

TEST_F(JsonLinesSinkTest, LeavesOtherFilesAlone) {
  const auto expect_refused = [&](const std::string& text,
                                  absl::StatusCode code,
                                  const std::string& message) {
    write_text("log.jsonl", text);
    JsonLinesSink sink(path("log.jsonl"));
    const absl::Status begun = sink.begin(run_from(0));
    EXPECT_EQ(begun.code(), code) << text;
    EXPECT_EQ(message_of(begun), path("log.jsonl") + message);
    EXPECT_EQ(text_at(path("log.jsonl")), text);
  };
  for (const char* other : {"{\"step\":1}\n", "notes", "\n", "{\"tally\n"}) {
    expect_refused(other, absl::StatusCode::kInvalidArgument,
                   ": expected a log that begins with {\"tally_log\":");
  }
  expect_refused("{\"tally_log\":2}\n", absl::StatusCode::kFailedPrecondition,
                 ": expected a log of version 1 or older, got 2");
}

TEST_F(CsvSinkTest, WritesALineForEachNumber) {
  write_steps<CsvSink>(path("log.csv"), 3, 3);
  EXPECT_EQ(text_at(path("log.csv")),
            "step,time,metric,index,value\n"
            "3,1700000000.250,accuracy,,0.25\n"
            "3,1700000000.250,f1,0,0.5\n"
            "3,1700000000.250,f1,1,NaN\n"
            "3,1700000000.250,rows,,7\n");
}

TEST_F(CsvSinkTest, ARestartCutsTheTornLineAndLaterSteps) {
  write_steps<CsvSink>(path("all.csv"), 0, 4);
  write_steps<CsvSink>(path("log.csv"), 0, 3);
  std::ofstream(path("log.csv"), std::ios::app) << "4,17000";
  write_steps<CsvSink>(path("log.csv"), 2, 4);
  EXPECT_EQ(text_at(path("log.csv")), text_at(path("all.csv")));
}

TEST_F(CsvSinkTest, LeavesOtherFilesAlone) {
  for (const char* other : {"step,time\n1,2\n", "notes", "step\n"}) {
    write_text("log.csv", other);
    CsvSink sink(path("log.csv"));
    EXPECT_EQ(message_of(sink.begin(run_from(0))),
              path("log.csv") +
                  ": expected a log that begins with "
                  "step,time,metric,index,value");
    EXPECT_EQ(text_at(path("log.csv")), other);
  }
}

TEST_F(CsvSinkTest, QuotesNamesAndRefusesThoseWithLineBreaks) {
  CsvSink sink(path("log.csv"));
  ASSERT_TRUE(sink.begin(run_from(0)).ok());
  Results results;
  results.add("a,b", at::full({}, 1.5, at::kDouble));
  EXPECT_TRUE(sink.write(0, kTime, results).ok());
  EXPECT_THAT(text_at(path("log.csv")), HasSubstr(",\"a,b\",,1.5\n"));
  results.add("a\nb", at::full({}, 1.5, at::kDouble));
  const absl::Status written = sink.write(1, kTime, results);
  EXPECT_EQ(written.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(text_at(path("log.csv")), Not(HasSubstr("\n1,")));
}

Results numbers(std::initializer_list<std::pair<const char*, double>> values) {
  Results results;
  for (const auto& [name, value] : values) {
    results.add(name, at::full({}, value, at::kDouble));
  }
  return results;
}

TEST_F(CsvSinkTest, WidePutsAStepOnALine) {
  CsvSink sink(path("log.csv"), CsvLayout::kWide);
  ASSERT_TRUE(sink.begin(run_from(3)).ok());
  EXPECT_EQ(text_at(path("log.csv")), "step,time\n");
  ASSERT_TRUE(sink.write(3, kTime, results_of(0.25)).ok());
  EXPECT_EQ(text_at(path("log.csv")),
            "step,time,accuracy,f1 0,f1 1,rows\n"
            "3,1700000000.250,0.25,0.5,NaN,7\n");
}

TEST_F(CsvSinkTest, WideGrowsByNewNumbersAndLeavesOthersEmpty) {
  CsvSink sink(path("log.csv"), CsvLayout::kWide);
  ASSERT_TRUE(sink.begin(run_from(0)).ok());
  ASSERT_TRUE(sink.write(1, kTime, numbers({{"a", 1}, {"b", 2}})).ok());
  Results more = numbers({{"c, \"d\"", 3}, {"a", 4}});
  more.add("nothing", at::Tensor());
  ASSERT_TRUE(sink.write(2, kTime, more).ok());
  ASSERT_TRUE(sink.finish().ok());
  const std::string expected =
      "step,time,a,b,\"c, \"\"d\"\"\",nothing\n"
      "1,1700000000.250,1.0,2.0,,\n"
      "2,1700000000.250,4.0,,3.0,\n";
  EXPECT_EQ(text_at(path("log.csv")), expected);
  CsvSink again(path("log.csv"), CsvLayout::kWide);
  ASSERT_TRUE(again.begin(run_from(2)).ok());
  ASSERT_TRUE(again.write(2, kTime, more).ok());
  EXPECT_EQ(text_at(path("log.csv")), expected);
  EXPECT_EQ(again.write(3, kTime, numbers({{"a\n", 1}})).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(text_at(path("log.csv")), expected);
}

TEST_F(CsvSinkTest, WideARestartCutsTheTornLineAndLaterSteps) {
  const auto write = [&](const char* name, int first, int last) {
    CsvSink sink(path(name), CsvLayout::kWide);
    ASSERT_TRUE(sink.begin(run_from(first)).ok());
    for (int step = first; step <= last; ++step) {
      ASSERT_TRUE(sink.write(step, kTime, results_of(step)).ok());
    }
  };
  write("all.csv", 0, 4);
  write("log.csv", 0, 3);
  std::ofstream(path("log.csv"), std::ios::app) << "4,17000";
  write("log.csv", 2, 4);
  EXPECT_EQ(text_at(path("log.csv")), text_at(path("all.csv")));
}

TEST_F(CsvSinkTest, LayoutsAreNotMixed) {
  write_steps<CsvSink>(path("log.csv"), 0, 1);
  CsvSink wide(path("log.csv"), CsvLayout::kWide);
  EXPECT_EQ(message_of(wide.begin(run_from(2))),
            path("log.csv") +
                ": expected a line for each step, got a log with a line for "
                "each number");
  for (const char* other : {"step,times\n", "notes\n", "step,time metric\n"}) {
    write_text("other.csv", other);
    CsvSink sink(path("other.csv"), CsvLayout::kWide);
    EXPECT_EQ(
        message_of(sink.begin(run_from(0))),
        path("other.csv") + ": expected a log that begins with step,time");
    EXPECT_EQ(text_at(path("other.csv")), other);
  }
  write_text("wide.csv", "step,time,a\n");
  CsvSink plain(path("wide.csv"));
  EXPECT_EQ(plain.begin(run_from(0)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(LineSinksTest, AFullDiskIsAnErrorThatNamesTheFile) {
  const std::string message =
      "/dev/full: cannot be written: No space left on device";
  JsonLinesSink json("/dev/full");
  EXPECT_EQ(json.begin(run_from(0)).code(),
            absl::StatusCode::kResourceExhausted);
  CsvSink csv("/dev/full");
  EXPECT_EQ(message_of(csv.begin(run_from(0))), message);
}

TEST_F(LineSinksTest, AFolderThatCannotBeWrittenIsAnErrorThatNamesTheFile) {
  JsonLinesSink json("/proc/tally.jsonl");
  EXPECT_THAT(message_of(json.begin(run_from(0))),
              HasSubstr("/proc/tally.jsonl: cannot be written: "));
  CsvSink csv(path("none/log.csv"));
  EXPECT_EQ(csv.begin(run_from(0)).code(), absl::StatusCode::kNotFound);
}

TEST(TableSinkTest, PrintsALineForEachStepAndAllResultsAtTheEnd) {
  std::ostringstream out;
  TableSink sink(out, {"cat", "dog"});
  ASSERT_TRUE(sink.begin(run_from(0)).ok());
  ASSERT_TRUE(sink.write(1, kTime, results_of(0.25)).ok());
  ASSERT_TRUE(sink.write(12, kTime, results_of(0.123456789)).ok());
  ASSERT_TRUE(sink.finish().ok());
  EXPECT_EQ(out.str(),
            "      step    accuracy        rows\n"
            "         1        0.25           7\n"
            "        12    0.123457           7\n"
            "\n"
            "accuracy  0.123457\n"
            "rows      7\n"
            "\n"
            "      f1\n"
            "cat  0.5\n"
            "dog  nan\n");
}

TEST(TableSinkTest, PrintsNewNamesAndReportsAStreamThatFails) {
  std::ostringstream out;
  TableSink sink(out);
  Results results;
  results.add("loss", at::full({}, 2.0, at::kDouble));
  ASSERT_TRUE(sink.write(1, kTime, results).ok());
  results.add("a_long_name", at::full({}, 3.0, at::kDouble));
  ASSERT_TRUE(sink.write(2, kTime, results).ok());
  ASSERT_TRUE(sink.finish().ok());
  EXPECT_EQ(out.str(),
            "      step        loss\n"
            "         1           2\n"
            "      step        loss  a_long_name\n"
            "         2           2            3\n"
            "\n"
            "loss         2\n"
            "a_long_name  3\n");
  out.setstate(std::ios::badbit);
  EXPECT_EQ(sink.write(3, kTime, results).code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tally
