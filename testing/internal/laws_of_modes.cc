#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "tally/testing/internal/law_check.h"

namespace tally::testkit::internal {
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

// The elements of a tensor, the rows of others; of texts the characters, and
// for each some more.
std::int64_t elements_of(const BatchInput& input) {
  if (input.is_tensor()) return input.tensor().numel();
  std::size_t count = static_cast<std::size_t>(input.rows());
  if (const auto* texts = std::get_if<BatchInput::Texts>(&input.content())) {
    constexpr std::size_t kEach = 63;
    for (const std::string& text : *texts) count += kEach + text.size();
  }
  return static_cast<std::int64_t>(count);
}

Batch tiled(const Batch& rows) {
  std::int64_t longest = 1;
  for (const BatchInput& input : rows) {
    longest = std::max(longest, elements_of(input));
  }
  const std::int64_t times = (kElements + longest - 1) / longest;
  Batch result;
  for (const BatchInput& input : rows) {
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
  for (const BatchInput& input : inputs) {
    gradients.push_back(input.is_tensor() ? input.tensor().grad()
                                          : at::Tensor());
  }
  return gradients;
}

// Puts the number of threads back.
class ThreadsAside {
 public:
  ThreadsAside() = default;
  ~ThreadsAside() { at::set_num_threads(before_); }
  ThreadsAside(const ThreadsAside&) = delete;
  ThreadsAside& operator=(const ThreadsAside&) = delete;

 private:
  const int before_ = at::get_num_threads();
};

struct ModesReport {
  Results step, total;
};

}  // namespace

void LawCheck::check_inference() {
  const std::vector<Batch> batches = splits(1).front().ranks.front();
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
    findings_.expect(same_bits(metric->state(), state),
                     "updates in inference mode give a different state");
    std::unique_ptr<Metric> loaded, merged;
    {
      const c10::InferenceMode inference;
      findings_.expect(same_bits(metric->compute_results(), value),
                       "compute() in inference mode gives a different value");
      loaded = make();
      findings_.expect(loaded->deserialize(metric->serialize()).ok(),
                       "its own bytes are rejected in inference mode");
      merged = make();
      merged->merge_state(*metric);
      update(*merged, batches);
    }
    findings_.expect(same_bits(metric->compute_results(), value),
                     "after inference mode compute() gives a different value");
    for (const auto& other : {loaded->clone(), merged->clone()}) {
      update(*other, batches);
      update(*other, batches);
    }
    update(*loaded, batches);
    findings_.expect(
        same_bits(loaded->state(), merged->state()),
        "a metric loaded or merged in inference mode continues differently");
  }
}

void LawCheck::check_inference_gradients() {
  if (batches().empty()) return;
  const auto fresh = make();
  const std::vector<at::Tensor> expected =
      gradients_of(*fresh, batches()[0], options().differentiable_inputs());
  std::unique_ptr<Metric> metric;
  {
    const c10::InferenceMode inference;
    metric = make();
    for (const auto& [name, part] : forward(*metric, copy_of(batches()[0]))) {
      findings_.expect(!part.requires_grad(),
                       "a value in inference mode has a graph");
    }
    metric->compute_results();
  }
  if (obeys(MetricLaw::kReset)) metric->reset();
  const std::vector<at::Tensor> gradients =
      gradients_of(*metric, batches()[0], options().differentiable_inputs());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    findings_.expect(same_bits(gradients[i], expected[i]),
                     "after inference mode gradients are different");
  }
}

void LawCheck::check_mixed_ranks() {
  if (batches().empty() || few_ranks().empty()) return;
  const int ranks = few_ranks().back();
  const bool differentiable = make()->is_differentiable();
  const std::vector<std::vector<Mode>> patterns = {
      {Mode::kGraph, Mode::kPlain, Mode::kPlain},
      {Mode::kPlain, Mode::kGraph, Mode::kPlain},
      {Mode::kInference, Mode::kPlain, Mode::kGraph}};
  std::vector<Batch> parts;
  if (subject_.cut_rows) {
    parts = step_of(joined(batches()), ranks, options().takes_empty_batches());
  } else {
    for (int r = 0; r < ranks; ++r) {
      parts.push_back(batches()[r % batches().size()]);
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
      const Findings::Within within(
          findings_, c10::str("over ", ranks, " ranks, pattern ", p, ", ",
                              to_string(flow)));
      const auto reports = on_ranks<ModesReport>(
          ranks, findings_, [&](const sync::Communicator& communicator) {
            const Mode mode = patterns[p][communicator.rank() % 3];
            const Batch& rows = parts[communicator.rank()];
            const Batch inputs =
                mode == Mode::kGraph
                    ? with_graph(rows, options().differentiable_inputs())
                    : wide_copy(rows);
            const auto metric = make(MetricOptions(metric_options())
                                         .dist_sync_on_step(true)
                                         .gradient_flow(flow));
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
        const Findings::Within where(findings_, "on rank " + std::to_string(r));
        findings_.expect(same_bits(reports[r].step, reports[0].step),
                         "a synced forward() differs from rank 0's");
        findings_.expect(same_bits(reports[r].total, reports[0].total),
                         "the value differs from rank 0's");
      }
    }
  }
}

void LawCheck::check_threads() {
  if (!subject_.cut_rows) return;
  const Batch rows = joined(batches());
  if (rows.front().rows() == 0) return;
  const std::vector<Batch> many = {tiled(rows)};
  const ThreadsAside threads_aside;
  std::vector<Results> values;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    values.push_back(made_of(many)->compute_results());
  }
  const double rtol = options().threads_rtol();
  for (const Results& value : values) {
    findings_.expect(rtol == 0 ? same_bits(value, values.front())
                               : near(value, values.front(), tolerance(rtol)),
                     "the value depends on the number of threads");
  }
}

}  // namespace tally::testkit::internal
