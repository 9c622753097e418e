#include "tally/metrics/text/states/edit_errors.h"

#include <limits>
#include <mutex>

#include "tally/metrics/text/kernels/edit_alignment.h"
#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/token_pairs.h"

namespace tally {
namespace {

namespace text = internal::text;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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
                    text::CharPairs(preds, target, text::TextEnds::kStripped));
}

EditErrorsState TokenErrors::observe(const at::Tensor& preds,
                                     const at::Tensor& target) const {
  const text::IdPairs pairs(preds, target, ignore_index_);
  return sum_errors(pairs.size(), pairs);
}

}  // namespace tally
