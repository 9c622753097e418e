#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/registry/registry.h"
#include "tally/sync/communicator.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/with_gaps.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testkit::near;
using testkit::refusal_of;
using testkit::same_bits;
using testkit::with_gaps;

constexpr std::int64_t kRows = 24;
constexpr std::int64_t kCount = 5;

// A metric that takes scores and targets, and inputs for it.
struct Subject {
  const MetricEntry* entry;
  at::Tensor preds;
  at::Tensor target;

  std::string text(const std::string& more = "") const {
    const std::string required = entry->summary.required;
    const char* const between = required.empty() || more.empty() ? "" : ", ";
    return entry->name + "(" + required + between + more + ")";
  }
  bool has(const std::string& option) const {
    for (const OptionInfo& info : entry->options) {
      if (info.name == option) return true;
    }
    return false;
  }
  void update(Metric& metric, const at::Tensor& own_preds,
              const at::Tensor& own_target) const {
    if (has("num_groups")) {
      metric.update(own_preds, own_target,
                    at::arange(kRows, at::kLong).remainder(2));
    } else {
      metric.update(own_preds, own_target);
    }
  }
};

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (entry.is_wrapper) continue;
    if (name.rfind("Binary", 0) == 0) {
      all.push_back(
          {&entry, at::rand({kRows}), at::randint(0, 2, {kRows}, at::kLong)});
    } else if (name.rfind("Multiclass", 0) == 0) {
      all.push_back({&entry, at::rand({kRows, kCount}).softmax(1),
                     at::randint(0, kCount, {kRows}, at::kLong)});
    } else if (name.rfind("Multilabel", 0) == 0) {
      all.push_back({&entry, at::rand({kRows, kCount}),
                     at::randint(0, 2, {kRows, kCount}, at::kLong)});
    }
  }
  EXPECT_GT(all.size(), 70u);
  return all;
}

TEST(ClassificationInputsTest, TargetsMayBeFloatingPoint) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.entry->name);
    const auto metric = make_metric(subject.text());
    subject.update(*metric, subject.preds, subject.target);
    const Results expected = metric->compute_results();
    for (const auto dtype :
         {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
      const at::Tensor target = subject.target.to(dtype);
      metric->reset();
      subject.update(*metric, subject.preds, target);
      EXPECT_TRUE(same_bits(metric->compute_results(), expected)) << dtype;
    }
    metric->reset();
    subject.update(*metric, subject.preds,
                   with_gaps(subject.target.to(at::kFloat)).requires_grad_());
    EXPECT_TRUE(near(metric->compute_results(), expected, {1e-14, 0}));
  }
}

TEST(ClassificationInputsTest, TargetsBetweenLabelsAreRefused) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.entry->name);
    const auto metric = make_metric(subject.text());
    subject.update(*metric, subject.preds, subject.target);
    const Results before = metric->compute_results();
    const auto message = [&](double odd) {
      const at::Tensor target = subject.target.to(at::kDouble);
      target.reshape(-1).narrow(0, 3, 2).fill_(odd);
      return refusal_of<c10::Error>(
          [&] { subject.update(*metric, subject.preds, target); });
    };
    EXPECT_THAT(message(0.5), HasSubstr("expected whole numbers as target, got "
                                        "0.5 at position 3"));
    EXPECT_THAT(message(1e30), HasSubstr("got 1e+30 at position 3"));
    EXPECT_THAT(message(kInf), HasSubstr("got inf at position 3"));
    EXPECT_THAT(message(kInf - kInf), HasSubstr("nan at position 3"));
    EXPECT_THAT(message(7), AllOf(HasSubstr("expected target in [0, "),
                                  HasSubstr("got 7 at position 3")));
    EXPECT_TRUE(same_bits(metric->compute_results(), before));
  }
}

