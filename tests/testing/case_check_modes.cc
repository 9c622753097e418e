#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <optional>

#include "tally/tests/testing/case_check.h"
#include "tally/tests/testing/drive.h"

namespace tally::testkit {
namespace {

using sync::GradientFlow;

// What a rank does beside others: nothing special, with a graph, or in
// inference mode.
enum class Mode { kPlain, kGraph, kInference };

// So many elements are more than one thread takes.
constexpr std::int64_t kElements = 140'000;

// Inference tensors.
Batch inference_copy(const Batch& batch) {
  const c10::InferenceMode inference;
  return copy_of(batch);
}

// In float64, as graphs are, so that the ranks' states fit together.
Batch wide_copy(const Batch& batch) { return with_graph(batch, {}); }

Batch tiled(const Batch& rows) {
  std::int64_t longest = 1;
  for (const FixtureInput& input : rows) {
    longest = std::max(
        longest, input.is_tensor() ? input.tensor().numel() : input.rows());
  }
  const std::int64_t times = (kElements + longest - 1) / longest;
  Batch result;
  for (const FixtureInput& input : rows) {
    result.push_back(input.repeated(times));
  }
  return result;
}

// The gradient of the sum of all that is finite, by each input; undefined where
// there is none.
std::vector<at::Tensor> gradients_of(
    Metric& metric, const Batch& rows,
    const std::vector<std::size_t>& differentiable) {
  const Batch inputs = with_graph(rows, differentiable);
  for (const auto& [name, part] : forward(metric, inputs)) {
    if (part.requires_grad()) {
      part.nan_to_num(0, 0, 0).sum().backward({}, /*retain_graph=*/true);
    }
  }
  std::vector<at::Tensor> gradients;
  for (const FixtureInput& input : inputs) {
    gradients.push_back(input.is_tensor() ? input.tensor().grad()
                                          : at::Tensor());
  }
  return gradients;
}

struct ModesReport {
  Results step, total;
};

}  // namespace

void CaseCheck::check_inference() {
  const std::vector<Batch> batches =
      splits_of(fixture_, 1, split_options()).front().ranks.front();
  const auto expected = made_of(batches);
  const Results state = expected->state();
  const Results value = expected->compute_results();
  for (const std::size_t first : {0, 1}) {
    std::unique_ptr<Metric> metric;
    {
      const c10::InferenceMode inference;
      metric = make();
    }
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const Batch given = inference_copy(batches[i]);
      std::optional<c10::InferenceMode> inference;
      if (i % 2 == first) inference.emplace();
      update(*metric, i % 3 == 0 ? given : batches[i]);
    }
    EXPECT_TRUE(same_bits(metric->state(), state));
    std::unique_ptr<Metric> loaded, merged;
    {
      const c10::InferenceMode inference;
      EXPECT_TRUE(same_bits(metric->compute_results(), value));
      loaded = make();
      const absl::Status status = loaded->deserialize(metric->serialize());
      EXPECT_TRUE(status.ok()) << status.ToString();
      merged = make();
      merged->merge_state(*metric);
      update(*merged, batches);
    }
    EXPECT_TRUE(same_bits(metric->compute_results(), value));
    for (const auto& other : {loaded->clone(), merged->clone()}) {
      update(*other, batches);
      update(*other, batches);
    }
    update(*loaded, batches);
    EXPECT_TRUE(same_bits(loaded->state(), merged->state()))
        << "what was loaded or merged in inference mode";
  }
}

void CaseCheck::check_inference_gradients() {
  if (batches_.empty()) return;
  const auto fresh = make();
  const std::vector<at::Tensor> expected =
      gradients_of(*fresh, batches_[0], options_.differentiable_inputs);
  std::unique_ptr<Metric> metric;
  {
    const c10::InferenceMode inference;
    metric = make();
    for (const auto& [name, part] : forward(*metric, copy_of(batches_[0]))) {
      EXPECT_FALSE(part.requires_grad()) << "'" << name << "'";
    }
    metric->compute_results();
  }
  if (!options_.outlasts_reset) metric->reset();
  const std::vector<at::Tensor> gradients =
      gradients_of(*metric, batches_[0], options_.differentiable_inputs);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_TRUE(same_bits(gradients[i], expected[i]))
        << "gradient " << i << " after inference mode";
  }
}

void CaseCheck::check_modes() {
  constexpr int kRanks = 3;
  const bool differentiable = make()->is_differentiable();
  const std::vector<std::vector<Mode>> patterns = {
      {Mode::kGraph, Mode::kPlain, Mode::kPlain},
      {Mode::kPlain, Mode::kGraph, Mode::kPlain},
      {Mode::kInference, Mode::kPlain, Mode::kGraph}};
  std::vector<Batch> parts;
  if (fixture_.row_split) {
    parts = step(joined(batches_), kRanks);
  } else {
    for (int r = 0; r < kRanks; ++r) {
      parts.push_back(batches_[r % batches_.size()]);
    }
  }
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    for (const GradientFlow flow :
         {GradientFlow::kReplicated, GradientFlow::kLocal,
          GradientFlow::kAllRanks}) {
      const bool records = flow != GradientFlow::kAllRanks || p < 2;
      if (!records || (!differentiable && flow != GradientFlow::kReplicated)) {
        continue;
      }
      const ::testing::ScopedTrace trace(
          __FILE__, __LINE__, c10::str("pattern ", p, ", ", to_string(flow)));
      const auto reports = on_ranks<ModesReport>(
          kRanks, [&](const sync::Communicator& communicator) {
            const Mode mode = patterns[p][communicator.rank()];
            const Batch& rows = parts[communicator.rank()];
            const Batch inputs =
                mode == Mode::kGraph
                    ? with_graph(rows, options_.differentiable_inputs)
                    : wide_copy(rows);
            const auto metric = make(
                metric_options().dist_sync_on_step(true).gradient_flow(flow));
            std::optional<c10::InferenceMode> inference;
            if (mode == Mode::kInference) inference.emplace();
            ModesReport report;
            report.step = forward(*metric, inputs);
            inference.reset();
            update(*metric, inputs);
            report.total = metric->compute_results();
            return report;
          });
      for (std::size_t r = 0; r < reports.size(); ++r) {
        const std::string where = "on rank " + std::to_string(r);
        EXPECT_TRUE(same_bits(reports[r].step, reports[0].step)) << where;
        EXPECT_TRUE(same_bits(reports[r].total, reports[0].total)) << where;
      }
    }
  }
}

void CaseCheck::check_threads() {
  if (!fixture_.row_split || options_.threads_matter) return;
  const Batch rows = joined(batches_);
  if (rows.front().rows() == 0) return;
  const std::vector<Batch> many = {tiled(rows)};
  const int before = at::get_num_threads();
  std::vector<Results> values;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    values.push_back(made_of(many)->compute_results());
    EXPECT_TRUE(same_bits(values.back(), values.front()))
        << "with " << threads << " threads";
  }
  at::set_num_threads(before);
}

}  // namespace tally::testkit
