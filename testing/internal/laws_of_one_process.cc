#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/testing/internal/law_check.h"

namespace tally::testkit::internal {
namespace {

Results copies_of(const Results& results) {
  Results copy;
  for (const auto& [name, value] : results) {
    copy.add(name, value.defined() ? value.detach().clone() : value);
  }
  return copy;
}

// Other values in the same memory.
void scramble(const at::Tensor& tensor) { BatchInput(tensor).scramble(); }

void scramble(const Results& results) {
  for (const auto& [name, value] : results) scramble(value);
}

struct PredsAndTarget {
  std::size_t preds, target;
};

// Where they are among the inputs, if the target could be the prediction.
std::optional<PredsAndTarget> comparable(const Metric& metric,
                                         const std::vector<Batch>& batches) {
  const auto declared = metric.inputs();
  const auto place_of = [&](std::string_view name) {
    return static_cast<std::size_t>(
        std::find_if(
            declared.begin(), declared.end(),
            [&](const InputInfo& input) { return input.name == name; }) -
        declared.begin());
  };
  const PredsAndTarget at{place_of("preds"), place_of("target")};
  for (const Batch& batch : batches) {
    if (std::max(at.preds, at.target) >=
        std::min(batch.size(), declared.size())) {
      return std::nullopt;
    }
    const BatchInput &preds = batch[at.preds], &target = batch[at.target];
    if (!preds.is_tensor() || !target.is_tensor() ||
        preds.is_floating() != target.is_floating() ||
        preds.tensor().dim() == 0 ||
        preds.tensor().sizes() != target.tensor().sizes()) {
      return std::nullopt;
    }
  }
  return at;
}

// A prediction between two: floating-point ones are mixed, so that a metric
// takes the result if it takes both; of others each element is of either.
at::Tensor between(const at::Tensor& target, const at::Tensor& other,
                   double share, std::mt19937_64& random) {
  if (at::isFloatingType(target.scalar_type())) {
    return target.to(at::kDouble)
        .mul(1 - share)
        .add(other.to(at::kDouble).mul(share))
        .to(other.scalar_type());
  }
  std::vector<double> draws(static_cast<std::size_t>(target.numel()));
  std::uniform_real_distribution<double> uniform;
  for (double& draw : draws) draw = uniform(random);
  const at::Tensor is_other =
      at::tensor(draws, at::kDouble).lt(share).reshape(target.sizes());
  return at::where(is_other.to(target.device()), other,
                   target.to(other.scalar_type()));
}

at::Tensor shuffled(const at::Tensor& rows, std::mt19937_64& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.size(0)));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return rows.index_select(0, at::tensor(order, at::kLong).to(rows.device()));
}

}  // namespace

void LawCheck::check_identity() {
  const auto metric = made_of(batches());
  const auto onto_fresh = make();
  onto_fresh->merge_state(*metric);
  const auto with_fresh = metric->clone();
  with_fresh->merge_state(*make());
  // A merge may reduce a state, at most as far as computing does.
  for (const auto* each : {&metric, &onto_fresh, &with_fresh}) {
    (*each)->compute_results();
  }
  findings_.expect(near(onto_fresh->state(), metric->state()),
                   "a fresh metric that merges another has a different state");
  findings_.expect(near(with_fresh->state(), metric->state()),
                   "merging a fresh metric changes the state");
  findings_.expect_equal(onto_fresh->update_count(), metric->update_count(),
                         "the update count after a merge");
  findings_.expect_equal(with_fresh->update_count(), metric->update_count(),
                         "the update count after a merge");
}

void LawCheck::check_associativity() {
  const Split parts = splits(3).front();
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
  findings_.expect(near(left->compute_results(), whole(), near_),
                   "(a + b) + c is not the value of all rows");
  findings_.expect(near(right->compute_results(), whole(), near_),
                   "a + (b + c) is not the value of all rows");
  findings_.expect_equal(left->update_count(), right->update_count(),
                         "the update count depends on the order of merges");
  findings_.expect_equal(
      left->update_count(),
      a->update_count() + b->update_count() + c->update_count(),
      "the update count after merges");
  findings_.expect(b->serialize() + c->serialize() == before,
                   "merge_state() changed the metric that it merged");
}

void LawCheck::check_forward() {
  const auto forwarded = make();
  for (std::size_t i = 0; i < batches().size(); ++i) {
    const Findings::Within within(findings_, "batch " + std::to_string(i));
    const Results value = forward(*forwarded, batches()[i]);
    findings_.expect(
        near(value, made_of({batches()[i]})->compute_results(), near_),
        "forward() does not return the value of its batch");
  }
  const auto updated = made_of(batches());
  findings_.expect(same_bits(forwarded->state(), updated->state()),
                   "forward() accumulates a different state than update()");
  findings_.expect(same_bits(forwarded->compute_results(), whole()),
                   "after forward() compute() gives a different value");
  findings_.expect_equal(forwarded->update_count(), updated->update_count(),
                         "the update count after forward()");
}

void LawCheck::check_save_and_load() {
  const auto metric = made_of(batches());
  const std::string bytes = metric->serialize();
  const auto loaded = make();
  const absl::Status status = loaded->deserialize(bytes);
  if (!status.ok()) {
    findings_.add("its own bytes are rejected", status.ToString());
    return;
  }
  findings_.expect(loaded->serialize() == bytes,
                   "a loaded metric is saved as different bytes");
  findings_.expect_equal(loaded->update_count(), metric->update_count(),
                         "the update count of a loaded metric");
  findings_.expect(same_bits(loaded->compute_results(), whole()),
                   "a loaded metric has a different value");
  loaded->merge_state(*metric);
  const auto twice = metric->clone();
  twice->merge_state(*metric);
  findings_.expect(near(loaded->compute_results(), twice->compute_results()),
                   "a loaded metric continues differently from the saved one");

  const auto cut = make();
  findings_.expect(!cut->deserialize(bytes.substr(0, bytes.size() - 1)).ok(),
                   "bytes without the last one are accepted");
  findings_.expect(cut->status() == MetricStatus::kEmpty,
                   "rejected bytes change the metric");
  if (subject_.with_files) check_file();
}

