#include "tally/metrics/text/extended_edit_distance.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tally/metrics/exact_sums.h"
#include "tally/metrics/text/kernels/extended_edits.h"
#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally {
namespace {

namespace text = internal::text;

std::u32string prepared(std::string_view sentence, SentenceLanguage language,
                        const text::TextPlace& place) {
  const std::u32string chars = text::decode_utf8(sentence, place);
  if (language == SentenceLanguage::kEnglish) return text::eed_english(chars);
  const std::u32string stripped(text::strip_end(chars));
  const std::size_t found = text::find_unnormalized(stripped);
  TORCH_CHECK_VALUE(
      found == stripped.size(), "expected ", place.input,
      " in Unicode's normalization form NFKC for language=ja, got a text that "
      "may not be from code point ",
      found, " of sample ", place.sample, " on");
  return stripped;
}

double nearest(std::size_t sample, const TextList& preds,
               const TextLists& target, SentenceLanguage language,
               const text::ExtendedEditCosts& costs,
               text::ExtendedEdits& distance_of) {
  const std::u32string hypothesis =
      prepared(preds[sample], language, {"preds", sample});
  double least = 1;
  for (const std::string_view reference : target[sample]) {
    least = std::min(
        least,
        distance_of(hypothesis,
                    prepared(reference, language, {"target", sample}), costs));
  }
  return least;
}

}  // namespace

void ExtendedEditDistanceOptions::validate(const char* metric) const {
  const auto check = [&](const char* name, double cost) {
    TORCH_CHECK_VALUE(std::isfinite(cost) && cost >= 0, metric, ": expected ",
                      name, " to be finite and at least 0, got ", cost);
  };
  check("alpha", alpha_);
  check("rho", rho_);
  check("deletion", deletion_);
  check("insertion", insertion_);
}

ExtendedEditDistances::State ExtendedEditDistances::observe(
    const TextList& preds, const TextLists& target) const {
  text::check_references(preds, target);
  const text::ExtendedEditCosts costs{options_.alpha(), options_.rho(),
                                      options_.deletion(), options_.insertion(),
                                      options_.skip_origin()};
  const at::Tensor rows =
      at::empty({static_cast<std::int64_t>(preds.size())}, at::kDouble);
  auto* const distances = rows.data_ptr<double>();
  text::for_each_sentence(
      preds.size(), [&](std::size_t begin, std::size_t end) {
        text::ExtendedEdits distance_of;
        for (std::size_t i = begin; i < end; ++i) {
          distances[i] = nearest(i, preds, target, options_.language(), costs,
                                 distance_of);
        }
      });
  State state;
  state.total = rows.size(0);
  if (options_.reduction() == SentenceReduction::kNone) {
    state.distances = Rows(rows);
    return state;
  }
  internal::ExactSums sum(1);
  for (std::size_t i = 0; i < preds.size(); ++i) sum.add(0, distances[i]);
  state.sum = sum.tensor();
  return state;
}

at::Tensor ExtendedEditDistance::evaluate(const State& state) const {
  if (options().reduction() == SentenceReduction::kNone) {
    return state.distances.defined() ? state.distances.tensor()
                                     : at::empty({0}, at::kDouble);
  }
  const double sum = internal::ExactSums::value(state.sum);
  return options().reduction() == SentenceReduction::kSum
             ? internal::scalar_tensor(sum)
             : at::Tensor(Number(sum) / Number(state.total));
}

}  // namespace tally
