#include "tally/metrics/text/rouge_score.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <string_view>
#include <utility>

#include "tally/metrics/common/exact_sums.h"
#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/rouge_scorer.h"
#include "tally/metrics/text/kernels/unicode.h"
#include "tally/metrics/text/states/count_tensors.h"

namespace tally {
namespace {

namespace text = internal::text;

// The parts of a value, in the order of results.
constexpr struct {
  const char* name;
  double text::RougeValue::*value;
} kParts[] = {{"fmeasure", &text::RougeValue::fmeasure},
              {"precision", &text::RougeValue::precision},
              {"recall", &text::RougeValue::recall}};
constexpr std::size_t kPartCount = std::size(kParts);

std::vector<text::RougeKey> keys_of(const ROUGEScoreOptions& options) {
  std::vector<text::RougeKey> keys;
  for (const std::string& name : options.rouge_keys()) {
    TORCH_INTERNAL_ASSERT(text::RougeKey::parse(name, keys.emplace_back()),
                          "ROUGEScoreOptions let ", name, " through");
  }
  return keys;
}

std::size_t sums_of(const ROUGEScoreOptions& options) {
  return kPartCount * options.rouge_keys().size();
}

// Sums what a range of texts has.
class RougeCounter {
 public:
  explicit RougeCounter(const ROUGEScoreOptions& options)
      : scorer_(keys_of(options),
                {options.tokenizer(), options.token_function(),
                 options.use_stemmer()}),
        takes_best_(options.accumulate() == RougeAccumulate::kBest),
        sums_(sums_of(options)) {}

  void add(std::string_view prediction, const TextList& references,
           std::size_t sample) {
    text::check_utf8(prediction, {"preds", sample});
    scorer_.set_prediction(prediction);
    note(prediction, scorer_.prediction_tokens(), sample);
    for (std::size_t i = 0; i < references.size(); ++i) {
      text::check_utf8(references[i], {"target", sample});
      const auto& values = scorer_.score(references[i]);
      note(references[i], scorer_.reference_tokens(), sample);
      if (i == 0) {
        values_ = values;
      } else {
        accumulate(values);
      }
    }
    const double count =
        takes_best_ ? 1 : static_cast<double>(references.size());
    for (std::size_t i = 0; i < kPartCount * values_.size(); ++i) {
      const double value =
          values_[i / kPartCount].*kParts[i % kPartCount].value;
      sums_.add(i, value / count);
    }
  }

  at::Tensor sums() const { return sums_.tensor(); }
  const Note& no_tokens() const { return no_tokens_; }
  const Note& unsplit() const { return unsplit_; }

 private:
  void note(std::string_view given, std::size_t tokens, std::size_t sample) {
    const auto row = static_cast<std::int64_t>(sample);
    if (tokens == 0 && text::has_letters(given)) no_tokens_.mark(row);
    if (text::is_unsplit(given, tokens)) unsplit_.mark(row);
  }
  void accumulate(const std::vector<text::RougeValue>& values) {
    for (std::size_t key = 0; key < values.size(); ++key) {
      if (!takes_best_) {
        for (const auto& part : kParts) {
          values_[key].*part.value += values[key].*part.value;
        }
      } else if (values[key].fmeasure > values_[key].fmeasure) {
        values_[key] = values[key];
      }
    }
  }

  text::RougeScorer scorer_;
  bool takes_best_;
  std::vector<text::RougeValue> values_;
  internal::ExactSums sums_;
  Note no_tokens_{text::kNoTokens};
  Note unsplit_{text::kUnsplit};
};

}  // namespace

ROUGEScoreOptions& ROUGEScoreOptions::tokenizer(std::string label,
                                                TokenFunction function) {
  token_label_ = std::move(label);
  token_function_ = std::move(function);
  return *this;
}

void ROUGEScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(!token_function_ || !token_label_.empty(), metric,
                    ": expected a label that identifies the tokenizer's "
                    "function, got an empty one");
  TORCH_CHECK_VALUE(!rouge_keys_.empty(), metric,
                    ": expected rouge_keys, got none");
  for (std::size_t i = 0; i < rouge_keys_.size(); ++i) {
    text::RougeKey key;
    TORCH_CHECK_VALUE(text::RougeKey::parse(rouge_keys_[i], key), metric,
                      ": expected rouge_keys of rouge1 to rouge9, rougeL and "
                      "rougeLsum, got '",
                      rouge_keys_[i], "'");
    TORCH_CHECK_VALUE(std::find(rouge_keys_.begin(), rouge_keys_.begin() + i,
                                rouge_keys_[i]) == rouge_keys_.begin() + i,
                      metric, ": expected each of rouge_keys once, got ",
                      rouge_keys_[i], " twice");
  }
}

std::vector<std::string> ROUGEScoreOptions::without_effect() const {
  if (!use_stemmer_ || token_function_ ||
      tokenizer_ != RougeTokenizer::kCharacters) {
    return {};
  }
  return {"use_stemmer has no effect with tokenizer characters"};
}

RougeSums::State RougeSums::State::merge(const State& a, const State& b) {
  State both = a;
  both.sums = text::added_counts(a.sums, b.sums);
  both.total += b.total;
  both.no_tokens.append(b.no_tokens);
  both.unsplit.append(b.unsplit);
  return both;
}

RougeSums::State RougeSums::observe(const TextList& preds,
                                    const TextLists& target) const {
  text::check_references(preds, target);
  State state;
  state.total = static_cast<std::int64_t>(preds.size());
  state.no_tokens.add_rows(state.total);
  state.unsplit.add_rows(state.total);
  std::mutex mutex;
  text::for_each_sentence(
      preds.size(), [&](std::size_t begin, std::size_t end) {
        RougeCounter counter(options_);
        for (std::size_t i = begin; i < end; ++i) {
          counter.add(preds[i], target[i], i);
        }
        const std::lock_guard<std::mutex> lock(mutex);
        state.sums = text::added_counts(state.sums, counter.sums());
        state.no_tokens.add_marks(counter.no_tokens());
        state.unsplit.add_marks(counter.unsplit());
      });
  return state;
}

Results ROUGEScore::evaluate(const State& state) const {
  const at::Tensor zeros = internal::ExactSums(sums_of(options())).tensor();
  const at::Tensor sums = state.sums.defined()
                              ? text::checked_counts(state.sums, zeros.sizes())
                              : zeros;
  Results results;
  std::size_t sum = 0;
  for (const std::string& key : options().rouge_keys()) {
    for (const auto& part : kParts) {
      results.add(
          key + "_" + part.name,
          internal::scalar_tensor(internal::ExactSums::value(sums, sum++) /
                                  static_cast<double>(state.total)));
    }
  }
  return results;
}

template class MetricOf<ROUGEScore, RougeSums, Results>;

}  // namespace tally
