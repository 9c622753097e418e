#include "tally/sinks/tensorboard_sink.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tally/tests/sinks/log_folder.h"
#include "tally/tests/testing/message_of.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testkit::message_of;
using testkit::text_at;

constexpr double kTime = 1700000000.25;
constexpr const char* kGolden = "tests/sinks/data/events.golden";
constexpr const char* kShown = "tests/sinks/data/shown.golden";
constexpr const char* kCurves = "tests/sinks/data/curves.golden";

using TensorBoardSinkTest = testkit::LogFolder;

Run run_from(std::int64_t step) {
  Run run;
  run.first_step = step;
  run.time = kTime;
  return run;
}

TEST_F(TensorBoardSinkTest, WritesTheBytesOfTensorBoard) {
  TensorBoardSink sink(folder(), {"cat", "dog"});
  ASSERT_TRUE(sink.begin(run_from(2)).ok());
  Results results;
  results.add("accuracy", at::full({}, 0.75, at::kDouble));
  results.add("none", at::Tensor());
  results.add("zero", at::full({}, 0, at::kLong));
  results.add("f1", at::tensor({0.5, INFINITY * 1.0}, at::kDouble),
              {Dimension::kClass});
  results.add("scores", at::arange(-20, 80));
  ASSERT_TRUE(sink.write(3, kTime + 60, results).ok());
  ASSERT_TRUE(sink.finish().ok());
  EXPECT_EQ(text_at(sink.path()), text_at(kGolden));
}

TEST_F(TensorBoardSinkTest, WritesCurvesAndBandsOfTensorBoard) {
  TensorBoardSink sink(folder(), {"cat", "dog"});
  ASSERT_TRUE(sink.begin(run_from(0)).ok());
  Results results;
  results.add("accuracy", at::full({}, 0.75, at::kDouble));
  results.add("accuracy.low", at::full({}, 0.5, at::kDouble));
  results.add("accuracy.high", at::full({}, 0.875, at::kDouble));
  results.add("pr.precision", at::tensor({0.5, 1.0, 1.0}));
  results.add("pr.recall", at::tensor({1.0, 0.5, 0.0}));
  results.add("pr.thresholds", at::tensor({0.25, 0.75}));
  ASSERT_TRUE(sink.write(1, kTime + 60, results).ok());
  // The layout comes again when there is more to show.
  Results more;
  const Dimensions classes{Dimension::kClass};
  more.add("f1", at::tensor({0.5, 0.25}), classes);
  more.add("f1.low", at::tensor({0.25, 0.125}), classes);
  more.add("f1.high", at::tensor({0.75, 0.5}), classes);
  ASSERT_TRUE(sink.write(2, kTime + 120, more).ok());
  ASSERT_TRUE(sink.write(3, kTime + 180, more).ok());
  EXPECT_EQ(text_at(sink.path()), text_at(kCurves));
}

TEST_F(TensorBoardSinkTest, WritesImagesTextsAndDistributionsOfTensorBoard) {
  TensorBoardSink sink(folder());
  ASSERT_TRUE(sink.begin(run_from(0)).ok());
  const at::Tensor gray = at::tensor({0, 255, 128}, at::kByte).view({1, 1, 3});
  // Red and green above each other; the second half transparent.
  const at::Tensor colors =
      at::tensor({1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.5}).view({4, 2, 1});
  ASSERT_TRUE(sink.write_image(1, kTime + 60, "gray", gray).ok());
  ASSERT_TRUE(
      sink.write_image(1, kTime + 60, "rgb", colors.narrow(0, 0, 3)).ok());
  ASSERT_TRUE(sink.write_image(1, kTime + 60, "rgba", colors).ok());
  ASSERT_TRUE(sink.write_text(1, kTime + 60, "said", "**cat**, süß").ok());
  const at::Tensor numbers = at::arange(-20, 80).to(at::kFloat).view({4, 25});
  ASSERT_TRUE(sink.write_histogram(2, kTime + 120, "weights", numbers).ok());
  // Nothing to show.
  ASSERT_TRUE(
      sink.write_histogram(2, kTime + 120, "none", at::full({3}, NAN)).ok());
  ASSERT_TRUE(sink.finish().ok());
  EXPECT_EQ(text_at(sink.path()), text_at(kShown));
}

