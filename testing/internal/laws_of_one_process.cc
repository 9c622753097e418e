#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

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

}  // namespace

void LawCheck::check_identity() {
  const auto metric = made_of(batches());
  const auto onto_fresh = make();
  onto_fresh->merge_state(*metric);
  const auto with_fresh = metric->clone();
  with_fresh->merge_state(*make());
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
  findings_.expect(cut->status() == MetricState::kEmpty,
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
  findings_.expect(metric->status() == MetricState::kEmpty,
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

}  // namespace tally::testkit::internal
