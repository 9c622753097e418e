#include "tally/tests/testing/metric_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "tally/sync/exchange.h"
#include "tally/tests/testing/compare.h"
#include "tally/tests/testing/drive.h"
#include "tally/tests/testing/gradient_checks.h"
#include "tally/tests/testing/splits.h"

namespace tally::testing {
namespace {

Results copy_of(const Results& results) {
  Results copy;
  for (const auto& [name, value] : results) {
    copy.add(name, value.defined() ? value.detach().clone() : value);
  }
  return copy;
}

// Other values in the same memory.
void scramble(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  if (at::isFloatingType(tensor.scalar_type())) {
    tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  } else {
    tensor.bitwise_not_();
  }
}

bool is_floating(const at::Tensor& tensor) {
  return at::isFloatingType(tensor.scalar_type());
}

class CaseCheck {
 public:
  CaseCheck(const FixtureCase& fixture, const MetricFactory& factory,
            const HarnessOptions& options)
      : fixture_(fixture), factory_(factory), options_(options) {
    for (const auto& [name, text] : fixture.options) {
      if (options.strip_options.count(name) == 0) texts_[name] = text;
    }
    if (options.adapt_options) options.adapt_options(fixture, texts_);
    for (const Batch& batch : fixture.batches) {
      if (options.takes_empty_batches || batch.front().dim() == 0 ||
          batch.front().size(0) > 0) {
        batches_.push_back(batch);
        pristine_.push_back(testing::copy_of(batch));
      }
    }
    double largest = 1;
    for (const Batch& batch : batches_) {
      for (const at::Tensor& input : batch) {
        if (!is_floating(input) || input.numel() == 0) continue;
        const double most =
            input.nan_to_num(0, 0, 0).abs().max().item<double>();
        largest = std::max(largest, most);
      }
    }
    near_ = {options.split_rtol, 1e-2 * options.split_rtol * largest};
  }

  void run(bool with_files) {
    check("reference", [&] { check_reference(); });
    if (::testing::Test::HasFailure()) return;
    check("merges", [&] { check_merges(); });
    check("forward", [&] { check_forward(); });
    check("copies", [&] { check_copies(); });
    if (with_files) check("files", [&] { check_files(); });
    check("aliases", [&] { check_aliases(); });
    check("strides", [&] { check_strides(); });
    for (const int ranks : {1, 2, 3, 5}) {
      check("splits over " + std::to_string(ranks) + " ranks",
            [&] { check_splits(ranks); });
    }
    for (const int ranks : {2, 3}) {
      check("dist_sync_on_step on " + std::to_string(ranks) + " ranks",
            [&] { check_steps(ranks); });
    }
    check("gradients", [&] { check_gradients(); });
    check("inputs", [&] {
      for (size_t i = 0; i < batches_.size(); ++i) {
        for (size_t k = 0; k < batches_[i].size(); ++k) {
          EXPECT_TRUE(same_bits(batches_[i][k], pristine_[i][k]))
              << "input " << k << " of batch " << i << " was changed";
        }
      }
    });
  }

 private:
  template <class Function>
  void check(const std::string& what, const Function& function) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       "case " + fixture_.name + ", " + what);
    try {
      function();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "threw: " << sync::describe(error);
    }
  }

  std::unique_ptr<Metric> make(MetricOptions metric_options) const {
    return factory_(texts_, metric_options);
  }
  std::unique_ptr<Metric> make() const { return make(metric_options()); }
  std::unique_ptr<Metric> made_of(const std::vector<Batch>& batches) const {
    auto metric = make();
    update(*metric, batches);
    return metric;
  }
  MetricOptions metric_options() const {
    return options_.metric_options ? options_.metric_options(fixture_)
                                   : MetricOptions();
  }

  SplitOptions split_options() const {
    return {options_.takes_empty_batches, !options_.order_matters};
  }

