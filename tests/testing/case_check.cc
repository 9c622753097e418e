#include "tally/tests/testing/case_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tally/sync/errors.h"
#include "tally/testing/compare.h"
#include "tally/testing/internal/law_check.h"
#include "tally/tests/testing/sum_order.h"

namespace tally::testkit {
namespace {

// docs/numerics.md
constexpr double kAcrossProcessors = 1e-12;

/// The metric says what each dimension of its result is, at least what the
/// first is if the rest is what it was given.
void check_dimensions(const Results& value, const std::string& name,
                      bool only_first) {
  Dimensions dimensions = value.dimensions(name);
  if (only_first && !dimensions.empty()) dimensions.resize(1);
  for (const Dimension dimension : dimensions) {
    EXPECT_NE(dimension, Dimension::kUnknown)
        << "part '" << name << "' of sizes " << value.at(name).sizes()
        << ": expected the metric, or visit() of its result, to say what "
           "each dimension is";
  }
}

}  // namespace

CaseCheck::CaseCheck(const FixtureCase& fixture, const MetricFactory& factory,
                     const HarnessOptions& options)
    : fixture_(fixture), options_(options) {
  OptionTexts texts;
  for (const auto& [name, text] : fixture.options) {
    if (options.strip_options.count(name) == 0) texts[name] = text;
  }
  if (options.adapt_options) options.adapt_options(fixture, texts);
  make_ = [&factory, texts](const MetricOptions& metric_options) {
    return factory(texts, metric_options);
  };
  if (options.metric_options) metric_options_ = options.metric_options(fixture);
  for (Batch& batch : fixture_.batches) {
    for (BatchInput& input : batch) input.set_ragged(options.ragged_input);
    if (options.takes_empty_batches || batch.front().rows() != 0) {
      batches_.push_back(batch);
    }
  }
}

void CaseCheck::run(bool thoroughly) {
  {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       "case " + fixture_.name + ", reference");
    check_reference();
  }
  if (!::testing::Test::HasFailure()) check_laws(thoroughly);
}

void CaseCheck::check_reference() {
  const auto metric = make_(metric_options_);
  internal::update(*metric, batches_);
  const Results value = metric->compute_results();
  EXPECT_EQ(value.size(), fixture_.expected.size());
  Results expected;
  for (const auto& [name, part] : value) {
    check_dimensions(value, name, options_.gives_back);
    ASSERT_EQ(fixture_.expected.count(name), 1) << "part '" << name << "'";
    expected.add(name, fixture_.expected.at(name));
  }
  const Tolerance tolerance{options_.rtol.value_or(fixture_.rtol),
                            options_.atol.value_or(fixture_.atol)};
  EXPECT_TRUE(near(value, expected, tolerance));
  EXPECT_TRUE(same_dtypes(value, expected));
  EXPECT_TRUE(same_bits(metric->compute_results(), value));
  EXPECT_EQ(metric->update_count(), batches_.size());
  EXPECT_EQ(metric->status(), MetricStatus::kUpdated);
}

void CaseCheck::check_laws(bool thoroughly) {
  internal::LawSubject subject;
  subject.make = make_;
  subject.batches = batches_;
  subject.cut_rows = fixture_.row_split;
  subject.with_files = thoroughly;
  subject.compare_gradients = options_.skip_gradients.count(fixture_.name) == 0;
  subject.options.metric_options(metric_options_)
      .rtol(options_.split_rtol)
      .threads_rtol(options_.threads_rtol)
      .takes_empty_batches(options_.takes_empty_batches)
      .order_matters(options_.order_matters)
      .differentiable_inputs(options_.differentiable_inputs);
  if (options_.outlasts_reset) subject.options.without({MetricLaw::kReset});
  const auto expect = [&](internal::LawCheck& check, MetricLaw law,
                          const char* where) {
    if (!checks(law, thoroughly)) return;
    for (const internal::Finding& finding : check.check(law)) {
      ADD_FAILURE() << "case " << fixture_.name << ", " << law << where << ": "
                    << finding.text();
    }
  };
  internal::LawCheck check(subject);
  for (const MetricLaw law : internal::all_laws()) {
    // Which is stricter, and takes as long, below.
    if (law == MetricLaw::kThreads && !thoroughly) continue;
    expect(check, law, "");
  }

  // A law about the value of all rows, which is that of LibTorch's own order.
  subject.options.rtol(std::max(options_.split_rtol, kAcrossProcessors));
  internal::LawCheck across(subject);
  across.whole();
  const SumOrder order(1);
  expect(across, MetricLaw::kAssociativity, ", across orders of sums");
  subject.options.rtol(options_.split_rtol).ranks({2});
  internal::LawCheck other(std::move(subject));
  for (const MetricLaw law :
       {MetricLaw::kSplits, MetricLaw::kSyncedForward, MetricLaw::kMixedRanks,
        MetricLaw::kInference, MetricLaw::kThreads}) {
    expect(other, law, ", with sums in another order");
  }
}

bool CaseCheck::checks(MetricLaw law, bool thoroughly) const {
  switch (law) {
    case MetricLaw::kBadInput:
      return thoroughly;
    case MetricLaw::kBest:
      return options_.target_is_best;
    case MetricLaw::kReset:
      return !options_.outlasts_reset;
    case MetricLaw::kThreads:
      return options_.checks_threads;
    default:
      return true;
  }
}

}  // namespace tally::testkit
