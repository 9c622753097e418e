#include "tally/tests/testing/case_check.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tally/tests/testing/drive.h"

namespace tally::testkit {
namespace {

Results copy_of(const Results& results) {
  Results copy;
  for (const auto& [name, value] : results) {
    copy.add(name, value.defined() ? value.detach().clone() : value);
  }
  return copy;
}

// Other values in the same memory.
void scramble(const at::Tensor& tensor) { FixtureInput(tensor).scramble(); }

}  // namespace

CaseCheck::CaseCheck(const FixtureCase& fixture, const MetricFactory& factory,
                     const HarnessOptions& options)
    : fixture_(fixture), factory_(factory), options_(options) {
  for (const auto& [name, text] : fixture.options) {
    if (options.strip_options.count(name) == 0) texts_[name] = text;
  }
  if (options.adapt_options) options.adapt_options(fixture, texts_);
  for (Batch& batch : fixture_.batches) {
    for (FixtureInput& input : batch) input.set_ragged(options.ragged_input);
    if (options.takes_empty_batches || batch.front().rows() != 0) {
      batches_.push_back(batch);
      pristine_.push_back(testkit::copy_of(batch));
    }
  }
  double largest = 1;
  for (const Batch& batch : batches_) {
    for (const FixtureInput& input : batch) {
      if (!input.is_floating() || input.tensor().numel() == 0) continue;
      const double most =
          input.tensor().nan_to_num(0, 0, 0).abs().max().item<double>();
      largest = std::max(largest, most);
    }
  }
  near_ = {options.split_rtol, 1e-2 * options.split_rtol * largest};
}

void CaseCheck::run(bool with_files) {
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
  check("modes of ranks", [&] { check_modes(); });
  check("inference mode", [&] { check_inference(); });
  check("gradients after inference mode", [&] { check_inference_gradients(); });
  check("threads", [&] { check_threads(); });
  check("gradients", [&] { check_gradients(); });
  check("inputs", [&] {
    for (size_t i = 0; i < batches_.size(); ++i) {
      for (size_t k = 0; k < batches_[i].size(); ++k) {
        EXPECT_TRUE(same(batches_[i][k], pristine_[i][k]))
            << "input " << k << " of batch " << i << " was changed";
      }
    }
  });
}

std::unique_ptr<Metric> CaseCheck::made_of(
    const std::vector<Batch>& batches) const {
  auto metric = make();
  update(*metric, batches);
  return metric;
}

void CaseCheck::check_reference() {
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
  EXPECT_TRUE(same_dtypes(whole_, expected));
  EXPECT_TRUE(same_bits(metric->compute_results(), whole_));
  EXPECT_EQ(metric->update_count(), batches_.size());
  EXPECT_EQ(metric->status(), MetricState::kUpdated);
}

void CaseCheck::check_merges() {
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

void CaseCheck::check_forward() {
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

void CaseCheck::check_copies() {
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
  EXPECT_EQ(metric->status(), MetricState::kEmpty);
  if (options_.outlasts_reset) return;
  EXPECT_EQ(metric->serialize(), make()->serialize());
  update(*metric, batches_);
  EXPECT_TRUE(same_bits(metric->compute_results(), whole_));
}

void CaseCheck::check_files() {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path =
      std::string(folder ? folder : "/tmp") + "/" + make()->name() + ".harness";
  absl::Status status = made_of(batches_)->save(path);
  ASSERT_TRUE(status.ok()) << status.ToString();
  const auto loaded = make();
  status = loaded->load(path);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(same_bits(loaded->compute_results(), whole_));
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

void CaseCheck::check_aliases() {
  const auto metric = make();
  std::vector<Batch> given;
  std::vector<Results> values;
  std::vector<Results> copies;
  for (const Batch& batch : batches_) {
    given.push_back(testkit::copy_of(batch));
    values.push_back(forward(*metric, given.back()));
    copies.push_back(copy_of(values.back()));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_TRUE(same_bits(values[i], copies[i]))
        << "the value of batch " << i << " changed later";
    for (size_t k = 0; k < given[i].size(); ++k) {
      EXPECT_TRUE(same(given[i][k], batches_[i][k]))
          << "input " << k << " of batch " << i << " was changed";
      given[i][k].scramble();
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

void CaseCheck::check_strides() {
  const auto metric = make();
  for (const Batch& batch : batches_) {
    Batch apart;
    for (const FixtureInput& input : batch) {
      apart.push_back(input.with_tensors([](const at::Tensor& tensor) {
        std::vector<std::int64_t> sizes = tensor.sizes().vec();
        sizes.push_back(2);
        return tensor.unsqueeze(-1).expand(sizes).contiguous().select(-1, 0);
      }));
    }
    update(*metric, apart);
  }
  EXPECT_TRUE(near(metric->compute_results(), whole_, near_));
}

}  // namespace tally::testkit
