#include "tally/metrics/text/states/edit_errors.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <mutex>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/text/kernels/edit_alignment.h"
#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/token_pairs.h"
#include "tally/metrics/text/states/edit_distances.h"

namespace tally {
namespace {

namespace text = internal::text;

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

std::int64_t edits(const EditErrorsState& s) {
  return s.substitutions + s.deletions + s.insertions;
}

std::int64_t reference_tokens(const EditErrorsState& s) {
  return s.hits + s.substitutions + s.deletions;
}

std::int64_t hypothesis_tokens(const EditErrorsState& s) {
  return s.hits + s.substitutions + s.insertions;
}

// `pairs` is copied for each thread; calls see(sample, pair) for each, also
// from several threads.
template <class Pairs, class See>
EditErrorsState sum_errors(std::size_t count, const Pairs& pairs,
                           const See& see) {
  text::EditCounts sum;
  std::mutex mutex;
  text::for_each_sentence(count, [&](std::size_t begin, std::size_t end) {
    Pairs reader(pairs);
    text::EditAlignment alignment;
    text::TokenPair pair;
    text::EditCounts counts;
    for (std::size_t i = begin; i < end; ++i) {
      reader.read(i, pair);
      counts += alignment.align(pair.target, pair.preds, pair.distinct);
      see(i, pair);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    sum += counts;
  });
  return {sum.hits, sum.substitutions, sum.deletions, sum.insertions,
          static_cast<std::int64_t>(count)};
}

template <class Pairs>
EditErrorsState sum_errors(std::size_t count, const Pairs& pairs) {
  return sum_errors(count, pairs, [](std::size_t, const text::TokenPair&) {});
}

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

namespace internal::text {

double error_rate(const EditErrorsState& state) {
  const std::int64_t reference = reference_tokens(state);
  const std::int64_t errors = edits(state);
  if (state.samples == 0) return kNaN;
  return reference == 0 ? static_cast<double>(errors)
                        : ratio(errors, reference);
}

double match_error_rate(const EditErrorsState& state) {
  const std::int64_t errors = edits(state);
  if (state.samples == 0) return kNaN;
  return errors == 0 ? 0 : ratio(errors, errors + state.hits);
}

double information_preserved(const EditErrorsState& state) {
  const std::int64_t reference = reference_tokens(state);
  const std::int64_t hypothesis = hypothesis_tokens(state);
  if (state.samples == 0) return kNaN;
  if (reference == 0 && hypothesis == 0) return 1;
  if (state.hits == 0) return 0;
  return ratio(state.hits, reference) * ratio(state.hits, hypothesis);
}

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

WordErrorsState WordErrors::observe(const TextList& preds,
                                    const TextList& target) const {
  text::check_same_count(preds.size(), target.size());
  Note unsplit(text::kUnsplit);
  unsplit.add_rows(static_cast<std::int64_t>(preds.size()));
  std::mutex mutex;
  const EditErrorsState errors =
      sum_errors(preds.size(), text::WordPairs(preds, target, split_),
                 [&](std::size_t i, const text::TokenPair& pair) {
                   if (text::is_unsplit(preds[i], pair.preds.size()) ||
                       text::is_unsplit(target[i], pair.target.size())) {
                     Note mark(text::kUnsplit);
                     mark.mark(static_cast<std::int64_t>(i));
                     const std::lock_guard<std::mutex> lock(mutex);
                     unsplit.add_marks(mark);
                   }
                 });
  return {errors, unsplit};
}

EditErrorsState CharErrors::observe(const TextList& preds,
                                    const TextList& target) const {
  text::check_same_count(preds.size(), target.size());
  return sum_errors(preds.size(),
                    text::CharPairs(preds, target,
                                    strip_ ? text::TextEnds::kStripped
                                           : text::TextEnds::kKept));
}

EditErrorsState TokenErrors::observe(const at::Tensor& preds,
                                     const at::Tensor& target) const {
  const text::IdPairs pairs(preds, target, ignore_index_);
  return sum_errors(pairs.size(), pairs);
}

void EditDistanceOptions::validate(const char* metric) const {
  check_cost(metric, substitution_cost_);
}

void TokenEditDistanceOptions::validate(const char* metric) const {
  check_cost(metric, substitution_cost_);
}

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
