#include "tally/plots/plots.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tally/plots/thin.h"
#include "tally/tests/testing/markup.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using internal::PlotPoint;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testkit::refusal_of;

double distance(const PlotPoint& p, const PlotPoint& a, const PlotPoint& b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double t = std::clamp(
      ((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy), 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

TEST(ThinTest, NoPointIsFurtherThanTheTolerance) {
  std::vector<PlotPoint> points;
  for (int i = 0; i < 20'000; ++i) {
    points.push_back(
        {i / 50.0, 200 * std::sqrt(i / 20'000.0) + 0.2 * std::sin(i * 0.7)});
  }
  const auto kept = internal::thinned(points, 0.5);
  EXPECT_LT(kept.size(), 60u);
  EXPECT_EQ(kept.front().x, points.front().x);
  EXPECT_EQ(kept.back().x, points.back().x);
  std::size_t next = 1;
  for (const PlotPoint& point : points) {
    if (point.x > kept[next].x) ++next;
    EXPECT_LE(distance(point, kept[next - 1], kept[next]), 0.5 + 1e-9);
  }
}

TEST(ThinTest, ShortCurvesStay) {
  EXPECT_TRUE(internal::thinned({}, 0.5).empty());
  EXPECT_EQ(internal::thinned({{1, 1}, {1, 1}}, 0.5).size(), 2u);
  EXPECT_EQ(internal::thinned({{0, 0}, {1, 0}, {2, 0}}, 0.5).size(), 2u);
}

/// Whether it can be shown, and has numbers alone.
bool is_well_formed(const std::string& svg) {
  return testkit::is_well_formed(svg) && svg.find("nan") == svg.npos &&
         svg.find("inf") == svg.npos && svg.find(">-0<") == svg.npos;
}

/// In the folder TALLY_PLOTS, for those who want to look at it.
void keep(const std::string& name, const std::string& svg) {
  const char* folder = std::getenv("TALLY_PLOTS");
  if (folder == nullptr) return;
  std::ofstream(std::string(folder) + "/" + name + ".svg") << svg;
}

void expect_plot(const std::string& name, const std::string& svg) {
  keep(name, svg);
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg xmlns=\"http://www.w3.org/2000/svg\" "
                                   "role=\"img\" width=\"480\""),
                         HasSubstr("<title>"), HasSubstr("<desc>")));
}

PlotCurve roc_of(const std::string& name, double power) {
  const at::Tensor x = at::linspace(0, 1, 100'001);
  return {name, x, x.pow(power)};
}

TEST(PlotsTest, RocHasTheAreaOfTheWholeCurve) {
  const std::string svg = roc_plot({roc_of("a", 0.25), roc_of("b", 0.5)});
  expect_plot("roc", svg);
  EXPECT_THAT(svg, AllOf(HasSubstr("<title>ROC</title>"),
                         HasSubstr("a: area 0.8; b: area 0.667")));
  EXPECT_LT(svg.size(), 8000u);
  // The other way round, as thresholds fall.
  const at::Tensor x = at::linspace(1, 0, 1001);
  EXPECT_THAT(roc_plot({{"", x, x.sqrt()}}), HasSubstr(">area 0.667<"));
}

TEST(PlotsTest, LongNamesAreCutButNotTheirNumbers) {
  const std::string name(200, 'i');
  const std::string svg =
      roc_plot({roc_of(name, 0.25)}, PlotOptions().title(name));
  expect_plot("roc_names", svg);
  EXPECT_THAT(svg, AllOf(HasSubstr("iii...: area 0.8</text>"),
                         HasSubstr("<title>" + name + "</title>"),
                         Not(HasSubstr(">" + name + "</text>"))));
}

TEST(PlotsTest, PrecisionIsDrawnAsSteps) {
  const at::Tensor recall = at::tensor({1.0, 0.5, 0.5, 0.0});
  const at::Tensor precision = at::tensor({0.5, 0.5, 1.0, 1.0});
  const std::string svg =
      precision_recall_plot({{"m", recall, precision}}, 0.25);
  expect_plot("precision_recall", svg);
  EXPECT_THAT(
      svg, AllOf(HasSubstr("m: average precision 0.75"), HasSubstr("F1 0.8")));
  // The other way round.
  EXPECT_THAT(precision_recall_plot({{"m", recall.flip(0), precision.flip(0)}},
                                    std::nan("")),
              HasSubstr("m: average precision 0.75"));
}

TEST(PlotsTest, CalibrationHasWilsonIntervals) {
  const at::Tensor preds = at::arange(1000).add(0.5).div(1000);
  const at::Tensor target =
      at::arange(1000).mul(7).remainder(10).lt(at::arange(1000).div(100));
  expect_plot("calibration", calibration_plot(preds, target));
  // One bin, whatever the order: 3 of 4, from 0.3006 to 0.9544.
  const at::Tensor equal = at::tensor({0.5, 0.5, 0.5, 0.5});
  const auto svg = [&](const at::Tensor& each) {
    return calibration_plot(equal, each, 2);
  };
  EXPECT_THAT(svg(at::tensor({1, 1, 1, 0})),
              AllOf(HasSubstr("in 1 bins"), HasSubstr("y1=\"315.74\""),
                    HasSubstr("y2=\"54.23\"")));
  EXPECT_EQ(svg(at::tensor({1, 1, 1, 0})), svg(at::tensor({0, 1, 1, 1})));
  EXPECT_EQ(refusal_of([&] {
              svg(at::tensor({1, 1, 2, 0}));
            }),
            "calibration_plot: expected targets of 0 and 1, got 2");
  EXPECT_EQ(refusal_of([&] {
              calibration_plot(equal.mul(3), at::tensor({0, 1, 0, 1}));
            }),
            "calibration_plot: expected preds in [0, 1], got 1.5");
  expect_plot("calibration_empty",
              calibration_plot(at::empty({0}), at::empty({0})));
}

TEST(PlotsTest, AMatrixHasReadableCounts) {
  const std::string svg = confusion_matrix_plot(
      at::tensor({1800, 200, 0, 0}).view({2, 2}), {"cat & dog", "<other>"});
  expect_plot("confusion", svg);
  EXPECT_THAT(svg, AllOf(HasSubstr("cat &amp; dog"), HasSubstr("&lt;other&gt;"),
                         HasSubstr("fill=\"#000000\">1800<"),
                         HasSubstr("fill=\"#ffffff\">200<")));
  // Too many for numbers.
  const std::string large =
      confusion_matrix_plot(at::arange(3600).view({60, 60}));
  expect_plot("confusion_large", large);
  EXPECT_THAT(large, Not(HasSubstr(">3599<")));
  // Names that are wider than cells stand upright, and end within the drawing.
  const std::string long_name(200, 'w');
  const std::string names = confusion_matrix_plot(at::arange(9).view({3, 3}),
                                                  {long_name, "\xC3\xA9", "c"});
  expect_plot("confusion_names", names);
  EXPECT_THAT(names, AllOf(Not(HasSubstr(long_name)), HasSubstr("www...<"),
                           HasSubstr("text-anchor=\"end\" fill=\"#161616\" "
                                     "transform=\"rotate(-90 ")));
  EXPECT_EQ(refusal_of([] {
              confusion_matrix_plot(at::empty({2, 3}));
            }),
            "confusion_matrix_plot: expected a matrix [C, C], got sizes "
            "[2, 3]");
}

TEST(PlotsTest, BarsStartAtZero) {
  const std::string svg = bar_plot(at::tensor({0.5, -0.25, std::nan(""), 1.0}),
                                   {"a", "b", "c", "d"});
  expect_plot("bars", svg);
  EXPECT_THAT(svg, AllOf(HasSubstr(">-0.25<"), HasSubstr(">undefined<")));
  expect_plot("bars_zero", bar_plot(at::tensor({0.0, 0.0})));
  EXPECT_EQ(refusal_of([] {
              bar_plot(at::tensor({1.0}), {"a", "b"});
            }),
            "bar_plot: expected a label for each of 1 classes, got 2");
}

TEST(PlotsTest, StepsAreInterruptedByWhatIsNotFinite) {
  const at::Tensor steps = at::arange(5);
  const std::string svg = steps_plot(
      {{"loss", steps, at::tensor({4.0, 2.0, std::nan(""), 1.5, 1.0})},
       {"f1", steps, at::linspace(0, 1, 5)}},
      PlotOptions().title("A run"));
  expect_plot("steps", svg);
  EXPECT_THAT(svg, AllOf(HasSubstr("<title>A run</title>"),
                         HasSubstr("loss: last 1; f1: last 1")));
  std::size_t lines = 0;
  for (std::size_t at = svg.find("<polyline"); at != svg.npos;
       at = svg.find("<polyline", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 3u);
  expect_plot("steps_one",
              steps_plot({{"a", at::tensor({3}), at::tensor({7})}}));
}

TEST(PlotsTest, IntervalsAreBands) {
  const at::Tensor x = at::linspace(0, 1, 101);
  const at::Tensor y = x.sqrt();
  const std::string svg = roc_plot(
      {{"model", x, y, y.sub(0.1).clamp_min(0), y.add(0.1).clamp_max(1)},
       {"other", x, x.pow(0.8)}});
  expect_plot("roc_band", svg);
  // Below the curves, and in their color.
  const std::size_t band =
      svg.find("<polygon fill=\"#0072b2\" fill-opacity=\"0.25\"");
  ASSERT_NE(band, svg.npos);
  EXPECT_LT(band, svg.find("<polyline"));
  EXPECT_EQ(svg.find("fill-opacity", svg.find("fill-opacity") + 1), svg.npos);
  // Where a bound is not finite, there is none.
  const std::string gap =
      steps_plot({{"f1", at::arange(5), at::linspace(0.5, 0.9, 5),
                   at::tensor({0.4, 0.5, std::nan(""), 0.7, 0.8}),
                   at::tensor({0.6, 0.7, 0.8, 0.9, 1.0})}});
  expect_plot("steps_band", gap);
  std::size_t bands = 0;
  for (std::size_t at = gap.find("fill-opacity"); at != gap.npos;
       at = gap.find("fill-opacity", at + 1)) {
    ++bands;
  }
  EXPECT_EQ(bands, 2u);
  expect_plot("bars_intervals", bar_plot(at::tensor({0.5, 0.25}), {"a", "b"},
                                         {}, at::tensor({0.4, std::nan("")}),
                                         at::tensor({0.7, std::nan("")})));
  EXPECT_EQ(refusal_of([&] {
              roc_plot({{"a", x, y, y}});
            }),
            "roc_plot: expected both bounds of 'a' or none, got one");
  EXPECT_EQ(refusal_of([&] {
              roc_plot({{"a", x, y, y, at::arange(3)}});
            }),
            "roc_plot: expected as many bounds as x of 'a', got 101 and 3 for "
            "101");
  EXPECT_EQ(refusal_of([&] { bar_plot(x, {}, {}, x); }),
            "bar_plot: expected both bounds or none, got one");
  EXPECT_EQ(refusal_of([&] { bar_plot(x, {}, {}, x, at::arange(3)); }),
            "bar_plot: expected bounds for each of 101 values, got 101 and 3");
}

TEST(PlotsTest, RetrievalIsOverTheNumberOfDocuments) {
  const std::string svg = retrieval_plot(
      {{"precision", at::arange(1, 6), at::tensor({1.0, 1.0, 0.67, 0.5, 0.4})},
       {"recall", at::arange(1, 6), at::tensor({0.25, 0.5, 0.5, 0.5, 0.5})}});
  expect_plot("retrieval", svg);
  EXPECT_THAT(svg, AllOf(HasSubstr("<title>Retrieval</title>"),
                         HasSubstr("precision: last 0.4; recall: last 0.5"),
                         HasSubstr(">documents</text>")));
}

TEST(PlotsTest, PredictionsAreSeenBesideTheTruth) {
  const at::Tensor target = at::linspace(0, 10, 20'000);
  const at::Tensor preds = target.add(target.mul(40).sin());
  const at::Tensor few = at::arange(0, 20'000, 100);
  expect_plot("residuals", residuals_plot(preds.index_select(0, few),
                                          target.index_select(0, few)));
  expect_plot("predicted", predicted_plot(preds.index_select(0, few),
                                          target.index_select(0, few)));
  // Points that hide each other are drawn once.
  const std::string residuals = residuals_plot(preds, target);
  EXPECT_LT(residuals.size(), 500'000u);
  EXPECT_THAT(residuals, HasSubstr("Residuals of 20000 rows: target minus"));
  // Residual 1 at prediction 2, in a drawing from 0 to 2 and from 0 to 1.
  EXPECT_THAT(residuals_plot(at::tensor({0.0, 2.0}), at::tensor({0.0, 3.0})),
              HasSubstr("<circle cx=\"464\" cy=\"36\" r=\"2\""));
  expect_plot("residuals_none", residuals_plot(at::empty({0}), at::empty({0})));
  expect_plot("predicted_special",
              predicted_plot(at::tensor({1.0, std::nan(""), INFINITY * 1.0}),
                             at::tensor({1.0, 2.0, 3.0})));
  EXPECT_EQ(refusal_of([&] { residuals_plot(preds, at::arange(3)); }),
            "residuals_plot: expected as many preds as targets, got 20000 and "
            "3");
  EXPECT_EQ(refusal_of([&] { predicted_plot(preds, at::arange(3)); }),
            "predicted_plot: expected as many preds as targets, got 20000 and "
            "3");
}

TEST(PlotsTest, RunsAreComparedWithTheirIntervals) {
  const std::string svg = runs_plot({{"baseline", 0.71, 0.69, 0.73},
                                     {"wider <b>", 0.74, 0.72, 0.76},
                                     {"no interval", 0.7},
                                     {"failed", std::nan("")}},
                                    PlotOptions().title("accuracy"));
  expect_plot("runs", svg);
  EXPECT_THAT(
      svg, AllOf(HasSubstr("accuracy of 4 runs"), HasSubstr("wider &lt;b&gt;"),
                 HasSubstr(">undefined<"), HasSubstr(">0.74<")));
  // Ticks have as many digits as tell them apart.
  EXPECT_THAT(runs_plot({{"a", 0.9736}, {"b", 0.97385}}),
              AllOf(HasSubstr(">0.9736<"), HasSubstr(">0.9737<"),
                    HasSubstr(">0.9738<")));
  EXPECT_EQ(refusal_of([] { runs_plot({}); }),
            "runs_plot: expected at least 1 run, got 0");
  EXPECT_EQ(refusal_of([] {
              runs_plot({{"a", 0.5, 0.6, 0.7}});
            }),
            "runs_plot: expected an interval around the value of 'a', got 0.5 "
            "and 0.6 to 0.7");
}

TEST(PlotsTest, SayWhatIsWrong) {
  const at::Tensor x = at::arange(3);
  EXPECT_EQ(refusal_of([] { roc_plot({}); }),
            "roc_plot: expected 1 to 8 curves, got 0");
  EXPECT_EQ(refusal_of([&] {
              roc_plot({{"a", x, at::arange(4)}});
            }),
            "roc_plot: expected as many x as y of 'a', got 3 and 4");
  EXPECT_EQ(refusal_of([&] {
              steps_plot({{"a", x, x.view({3, 1})}});
            }),
            "steps_plot: expected y of 1 dimensions, got sizes [3, 1]");
  EXPECT_EQ(refusal_of([&] {
              steps_plot({{"a", x, {}}});
            }),
            "steps_plot: expected y of 1 dimensions, got an undefined tensor");
}

}  // namespace
}  // namespace tally
