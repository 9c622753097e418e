#include "tally/sinks/metric_logger.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/sinks/csv_sink.h"
#include "tally/sinks/json_lines_sink.h"
#include "tally/sinks/table_sink.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/sinks/log_folder.h"
#include "tally/tests/testing/message_of.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::message_of;
using testkit::refusal_of;
using testkit::text_at;
using Json = nlohmann::json;

using MetricLoggerTest = testkit::LogFolder;

Results value_of(const std::string& name, double value) {
  Results results;
  results.add(name, at::full({}, value, at::kDouble));
  return results;
}

Run run_from(std::int64_t step) {
  Run run;
  run.first_step = step;
  return run;
}

/// The lines of a log that are steps.
std::vector<Json> steps_of(const std::string& path) {
  std::vector<Json> steps;
  std::istringstream lines(text_at(path));
  for (std::string line; std::getline(lines, line);) {
    Json json = Json::parse(line);
    if (json.contains("step")) steps.push_back(std::move(json));
  }
  return steps;
}

RANKS_TEST(MetricLoggerRanksTest, RankZeroWritesTheValueOfAllRanks, 1, 2, 3,
           5) {
  const std::string folder =
      self.folder() + "/rank" + std::to_string(self.rank());
  MetricCollection metrics;
  metrics.add("mean", MeanMetric());
  MetricLogger logger;
  ASSERT_TRUE(logger.add_folder(folder));
  for (const std::int64_t step : {1, 2}) {
    metrics.reset();
    metrics.update(static_cast<double>(step * self.rank()));
    const double wanted = static_cast<double>(step) * (self.size() - 1) / 2.0;
    EXPECT_EQ(logger.log(step, metrics)["mean"].item<double>(), wanted);
    logger.write(step, value_of("loss", 0.5));
  }
  EXPECT_TRUE(logger.finish().ok());
  // Other ranks touch no file.
  ASSERT_EQ(std::filesystem::exists(folder), self.rank() == 0);
  if (self.rank() != 0) return;
  const auto steps = steps_of(folder + "/log.jsonl");
  ASSERT_EQ(steps.size(), 4);
  EXPECT_EQ(steps[2]["results"]["mean"], self.size() - 1.0);
  EXPECT_EQ(steps[3]["results"]["loss"], 0.5);
}

/// Notes what it is called for.
class NotingSink final : public Sink {
 public:
  explicit NotingSink(std::string& noted) : noted_(noted) {}
  absl::Status begin(const Run&) override { return absl::OkStatus(); }
  absl::Status write(std::int64_t, double, const Results&) override {
    return absl::OkStatus();
  }
  absl::Status write_image(std::int64_t step, double, const std::string& name,
                           const at::Tensor& pixels) override {
    noted_ += std::to_string(step) + " " + name + " " +
              std::to_string(pixels.numel()) + "\n";
    return absl::OkStatus();
  }
  absl::Status write_text(std::int64_t step, double, const std::string& name,
                          const std::string& text) override {
    noted_ += std::to_string(step) + " " + name + " " + text + "\n";
    return absl::OkStatus();
  }
  absl::Status write_histogram(std::int64_t, double, const std::string&,
                               const at::Tensor&) override {
    return absl::InvalidArgumentError("no histograms");
  }
  absl::Status finish() override { return absl::OkStatus(); }

 private:
  std::string& noted_;
};

RANKS_TEST(MetricLoggerRanksTest, RankZeroShowsImagesAndTexts, 1, 2, 3) {
  const bool is_first = self.rank() == 0;
  std::string noted;
  MetricLogger logger;
  ASSERT_TRUE(logger.add<NotingSink>(noted));
  // One that takes results alone leaves these out.
  ASSERT_TRUE(logger.add<JsonLinesSink>(self.folder() + "/log.jsonl"));
  logger.write_image(1, "image",
                     is_first ? at::full({1, 2, 3}, 0.5) : at::Tensor());
  logger.write_text(1, "text", is_first ? "said" : "");
  EXPECT_EQ(refusal_of([&] { logger.write_text(1, "image", ""); }),
            "MetricLogger: expected 'image' once in step 1, got it twice");
  EXPECT_THAT(refusal_of([&] { logger.write_text(0, "a", ""); }),
              HasSubstr("expected steps that do not decrease, got 0 after 1"));
  logger.write_histogram(1, "weights", at::arange(3));
  logger.write_text(2, "late", "not written to a sink that has failed");
  EXPECT_EQ(noted, is_first ? "1 image 6\n1 text said\n" : "");
  EXPECT_EQ(message_of(logger.finish()), is_first ? "no histograms" : "");
}

