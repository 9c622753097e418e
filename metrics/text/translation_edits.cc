#include "tally/metrics/text/kernels/translation_edits.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/exact_sums.h"
#include "tally/metrics/text/extended_edit_distance.h"
#include "tally/metrics/text/kernels/extended_edits.h"
#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/tercom_tokenizer.h"
#include "tally/metrics/text/kernels/token_ids.h"
#include "tally/metrics/text/kernels/unicode.h"
#include "tally/metrics/text/translation_edit_rate.h"

namespace tally {
namespace {

namespace text = internal::text;

struct Sentence {
  std::int64_t edits = 0;
  double length = 0;  // the mean of its references
  bool unsplit = false;

  double rate() const { return rate_of(static_cast<double>(edits), length); }
  static double rate_of(double edits, double length) {
    return length > 0 ? edits / length : edits > 0 ? 1 : 0;
  }
};

// Texts as numbers of words; keeps memory between texts.
class TercomWords {
 public:
  explicit TercomWords(const text::TercomRules& rules) : rules_(rules) {}

  std::vector<std::uint32_t> read(std::string_view from,
                                  const text::TextPlace& place) {
    texts_.push_back(
        text::tercom_normalized(text::decode_utf8(from, place), rules_));
    std::vector<std::uint32_t> words;
    for (const std::u32string_view word : text::split(texts_.back())) {
      words.push_back(ids_.id(word));
    }
    return words;
  }
  std::size_t distinct() const { return ids_.size(); }
  void clear() {
    ids_.clear();
    texts_.clear();
  }

 private:
  text::TercomRules rules_;
  std::deque<std::u32string> texts_;  // which ids_ refers to
  text::TokenIds ids_;
};

Sentence sentence_of(std::size_t sample, const TextList& preds,
                     const TextLists& target, TercomWords& words,
                     text::TranslationEdits& edits_of) {
  words.clear();
  const auto hypothesis = words.read(preds[sample], {"preds", sample});
  Sentence sentence;
  sentence.unsplit = text::is_unsplit(preds[sample], hypothesis.size());
  std::size_t length = 0;
  bool is_first = true;
  const TextList references = target[sample];
  for (const std::string_view reference : references) {
    const auto own = words.read(reference, {"target", sample});
    const std::int64_t edits = edits_of(hypothesis, own, words.distinct());
    sentence.edits = is_first ? edits : std::min(edits, sentence.edits);
    is_first = false;
    length += own.size();
    sentence.unsplit =
        sentence.unsplit || text::is_unsplit(reference, own.size());
  }
  sentence.length =
      static_cast<double>(length) / static_cast<double>(references.size());
  return sentence;
}

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

std::vector<std::string> TranslationEditRateOptions::without_effect() const {
  if (!asian_support_ || normalize_ || no_punctuation_) return {};
  return {"asian_support has no effect without normalize or no_punctuation"};
}

TranslationEditSums::State TranslationEditSums::observe(
    const TextList& preds, const TextLists& target) const {
  text::check_references(preds, target);
  std::vector<Sentence> sentences(preds.size());
  text::for_each_sentence(
      preds.size(), [&](std::size_t begin, std::size_t end) {
        TercomWords words({options_.normalize(), options_.no_punctuation(),
                           options_.lowercase(), options_.asian_support()});
        text::TranslationEdits edits;
        for (std::size_t i = begin; i < end; ++i) {
          sentences[i] = sentence_of(i, preds, target, words, edits);
        }
      });
  State state;
  state.unsplit.add_rows(static_cast<std::int64_t>(sentences.size()));
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (sentences[i].unsplit) state.unsplit.mark(static_cast<std::int64_t>(i));
  }
  if (options_.sentence_level()) {
    const at::Tensor rates =
        at::empty({static_cast<std::int64_t>(sentences.size())}, at::kDouble);
    std::transform(sentences.begin(), sentences.end(), rates.data_ptr<double>(),
                   [](const Sentence& s) { return s.rate(); });
    state.rates = Rows(rates);
    return state;
  }
  state.samples = static_cast<std::int64_t>(sentences.size());
  internal::ExactSums lengths(1);
  for (const Sentence& sentence : sentences) {
    state.edits += sentence.edits;
    lengths.add(0, sentence.length);
  }
  state.lengths = lengths.tensor();
  return state;
}

at::Tensor TranslationEditRate::evaluate(const State& state) const {
  if (options().sentence_level()) {
    return state.rates.defined() ? state.rates.tensor()
                                 : at::empty({0}, at::kDouble);
  }
  return internal::scalar_tensor(
      state.samples == 0
          ? internal::kNaN
          : Sentence::rate_of(static_cast<double>(state.edits),
                              internal::ExactSums::value(state.lengths)));
}

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

template class MetricOf<ExtendedEditDistance, ExtendedEditDistances,
                        at::Tensor>;
template class MetricOf<TranslationEditRate, TranslationEditSums, at::Tensor>;

}  // namespace tally