  void check_reference() {
    const auto metric = made_of(batches_);
    whole_ = metric->compute_results();
    EXPECT_EQ(whole_.size(), fixture_.expected.size());
    Results expected;
    for (const auto& [name, value] : whole_) {
      ASSERT_EQ(fixture_.expected.count(name), 1) << "part '" << name << "'";
      expected.add(name, fixture_.expected.at(name));
    }
    const Tolerance tolerance{options_.rtol.value_or(fixture_.rtol),
                              options_.atol.value_or(fixture_.atol)};
    EXPECT_TRUE(near(whole_, expected, tolerance));
    EXPECT_TRUE(same_bits(metric->compute_results(), whole_));
    EXPECT_EQ(metric->update_count(), batches_.size());
    EXPECT_EQ(metric->status(), MetricState::kUpdated);
  }

  void check_merges() {
    const Split parts = splits_of(fixture_, 3, split_options()).front();
    const auto a = made_of(parts.ranks[0]);
    const auto b = made_of(parts.ranks[1]);
    const auto c = made_of(parts.ranks[2]);
    const std::string before = b->serialize() + c->serialize();
    const auto left = a->clone();
    left->merge_state(*b);
    left->merge_state(*c);
    const auto behind = b->clone();
    behind->merge_state(*c);
    const auto right = a->clone();
    right->merge_state(*behind);
    EXPECT_TRUE(near(left->compute_results(), whole_, near_));
    EXPECT_TRUE(near(right->compute_results(), whole_, near_))
        << "the merge is not associative";
    EXPECT_EQ(left->update_count(), right->update_count());
    EXPECT_EQ(left->update_count(),
              a->update_count() + b->update_count() + c->update_count());
    EXPECT_EQ(b->serialize() + c->serialize(), before)
        << "merge_state() changed what it merged";

    const auto onto_fresh = make();
    onto_fresh->merge_state(*a);
    const auto with_fresh = a->clone();
    with_fresh->merge_state(*make());
    EXPECT_TRUE(near(onto_fresh->state(), a->state()))
        << "a fresh metric is no identity on the left";
    EXPECT_TRUE(near(with_fresh->state(), a->state()))
        << "a fresh metric is no identity on the right";
    EXPECT_EQ(with_fresh->update_count(), a->update_count());
  }

  void check_forward() {
    const auto forwarded = make();
    for (const Batch& batch : batches_) {
      const Results value = forward(*forwarded, batch);
      EXPECT_TRUE(near(value, made_of({batch})->compute_results(), near_));
    }
    const auto updated = made_of(batches_);
    EXPECT_TRUE(same_bits(forwarded->state(), updated->state()));
    EXPECT_TRUE(same_bits(forwarded->compute_results(), whole_));
    EXPECT_EQ(forwarded->update_count(), batches_.size());
  }

  void check_copies() {
    const auto metric = made_of(batches_);
    const std::string bytes = metric->serialize();
    const auto loaded = make();
    const absl::Status status = loaded->deserialize(bytes);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(loaded->serialize(), bytes);
    EXPECT_EQ(loaded->update_count(), metric->update_count());
    EXPECT_TRUE(same_bits(loaded->compute_results(), whole_));

    const auto cut = make();
    EXPECT_FALSE(cut->deserialize(bytes.substr(0, bytes.size() - 1)).ok());
    EXPECT_EQ(cut->status(), MetricState::kEmpty);

    const auto copy = metric->clone();
    EXPECT_EQ(copy->serialize(), bytes);
    EXPECT_EQ(copy->repr(), metric->repr());
    update(*copy, batches_);
    EXPECT_EQ(metric->serialize(), bytes) << "a clone's update shows here";
    const std::string twice = copy->serialize();
    update(*metric, batches_);
    EXPECT_EQ(copy->serialize(), twice) << "an update shows in the clone";
    EXPECT_EQ(metric->serialize(), twice);
    loaded->merge_state(*made_of(batches_));
    EXPECT_EQ(loaded->update_count(), 2 * batches_.size());
    EXPECT_TRUE(
        near(loaded->compute_results(), metric->compute_results(), near_));

    metric->reset();
    EXPECT_EQ(metric->serialize(), make()->serialize());
    EXPECT_EQ(metric->status(), MetricState::kEmpty);
    update(*metric, batches_);
    EXPECT_TRUE(same_bits(metric->compute_results(), whole_));
  }