TEST(ClassificationInputsTest, WholeIgnoredTargetsDoNotCount) {
  for (const Subject& subject : subjects()) {
    if (!subject.has("ignore_index")) continue;
    SCOPED_TRACE(subject.entry->name);
    const auto metric = make_metric(subject.text("ignore_index=-1"));
    const at::Tensor target = subject.target.clone();
    target.narrow(0, 2, 3).fill_(-1);
    subject.update(*metric, subject.preds, target);
    const Results expected = metric->compute_results();
    metric->reset();
    subject.update(*metric, subject.preds, target.to(at::kFloat));
    EXPECT_TRUE(same_bits(metric->compute_results(), expected));
  }
}

TEST(ClassificationInputsTest, ScoresThatAreNoProbabilitiesAreRefused) {
  for (const Subject& subject : subjects()) {
    if (!subject.has("input")) continue;
    SCOPED_TRACE(subject.entry->name);
    const at::Tensor preds = subject.preds.clone();
    preds.narrow(0, 3, 1).fill_(1.5);
    for (const at::Tensor& given :
         {preds, with_gaps(preds), preds.to(at::kHalf)}) {
      const auto metric = make_metric(subject.text());
      EXPECT_THAT(
          refusal_of([&] { subject.update(*metric, given, subject.target); }),
          AllOf(HasSubstr("expected probabilities in [0, 1] as preds, got 1.5 "
                          "at position "),
                HasSubstr("ScoreKind::kLogits")));
      EXPECT_EQ(metric->update_count(), 0);
      const auto of_logits = make_metric(subject.text("input=logits"));
      subject.update(*of_logits, given, subject.target);
    }
  }
}

TEST(ClassificationInputsTest, ExactCurvesAndDecisionsTakeAnyScores) {
  std::int64_t found = 0;
  for (const Subject& subject : subjects()) {
    if (!subject.has("input")) continue;
    SCOPED_TRACE(subject.entry->name);
    const auto refusal = [&](const std::string& options) {
      return refusal_of([&] { make_metric(subject.text(options)); });
    };
    const auto refused =
        HasSubstr("expected input to be probabilities or logits, got scores");
    if (subject.has("threshold")) {
      const auto any = make_metric(subject.text("input=scores, threshold=-3"));
      const auto probable = make_metric(subject.text("threshold=0.25"));
      const at::Tensor scores =
          at::randint(0, 33, subject.preds.sizes()).to(at::kFloat);
      subject.update(*any, scores.sub(16).div(8).mul(3), subject.target);
      subject.update(*probable, scores.div(32), subject.target);
      EXPECT_TRUE(
          same_bits(any->compute_results(), probable->compute_results()));
      EXPECT_THAT(refusal("input=scores, threshold=inf"),
                  HasSubstr("expected a finite threshold, got inf"));
      EXPECT_THAT(refusal("input=scores"),
                  HasSubstr("expected a threshold for scores of any kind"));
      const auto half =
          make_metric(subject.text("input=scores, threshold=0.5"));
      EXPECT_EQ(make_metric(half->repr())->repr(), half->repr());
      continue;
    }
    if (!subject.has("thresholds")) {
      EXPECT_THAT(refusal("input=scores"),
                  HasSubstr("option 'input': expected one of probabilities, "
                            "logits, got 'scores'"));
      continue;
    }
    ++found;
    EXPECT_THAT(refusal("input=scores, thresholds=5"), refused);
    const auto metric = make_metric(subject.text("input=scores"));
    const auto of_ranks = make_metric(subject.text());
    // In order, and exact. Sums over samples in order are cut where keys differ
    // in their first bits, which are others here.
    const at::Tensor scores =
        at::randint(0, 33, subject.preds.sizes()).to(at::kFloat);
    subject.update(*metric, scores.sub(16), subject.target);
    subject.update(*of_ranks, scores.div(32), subject.target);
    if (metric->compute_results().size() == 1) {
      EXPECT_TRUE(near(metric->compute_results(), of_ranks->compute_results(),
                       {1e-14}));
    }
  }
  EXPECT_GE(found, 24);
}

}  // namespace
}  // namespace tally