void LawCheck::check_file() {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder ? folder : "/tmp") + "/" +
                           make()->name() + '.' + std::to_string(getpid()) +
                           ".law";
  absl::Status status = made_of(batches())->save(path);
  const auto loaded = make();
  if (status.ok()) status = loaded->load(path);
  std::remove(path.c_str());
  if (!status.ok()) {
    findings_.add("a file could not be written and read", status.ToString());
    return;
  }
  findings_.expect(same_bits(loaded->compute_results(), whole()),
                   "a metric loaded from a file has a different value");
}

void LawCheck::check_clone() {
  const auto metric = made_of(batches());
  const std::string bytes = metric->serialize();
  const auto copy = metric->clone();
  findings_.expect(copy->serialize() == bytes, "a clone has a different state");
  findings_.expect_equal(copy->repr(), metric->repr(), "the clone's options");
  update(*copy, batches());
  findings_.expect(metric->serialize() == bytes,
                   "an update of a clone changes the original");
  const std::string twice = copy->serialize();
  update(*metric, batches());
  findings_.expect(copy->serialize() == twice,
                   "an update of the original changes a clone");
  findings_.expect(metric->serialize() == twice,
                   "a clone accumulates differently from the original");
}

void LawCheck::check_reset() {
  const auto metric = made_of(batches());
  metric->reset();
  findings_.expect(metric->status() == MetricStatus::kEmpty,
                   "after reset() the metric is not empty");
  findings_.expect(metric->serialize() == make()->serialize(),
                   "after reset() the state is not that of a fresh metric");
  update(*metric, batches());
  findings_.expect(same_bits(metric->compute_results(), whole()),
                   "something survives reset()");
}

void LawCheck::check_aliases() {
  const auto metric = make();
  const auto undisturbed = make();
  std::vector<Results> values, copies;
  for (std::size_t i = 0; i < batches().size(); ++i) {
    Batch given = testkit::copy_of(batches()[i]);
    forward(*undisturbed, testkit::copy_of(given));
    values.push_back(forward(*metric, given));
    copies.push_back(copies_of(values.back()));
    for (std::size_t k = 0; k < given.size(); ++k) {
      const Findings::Within within(findings_,
                                    c10::str("batch ", i, ", input ", k));
      findings_.expect(same(given[k], batches()[i][k]),
                       "update() changes its input");
      given[k].scramble();
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Findings::Within within(findings_, c10::str("batch ", i));
    findings_.expect(same_bits(values[i], copies[i]),
                     "a value changes after it was returned");
    scramble(values[i]);
  }
  const Results expected = undisturbed->compute_results();
  const Results value = metric->compute_results();
  findings_.expect(
      same_bits(value, expected),
      "a change of an input, or of a returned value, affects the metric");
  const std::string before = metric->serialize();
  scramble(value);
  scramble(metric->state());
  findings_.expect(same_bits(metric->compute_results(), expected),
                   "a change of the result affects the next one");
  findings_.expect(metric->serialize() == before,
                   "a change of the result changes the state");
}

void LawCheck::check_layout() {
  const auto metric = make();
  for (const Batch& batch : batches()) {
    Batch apart;
    for (const BatchInput& input : batch) {
      apart.push_back(input.with_tensors([](const at::Tensor& tensor) {
        std::vector<std::int64_t> sizes = tensor.sizes().vec();
        sizes.push_back(2);
        return tensor.unsqueeze(-1).expand(sizes).contiguous().select(-1, 0);
      }));
    }
    update(*metric, apart);
  }
  findings_.expect(near(metric->compute_results(), whole(), near_),
                   "non-contiguous inputs give a different value");
}

void LawCheck::check_best() {
  const std::optional<bool> higher = make()->higher_is_better();
  const auto at = comparable(*make(), batches());
  if (!higher || !at) return;
  std::mt19937_64 random(subject_.seed);
  const auto value_of = [&](double share, bool of_target) {
    std::vector<Batch> guesses = batches();
    for (Batch& batch : guesses) {
      const at::Tensor& target = batch[at->target].tensor();
      const at::Tensor& preds = batch[at->preds].tensor();
      const at::Tensor other =
          of_target ? shuffled(target, random).to(preds.scalar_type()) : preds;
      batch[at->preds] = between(target, other, share, random);
    }
    try {
      const Results results = made_of(guesses)->compute_results();
      return results.contains("") ? results[""].to(at::kDouble) : at::Tensor();
    } catch (const c10::Error&) {
      return at::Tensor();  // Of a prediction that the metric does not take.
    }
  };
  const at::Tensor best = value_of(0, false);
  if (!best.defined()) return;
  for (const bool of_target : {false, true}) {
    for (const double share : {0.01, 0.3, 1.0}) {
      const at::Tensor value = value_of(share, of_target);
      if (!value.defined() || value.sizes() != best.sizes()) continue;
      const at::Tensor gain = *higher ? value.sub(best) : best.sub(value);
      const at::Tensor slack = best.abs().clamp_min(1).mul(1e-9);
      if (!gain.gt(slack).any().item<bool>()) continue;
      findings_.add("a prediction compares better than the target itself",
                    c10::str("it has ", value, ", the target ", best));
      return;
    }
  }
}

}  // namespace tally::testkit::internal
