#include "tally/sinks/metric_log.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/sinks/json_lines_sink.h"
#include "tally/tests/sinks/log_folder.h"
#include "tally/tests/testing/message_of.h"

namespace tally {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHead =
    "{\"tally_log\":1,\"run\":\"a\",\"command\":\"c\",\"first_step\":0,"
    "\"time\":1.000}\n";

class MetricLogTest : public testkit::LogFolder {
 protected:
  absl::StatusOr<MetricLog> read(const std::string& text) {
    write_text("log.jsonl", text);
    return read_metric_log(path("log.jsonl"));
  }
  std::string error_of(const std::string& text) {
    return testkit::message_of(read(text).status());
  }
};

TEST_F(MetricLogTest, ReadsWhatTheSinkWrites) {
  Results results;
  results.add("accuracy", at::scalar_tensor(0.1, at::kDouble));
  const Dimensions dimensions{Dimension::kClass, Dimension::kPoint};
  results.add("counts", at::tensor({1, 2, 3, 4}).view({2, 2}), dimensions);
  results.add("special", at::tensor({std::nan(""), -INFINITY, INFINITY}));
  results.add("nothing", at::Tensor());
  results.add("right", at::scalar_tensor(true, at::kBool));
  results.add("empty", at::empty({0}, at::kDouble));
  JsonLinesSink sink(path("log.jsonl"));
  ASSERT_TRUE(sink.begin({"run", "command", 0, 1}).ok());
  ASSERT_TRUE(sink.write(3, 17.25, results).ok());
  ASSERT_TRUE(sink.write(4, 18, results).ok());
  ASSERT_TRUE(sink.finish().ok());

  const auto log = read_metric_log(path("log.jsonl"));
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->run, "run");
  EXPECT_EQ(log->command, "command");
  ASSERT_EQ(log->steps.size(), 2u);
  EXPECT_EQ(log->steps[0].step, 3);
  EXPECT_EQ(log->steps[0].time, 17.25);
  const Results& logged = log->steps[0].results;
  ASSERT_EQ(logged.size(), results.size());
  EXPECT_EQ(logged["accuracy"].item<double>(), 0.1);
  EXPECT_TRUE(logged["counts"].equal(results["counts"]));
  for (const MetricLog::Step& step : log->steps) {
    EXPECT_EQ(step.results.dimensions("counts"), dimensions);
    EXPECT_EQ(step.results.dimensions("special"),
              Dimensions{Dimension::kUnknown});
  }
  EXPECT_TRUE(std::isnan(logged["special"][0].item<double>()));
  EXPECT_EQ(logged["special"][1].item<double>(), -INFINITY);
  EXPECT_EQ(logged["special"][2].item<double>(), INFINITY);
  EXPECT_FALSE(logged["nothing"].defined());
  EXPECT_EQ(logged["right"].item<std::int64_t>(), 1);
  EXPECT_EQ(logged["empty"].sizes(), at::IntArrayRef({0}));
}

TEST_F(MetricLogTest, LeavesOutALineThatIsBeingWritten) {
  const auto log =
      read(std::string(kHead) + "{\"step\":1,\"results\":{}}\n{\"step\":2,\"r");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->steps.size(), 1u);
}

TEST_F(MetricLogTest, RefusesOtherFiles) {
  const std::string file = path("log.jsonl");
  const std::string none = file + ": expected a log of JSON lines by Tally";
  EXPECT_EQ(error_of(""), none);
  EXPECT_EQ(error_of("step,time\n1,2\n"), none);
  EXPECT_EQ(error_of("{\"step\":1,\"results\":{}}\n"), none);
  EXPECT_EQ(error_of("{\"tally_log\":2}\n"),
            file + ":1: expected a log of version 1 or older, got 2");
  EXPECT_EQ(error_of(std::string(kHead) + "{\"tally_log\":\"x\"}\n"),
            file + ":2: expected a log of version 1 or older, got \"x\"");
  const auto line = [&](const std::string& text) {
    return error_of(kHead + text + "\n{\"step\":9,\"results\":{}}\n");
  };
  EXPECT_EQ(line("{\"st"), file + ":2: expected an object");
  EXPECT_EQ(line("{\"step\":1}"), file + ":2: expected a step and its results");
  EXPECT_EQ(line("{\"step\":1,\"results\":{\"a\":\"b\"}}"),
            file + ":2: a: expected a number, got \"b\"");
  EXPECT_EQ(line("{\"step\":1,\"results\":{\"a\":[1,[2]]}}"),
            file + ":2: a: expected lists of equal length");
  EXPECT_EQ(line("{\"step\":1,\"results\":{\"a\":[[1],[2,3]]}}"),
            file + ":2: a: expected lists of equal length");
  EXPECT_EQ(line("{\"step\":1,\"results\":{\"a\":[null]}}"),
            file + ":2: a: expected numbers, got null");
  EXPECT_THAT(line("{\"tally_log\":1,\"run\":3}"), HasSubstr(":2: "));
  const auto missing = read_metric_log(path("none"));
  EXPECT_THAT(testkit::message_of(missing.status()),
              HasSubstr("none: cannot be read"));
}

}  // namespace
}  // namespace tally
