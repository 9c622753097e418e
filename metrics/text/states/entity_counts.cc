#include "tally/metrics/text/states/entity_counts.h"

#include <c10/util/Exception.h>

#include <mutex>
#include <string_view>
#include <vector>

#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/tag_entities.h"
#include "tally/metrics/text/kernels/token_ids.h"
#include "tally/metrics/text/states/count_tensors.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace {

namespace text = internal::text;

constexpr std::int64_t kColumns = 4;

void add(text::CountsByType& sums, std::string_view name,
         const text::TypeCounts& counts) {
  auto at = sums.find(name);
  if (at == sums.end()) at = sums.emplace(name, text::TypeCounts()).first;
  at->second.matches += counts.matches;
  at->second.preds += counts.preds;
  at->second.target += counts.target;
}

EntityCounts::State state_of(const text::CountsByType& sums) {
  EntityCounts::State state;
  if (sums.empty()) return state;
  std::string names;
  at::Tensor counts = internal::fresh_tensor(
      {static_cast<std::int64_t>(sums.size()), kColumns}, at::kLong);
  auto* row = counts.mutable_data_ptr<std::int64_t>();
  for (const auto& [name, type] : sums) {
    names += name;
    *row++ = static_cast<std::int64_t>(name.size());
    *row++ = type.matches;
    *row++ = type.preds;
    *row++ = type.target;
  }
  state.names = Rows(internal::tensor_of(names));
  state.counts = Rows(std::move(counts));
  return state;
}

// Counts the entities of a range of sentences.
class EntityCounter {
 public:
  explicit EntityCounter(const text::TagRules& rules) : reader_(rules) {}

  void count(const TextList& preds, const TextList& target,
             std::size_t sample) {
    TORCH_CHECK_VALUE(preds.size() == target.size(),
                      "expected as many tags in preds as in target, got ",
                      preds.size(), " and ", target.size(), " in sample ",
                      sample);
    reader_.read(preds, "preds", sample, types_, preds_);
    reader_.read(target, "target", sample, types_, target_);
    counts_.resize(types_.size());
    for (const auto& entity : preds_) ++counts_[entity.type].preds;
    // Both are in the order of their ends, which no two of one side share.
    auto expected = target_.begin();
    for (const auto& entity : preds_) {
      while (expected != target_.end() && expected->end < entity.end) {
        ++expected;
      }
      if (expected == target_.end()) break;
      counts_[entity.type].matches += *expected == entity;
    }
    for (const auto& entity : target_) ++counts_[entity.type].target;
  }

  void add_to(text::CountsByType& sums) const {
    for (std::uint32_t type = 0; type < counts_.size(); ++type) {
      const text::TypeCounts& counts = counts_[type];
      if (counts.preds + counts.target > 0) {
        add(sums, types_.token(type), counts);
      }
    }
  }

 private:
  using Entity = text::TagEntities::Entity;

  text::TagEntities reader_;
  text::TokenIds types_;
  std::vector<text::TypeCounts> counts_;
  std::vector<Entity> preds_, target_;
};

}  // namespace

void EntityScoreOptions::validate(const char* metric) const {
  const bool is_strict = mode_ == TagMode::kStrict;
  TORCH_CHECK_VALUE(!is_strict || scheme_, metric,
                    ": expected a scheme with mode strict, got none");
  TORCH_CHECK_VALUE(is_strict || !scheme_, metric,
                    ": expected mode strict with a scheme, got default, which "
                    "has no scheme");
  TORCH_CHECK_VALUE(zero_division_ == 0 || zero_division_ == 1, metric,
                    ": expected zero_division 0 or 1, got ", zero_division_);
}

text::CountsByType text::counts_by_type(const EntityCounts::State& state) {
  CountsByType sums;
  if (!state.counts.defined() || state.counts.size() == 0) return sums;
  const at::Tensor counts =
      checked_counts(state.counts.tensor(), {state.counts.size(), kColumns});
  TORCH_CHECK_VALUE(state.names.defined() &&
                        state.names.tensor().scalar_type() == at::kByte &&
                        state.names.tensor().dim() == 1,
                    "expected names of types, uint8 [bytes]");
  const at::Tensor bytes = state.names.tensor().cpu().contiguous();
  std::string_view names(
      reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>()),
      static_cast<std::size_t>(bytes.numel()));
  const auto* row = counts.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < counts.size(0); ++i, row += kColumns) {
    TORCH_CHECK_VALUE(
        row[0] >= 0 && row[0] <= static_cast<std::int64_t>(names.size()),
        "expected names of ", counts.size(0), " types, got fewer bytes");
    const auto size = static_cast<std::size_t>(row[0]);
    add(sums, names.substr(0, size), {row[1], row[2], row[3]});
    names.remove_prefix(size);
  }
  return sums;
}

EntityCounts::State EntityCounts::State::merge(const State& a, const State& b) {
  if (b.counts.size() == 0) return a;
  if (a.counts.size() == 0) return b;
  text::CountsByType sums = text::counts_by_type(a);
  for (const auto& [name, counts] : text::counts_by_type(b)) {
    add(sums, name, counts);
  }
  return state_of(sums);
}

EntityCounts::State EntityCounts::observe(const TextLists& preds,
                                          const TextLists& target) const {
  text::check_same_count(preds.size(), target.size());
  text::CountsByType sums;
  std::mutex mutex;
  text::for_each_sentence(preds.size(),
                          [&](std::size_t begin, std::size_t end) {
                            EntityCounter counter(rules_);
                            for (std::size_t i = begin; i < end; ++i) {
                              counter.count(preds[i], target[i], i);
                            }
                            const std::lock_guard<std::mutex> lock(mutex);
                            counter.add_to(sums);
                          });
  return state_of(sums);
}

}  // namespace tally