TEST_F(MetricLoggerTest, ImagesAreChecked) {
  MetricLogger logger;
  const auto refusal = [&](const at::Tensor& pixels) {
    return refusal_of([&] { logger.write_image(1, "x", pixels); });
  };
  EXPECT_EQ(refusal(at::Tensor()), "image 'x': expected a tensor, got none");
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
           {2, 3}, {2, 4, 4}, {3, 0, 4}, {1, 3, 4, 4}}) {
    EXPECT_THAT(refusal(at::full(sizes, 0.5)),
                HasSubstr("'x': expected [1, H, W], [3, H, W] or [4, H, W]"));
  }
  at::Tensor pixels = at::full({3, 2, 2}, 0.5);
  pixels[1][0][1] = 255;
  EXPECT_EQ(refusal(pixels),
            "image 'x': expected floating-point pixels in [0, 1], got 255 at "
            "[1, 0, 1]; pixels of 0 to 255 are uint8");
  pixels[1][0][1] = std::nan("");
  EXPECT_THAT(refusal(pixels), HasSubstr("got nan at [1, 0, 1]"));
  const auto type = [&](const at::Tensor& tensor) {
    return refusal_of<c10::TypeError>(
        [&] { logger.write_image(1, "x", tensor); });
  };
  EXPECT_THAT(type(at::full({1, 2, 2}, 1, at::kLong)),
              HasSubstr("expected uint8 or floating-point pixels, got Long"));
  EXPECT_THAT(refusal_of<c10::TypeError>([&] {
                logger.write_histogram(1, "x",
                                       at::full({2}, 1, at::kComplexFloat));
              }),
              HasSubstr("histogram 'x': expected real numbers, got "));
  // Nothing was taken.
  logger.write_image(1, "x", at::full({1, 1, 1}, 1.0));
}

/// Takes a second for each write.
class SlowSink final : public Sink {
 public:
  absl::Status begin(const Run&) override { return absl::OkStatus(); }
  absl::Status write(std::int64_t, double, const Results&) override {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return absl::OkStatus();
  }
  absl::Status finish() override { return absl::OkStatus(); }
};

RANKS_TEST(MetricLoggerRanksTest, NoRankWaitsForTheDisk, 3) {
  MeanMetric mean;
  mean.update(1.0);
  MetricLogger logger;
  ASSERT_TRUE(logger.add<SlowSink>());
  self.barrier();
  const auto start = std::chrono::steady_clock::now();
  logger.log(1, "mean", mean);
  const auto spent = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(spent < std::chrono::milliseconds(900), self.rank() != 0);
}

RANKS_TEST(MetricLoggerRanksTest, AFailingSinkStopsNothingElse, 1, 2, 3, 5) {
  MeanMetric mean;
  mean.update(static_cast<double>(self.rank()));
  MetricLogger logger;
  const bool full = logger.add<JsonLinesSink>("/dev/full");
  const bool forbidden = logger.add<CsvSink>("/proc/tally/log.csv");
  const std::string good = self.folder() + "/log.csv";
  ASSERT_TRUE(logger.add<CsvSink>(good));
  logger.log(1, "mean", mean);
  const absl::Status finished = logger.finish();
  EXPECT_EQ(full, self.rank() != 0);
  EXPECT_EQ(forbidden, self.rank() != 0);
  EXPECT_EQ(finished.ok(), self.rank() != 0);
  if (self.rank() != 0) return;
  EXPECT_EQ(message_of(finished),
            "/dev/full: cannot be written: No space left on device");
  EXPECT_THAT(text_at(good), HasSubstr(",mean,,"));
}

TEST_F(MetricLoggerTest, ADiskThatFillsUpLeavesWholeSteps) {
  std::ostringstream table;
  absl::Status finished;
  {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2000, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    MetricLogger logger;
    const bool added = logger.add_folder(folder());
    const bool has_lines = logger.add<CsvSink>(path("log.csv"));
    const bool has_table = logger.add<TableSink>(table);
    for (int step = 0; step < 200; ++step) {
      logger.write(step, value_of("loss", step));
    }
    finished = logger.finish();
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(added && has_lines && has_table);
  }
  EXPECT_THAT(message_of(finished), HasSubstr("cannot be written"));
  EXPECT_THAT(table.str(), HasSubstr("199"));
  for (const char* name : {"log.jsonl", "log.csv"}) {
    const std::string text = text_at(path(name));
    EXPECT_THAT(text, EndsWith("\n"));
    EXPECT_GT(text.size(), 1900u);
  }
  // With room again, a run goes on where that one ended.
  const auto steps =
      static_cast<std::int64_t>(steps_of(path("log.jsonl")).size());
  MetricLogger next(run_from(steps));
  ASSERT_TRUE(next.add_folder(folder()));
  next.write(steps, value_of("loss", 0.5));
  ASSERT_TRUE(next.finish().ok());
  EXPECT_EQ(steps_of(path("log.jsonl")).size(), steps + 1);
}

TEST_F(MetricLoggerTest, AFolderWithoutPermissionStopsNothingElse) {
  constexpr uid_t kNobody = 65534;
  const uid_t user = geteuid();
  std::filesystem::permissions(folder(), std::filesystem::perms(0555));
  const bool is_other = user != 0 || seteuid(kNobody) == 0;
  std::ostringstream out;
  MetricLogger logger;
  const bool added = logger.add_folder(folder());
  ASSERT_TRUE(logger.add<TableSink>(out));
  logger.write(1, value_of("loss", 0.5));
  const absl::Status finished = logger.finish();
  ASSERT_EQ(seteuid(user), 0);
  std::filesystem::permissions(folder(), std::filesystem::perms(0755));
  if (is_other) {
    EXPECT_FALSE(added);
    EXPECT_EQ(finished.code(), absl::StatusCode::kPermissionDenied);
  }
  EXPECT_THAT(out.str(), HasSubstr("0.5"));
}