TEST_F(TensorBoardSinkTest, LeavesOutCurvesThatItCannotShow) {
  TensorBoardSink sink(folder());
  ASSERT_TRUE(sink.begin(run_from(0)).ok());
  const auto add = [](Results& results, const std::string& name,
                      const at::Tensor& thresholds) {
    results.add(name + ".precision", at::tensor({0.5, 1.0, 1.0}));
    results.add(name + ".recall", at::tensor({1.0, 0.5, 0.0}));
    results.add(name + ".thresholds", thresholds);
  };
  Results results;
  add(results, "scores", at::tensor({-1.0, 7.0}));
  add(results, "undefined", at::full({2}, NAN));
  add(results, "other", at::tensor({0.5}));
  ASSERT_TRUE(sink.write(1, kTime, results).ok());
  const std::string bytes = text_at(sink.path());
  EXPECT_THAT(bytes, Not(HasSubstr("pr_curves")));
  EXPECT_THAT(bytes, Not(HasSubstr("scores")));
  // Not the sizes of a curve: results like others.
  EXPECT_THAT(bytes, HasSubstr("other.precision/2"));
}

/// The bytes of a chunk of a PNG file.
std::string chunk(const std::string& png, const std::string& kind) {
  const std::size_t at = png.find(kind);
  if (at == png.npos) return "";
  std::size_t size = 0;
  for (std::size_t i = at - 4; i < at; ++i) {
    size = size << 8 | static_cast<std::uint8_t>(png[i]);
  }
  return png.substr(at + 4, size);
}

TEST_F(TensorBoardSinkTest, AMatrixIsAnImageOfItsRows) {
  TensorBoardSink sink(folder());
  ASSERT_TRUE(sink.begin(run_from(0)).ok());
  Results results;
  results.add("confusion", at::tensor({3, 1, 0, 0}).view({2, 2}));
  ASSERT_TRUE(sink.write(1, kTime, results).ok());
  const std::string bytes = text_at(sink.path());
  EXPECT_THAT(bytes, HasSubstr("confusion/image"));
  EXPECT_EQ(chunk(bytes, "IHDR"), std::string("\0\0\0\x80\0\0\0\x80"
                                              "\x08\x03\0\0\0",
                                              13));
  EXPECT_EQ(chunk(bytes, "PLTE").size(), 768);
  const std::string pixels = chunk(bytes, "IDAT").substr(2 + 5);
  const auto pixel = [&](std::size_t x, std::size_t y) {
    return static_cast<std::uint8_t>(pixels[y * 129 + 1 + x]);
  };
  EXPECT_EQ(pixel(0, 0), 191);  // 3 of 4
  EXPECT_EQ(pixel(63, 63), 191);
  EXPECT_EQ(pixel(64, 63), 64);  // 1 of 4
  EXPECT_EQ(pixel(127, 64), 0);  // nothing
}

TEST_F(TensorBoardSinkTest, LeavesOutWhatHasNoNumbers) {
  TensorBoardSink sink(folder());
  ASSERT_TRUE(sink.begin(run_from(0)).ok());
  Results results;
  results.add("void", at::arange(0));
  results.add("nothing", at::arange(40).mul(std::nan("")));
  ASSERT_TRUE(sink.write(1, kTime, results).ok());
  EXPECT_THAT(text_at(sink.path()), Not(HasSubstr("noth")));
  EXPECT_THAT(text_at(sink.path()), Not(HasSubstr("void")));
}

TEST_F(TensorBoardSinkTest, EachStartHasAFileBehindTheOthers) {
  write_text("events.out.tfevents.1800000000.host.1.0", "of another writer");
  std::string last = path("events.out.tfevents.1800000000");
  for (int start = 0; start < 3; ++start) {
    TensorBoardSink sink(folder());
    ASSERT_TRUE(sink.begin(run_from(start)).ok());
    EXPECT_THAT(sink.path(), StartsWith(path("events.out.tfevents.18000000")));
    EXPECT_GT(sink.path(), last);
    last = sink.path();
  }
  EXPECT_EQ(text_at(path("events.out.tfevents.1800000000.host.1.0")),
            "of another writer");
}

TEST_F(TensorBoardSinkTest, CreatesTheFolderOrSaysWhyNot) {
  TensorBoardSink sink(path("a/b"));
  EXPECT_TRUE(sink.begin(run_from(0)).ok());
  write_text("file", "");
  TensorBoardSink bad(path("file"));
  EXPECT_THAT(message_of(bad.begin(run_from(0))),
              StartsWith(path("file") + ": cannot be written: "));
  TensorBoardSink in_proc("/proc/tally");
  EXPECT_FALSE(in_proc.begin(run_from(0)).ok());
}

}  // namespace
}  // namespace tally