  void check_files() {
    const char* folder = std::getenv("TEST_TMPDIR");
    const std::string path = std::string(folder ? folder : "/tmp") + "/" +
                             make()->name() + ".harness";
    absl::Status status = made_of(batches_)->save(path);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const auto loaded = make();
    status = loaded->load(path);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(same_bits(loaded->compute_results(), whole_));
    EXPECT_EQ(std::remove(path.c_str()), 0);
  }

  void check_aliases() {
    const auto metric = make();
    std::vector<Batch> given;
    std::vector<Results> values;
    std::vector<Results> copies;
    for (const Batch& batch : batches_) {
      given.push_back(testing::copy_of(batch));
      values.push_back(forward(*metric, given.back()));
      copies.push_back(copy_of(values.back()));
    }
    for (size_t i = 0; i < given.size(); ++i) {
      EXPECT_TRUE(same_bits(values[i], copies[i]))
          << "the value of batch " << i << " changed later";
      for (size_t k = 0; k < given[i].size(); ++k) {
        EXPECT_TRUE(same_bits(given[i][k], batches_[i][k]))
            << "input " << k << " of batch " << i << " was changed";
        scramble(given[i][k]);
      }
      for (const auto& [name, value] : values[i]) scramble(value);
    }
    const Results value = metric->compute_results();
    EXPECT_TRUE(same_bits(value, whole_))
        << "what became of inputs or values later shows in the metric";
    const std::string before = metric->serialize();
    for (const auto& [name, part] : value) scramble(part);
    for (const auto& [name, part] : metric->state()) scramble(part);
    EXPECT_TRUE(same_bits(metric->compute_results(), whole_))
        << "a change of a result shows in the metric";
    EXPECT_EQ(metric->serialize(), before);
  }

  void check_strides() {
    const auto metric = make();
    for (const Batch& batch : batches_) {
      Batch apart;
      for (const at::Tensor& input : batch) {
        std::vector<std::int64_t> sizes = input.sizes().vec();
        sizes.push_back(2);
        apart.push_back(
            input.unsqueeze(-1).expand(sizes).contiguous().select(-1, 0));
      }
      update(*metric, apart);
    }
    EXPECT_TRUE(near(metric->compute_results(), whole_, near_));
  }

  struct SplitReport {
    Results value;
    Results value_synced;
    std::int64_t collectives = 0;
    std::int64_t bytes = 0;
    std::int64_t count_synced = 0;
    bool restored = false;
  };

