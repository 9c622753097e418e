#include "tally/metrics/text/states/edit_distances.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/metrics/text/kernels/edit_alignment.h"
#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/token_pairs.h"

namespace tally {
namespace {

namespace text = internal::text;

void check_cost(const char* metric, std::int64_t cost) {
  TORCH_CHECK_VALUE(cost >= 0, metric,
                    ": expected substitution_cost to be at least 0, got ",
                    cost);
}

// A deletion and an insertion do what a substitution does that costs 2 or more;
// one that costs nothing leaves the difference of the lengths.
std::int64_t distance_of(const text::TokenPair& pair, std::int64_t cost,
                         text::EditAlignment& alignment) {
  const auto preds = static_cast<std::int64_t>(pair.preds.size());
  const auto target = static_cast<std::int64_t>(pair.target.size());
  if (cost == 0) return std::max(preds, target) - std::min(preds, target);
  if (cost == 1) {
    return alignment.levenshtein(pair.target, pair.preds, pair.distinct);
  }
  return preds + target -
         2 * alignment.common_length(pair.target, pair.preds, pair.distinct);
}

// `pairs` is copied for each thread.
template <class Pairs, class Options>
EditDistancesState distances_of(std::size_t count, const Pairs& pairs,
                                const Options& options) {
  const at::Tensor rows =
      at::empty({static_cast<std::int64_t>(count)}, at::kLong);
  auto* const distances = rows.data_ptr<std::int64_t>();
  text::for_each_sentence(count, [&](std::size_t begin, std::size_t end) {
    Pairs reader(pairs);
    text::EditAlignment alignment;
    text::TokenPair pair;
    for (std::size_t i = begin; i < end; ++i) {
      reader.read(i, pair);
      distances[i] = distance_of(pair, options.substitution_cost(), alignment);
    }
  });
  EditDistancesState state;
  state.total = rows.size(0);
  if (options.reduction() == SentenceReduction::kNone) {
    state.distances = Rows(rows);
  } else {
    for (std::size_t i = 0; i < count; ++i) state.sum += distances[i];
  }
  return state;
}

}  // namespace

void EditDistanceOptions::validate(const char* metric) const {
  check_cost(metric, substitution_cost_);
}

void TokenEditDistanceOptions::validate(const char* metric) const {
  check_cost(metric, substitution_cost_);
}

namespace internal::text {

at::Tensor reduce_distances(const EditDistancesState& state,
                            SentenceReduction reduction) {
  switch (reduction) {
    case SentenceReduction::kMean:
      return Number(state.sum) / Number(state.total);
    case SentenceReduction::kSum:
      return scalar_tensor(state.sum);
    case SentenceReduction::kNone:
      break;
  }
  return state.distances.defined() ? state.distances.tensor()
                                   : at::empty({0}, at::kLong);
}

}  // namespace internal::text

EditDistancesState CharEditDistances::observe(const TextList& preds,
                                              const TextList& target) const {
  text::check_same_count(preds.size(), target.size());
  return distances_of(preds.size(),
                      text::CharPairs(preds, target, text::TextEnds::kKept),
                      options_);
}

EditDistancesState TokenEditDistances::observe(const at::Tensor& preds,
                                               const at::Tensor& target) const {
  const text::IdPairs pairs(preds, target, options_.ignore_index());
  return distances_of(pairs.size(), pairs, options_);
}

}  // namespace tally