/// Keeps its bytes to itself after the first write.
class OnceSink final : public Sink {
 public:
  explicit OnceSink(std::vector<std::string>& calls) : calls_(calls) {}
  absl::Status begin(const Run&) override { return note("begin"); }
  absl::Status write(std::int64_t step, double, const Results&) override {
    note("write").IgnoreError();
    return step == 1 ? absl::OkStatus() : absl::DataLossError("no more");
  }
  absl::Status finish() override { return note("finish"); }

 private:
  absl::Status note(const char* call) {
    calls_.emplace_back(call);
    return absl::OkStatus();
  }
  std::vector<std::string>& calls_;
};

TEST_F(MetricLoggerTest, ASinkThatFailedIsNotCalledAgain) {
  std::vector<std::string> calls;
  MetricLogger logger;
  ASSERT_TRUE(logger.add<OnceSink>(calls));
  for (const std::int64_t step : {1, 2, 3}) {
    logger.write(step, value_of("loss", 0.5));
  }
  EXPECT_EQ(message_of(logger.finish()), "no more");
  EXPECT_THAT(calls, ElementsAre("begin", "write", "write"));
}

TEST_F(MetricLoggerTest, ResultsWithoutAFormatAreAnErrorOfTheSink) {
  MetricLogger logger;
  ASSERT_TRUE(logger.add_folder(folder()));
  Results results;
  results.add("wave", at::full({}, 1, at::kComplexDouble));
  logger.write(1, results);
  EXPECT_EQ(logger.finish().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(steps_of(path("log.jsonl")), IsEmpty());
}

TEST_F(MetricLoggerTest, StepsRiseAndNamesOccurOnce) {
  MetricLogger logger(run_from(5));
  ASSERT_TRUE(logger.add<JsonLinesSink>(path("log.jsonl")));
  const auto write = [&](std::int64_t step, const char* name) {
    return refusal_of([&] { logger.write(step, value_of(name, 1)); });
  };
  EXPECT_EQ(write(4, "loss"),
            "MetricLogger: expected steps from Run::first_step, 5, on, got 4");
  EXPECT_EQ(write(7, "loss"), "nothing");
  EXPECT_EQ(write(6, "loss"),
            "MetricLogger: expected steps that do not decrease, got 6 after 7");
  EXPECT_EQ(write(7, "loss"),
            "MetricLogger: expected 'loss' once in step 7, got it twice");
  EXPECT_EQ(write(7, "f1"), "nothing");
  EXPECT_EQ(write(8, "loss"), "nothing");
  EXPECT_EQ(
      refusal_of([&] { logger.add<CsvSink>(path("log.csv")); }),
      "MetricLogger: a write has been made; add sinks before the first one");
  EXPECT_EQ(steps_of(path("log.jsonl")).size(), 3);
}

/// Steps from `first` to before `end`, as a run that starts there writes them.
void write_session(const std::string& folder, std::int64_t first,
                   std::int64_t end) {
  MetricLogger logger(run_from(first));
  ASSERT_TRUE(logger.add_folder(folder));
  for (std::int64_t step = first; step < end; ++step) {
    Results results =
        value_of("accuracy", static_cast<double>(100 * first + step) / 7);
    results.add("f1", at::arange(3).mul(0.25 * static_cast<double>(step)));
    results.add("confusion", at::arange(9).view({3, 3}));
    logger.write(step, results);
    logger.write_image(step, "sample", at::full({3, 2, 5}, 0.05 * step));
    logger.write_text(step, "said", "**" + std::to_string(step) + "**");
    logger.write_histogram(step, "weights", at::arange(step, step + 50));
  }
  ASSERT_TRUE(logger.finish().ok());
}

// check_events.py reads what this leaves in the folder TALLY_EVENTS.
TEST_F(MetricLoggerTest, ARestartDoublesNoStep) {
  const char* kept = std::getenv("TALLY_EVENTS");
  const std::string logs = kept != nullptr ? kept : folder();
  std::filesystem::remove_all(logs);
  write_session(logs, 0, 10);
  for (const auto& entry : std::filesystem::directory_iterator(logs)) {
    // What an interrupted write leaves.
    std::ofstream(entry.path(), std::ios::app) << "{\"step\":10,\"ti";
  }
  write_session(logs, 5, 9);
  write_session(logs, 9, 12);
  std::vector<std::int64_t> steps;
  for (const Json& line : steps_of(logs + "/log.jsonl")) {
    steps.push_back(line["step"]);
    const std::int64_t first = steps.back() < 5 ? 0 : steps.back() < 9 ? 5 : 9;
    EXPECT_EQ(line["results"]["accuracy"],
              static_cast<double>(100 * first + steps.back()) / 7);
  }
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

}  // namespace
}  // namespace tally