  void check_splits(int ranks) {
    for (const Split& split : splits_of(fixture_, ranks, split_options())) {
      const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                         "split " + split.name);
      std::int64_t updates = 0;
      for (const auto& batches : split.ranks) updates += batches.size();
      const auto reports = on_ranks<SplitReport>(
          ranks, [&](const sync::Communicator& communicator) {
            SplitReport report;
            const auto metric = made_of(split.ranks[communicator.rank()]);
            const std::string before = metric->serialize();
            report.bytes = before.size();
            report.collectives = -communicator.collectives();
            report.value = metric->compute_results();
            report.collectives += communicator.collectives();
            metric->sync();
            report.value_synced = metric->compute_results();
            report.count_synced = metric->update_count();
            metric->unsync();
            report.restored = metric->serialize() == before;
            return report;
          });
      std::int64_t bytes = 0;
      for (const auto& report : reports) bytes = std::max(bytes, report.bytes);
      for (size_t r = 0; r < reports.size(); ++r) {
        const SplitReport& report = reports[r];
        const std::string where = "on rank " + std::to_string(r);
        EXPECT_TRUE(near(report.value, whole_, near_)) << where;
        EXPECT_TRUE(same_bits(report.value, reports[0].value)) << where;
        EXPECT_TRUE(same_bits(report.value_synced, report.value)) << where;
        EXPECT_EQ(report.count_synced, updates) << where;
        EXPECT_TRUE(report.restored)
            << "unsync() did not restore the state " << where;
        const bool eager = bytes <= sync::Exchange::eager_bytes(ranks);
        EXPECT_LE(report.collectives, ranks == 1 ? 0 : eager ? 1 : 2) << where;
      }
    }
  }

  // One batch for each rank: uneven ones, and one of no rows where allowed.
  std::vector<Batch> step(const Batch& rows, int ranks) const {
    std::vector<std::int64_t> weights(ranks, 1);
    weights.back() = 3;
    if (ranks > 2 && options_.takes_empty_batches) weights[1] = 0;
    const auto at = cuts(rows.front().size(0), weights);
    std::vector<Batch> parts;
    for (int r = 0; r < ranks; ++r) {
      parts.push_back(rows_of(rows, at[r], at[r + 1]));
    }
    return parts;
  }

  struct StepReport {
    Results first, second, total;
  };

  void check_steps(int ranks) {
    if (!fixture_.row_split) return;
    const Batch rows = joined(batches_);
    if (rows.front().size(0) < 2 * ranks && !options_.takes_empty_batches) {
      return;
    }
    const std::vector<Batch> parts = step(rows, ranks);
    const auto reports = on_ranks<StepReport>(
        ranks, [&](const sync::Communicator& communicator) {
          const int rank = communicator.rank();
          const auto metric = make(metric_options().dist_sync_on_step(true));
          StepReport report;
          report.first = forward(*metric, parts[rank]);
          report.second = forward(*metric, parts[(rank + 1) % ranks]);
          metric->reset();
          update(*metric, parts[rank]);
          report.total = metric->compute_results();
          return report;
        });
    std::vector<Batch> turned = parts;
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    const Results second = made_of({joined(turned)})->compute_results();
    for (size_t r = 0; r < reports.size(); ++r) {
      const std::string where = "on rank " + std::to_string(r);
      EXPECT_TRUE(near(reports[r].first, whole_, near_)) << where;
      EXPECT_TRUE(near(reports[r].second, second, near_)) << where;
      EXPECT_TRUE(near(reports[r].total, whole_, near_)) << where;
      EXPECT_TRUE(same_bits(reports[r].first, reports[0].first)) << where;
    }
  }

  void check_gradients() {
    GradientSubject subject;
    subject.make = [&](const MetricOptions& o) { return make(o); };
    subject.metric_options = metric_options();
    subject.rows = fixture_.row_split ? joined(batches_) : batches_.front();
    if (fixture_.row_split) {
      for (const int ranks : {2, 3}) {
        subject.steps.push_back(step(subject.rows, ranks));
      }
    }
    subject.inputs = options_.differentiable_inputs;
    subject.compare = options_.skip_gradients.count(fixture_.name) == 0;
    testing::check_gradients(subject);
  }

  const FixtureCase& fixture_;
  const MetricFactory& factory_;
  const HarnessOptions& options_;
  OptionTexts texts_;
  std::vector<Batch> batches_;
  std::vector<Batch> pristine_;
  Tolerance near_;
  Results whole_;
};

}  // namespace

void check_fixture(const std::string& fixture, const MetricFactory& factory,
                   const HarnessOptions& options) {
  const std::vector<FixtureCase> cases = read_fixture(fixture);
  ASSERT_FALSE(cases.empty());
  bool first = true;
  for (const FixtureCase& one : cases) {
    if (options.skip_cases.count(one.name) != 0) continue;
    try {
      CaseCheck(one, factory, options).run(first);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "case " << one.name
                    << " threw: " << sync::describe(error);
    }
    first = false;
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace tally::testing
