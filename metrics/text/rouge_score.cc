#include "tally/metrics/text/rouge_score.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <string_view>

#include "tally/metrics/exact_sums.h"
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
    TORCH_INTERNAL_ASSERT(text::RougeKey::parse(name, keys.emplace_back()));
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
      : scorer_(keys_of(options), options.use_stemmer()),
        takes_best_(options.accumulate() == RougeAccumulate::kBest),
        sums_(sums_of(options)) {}

  void add(std::string_view prediction, const TextList& references,
           std::size_t sample) {
    text::check_utf8(prediction, {"preds", sample});
    scorer_.set_prediction(prediction);
    for (std::size_t i = 0; i < references.size(); ++i) {
      text::check_utf8(references[i], {"target", sample});
      const auto& values = scorer_.score(references[i]);
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

 private:
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
};

}  // namespace

void ROUGEScoreOptions::validate(const char* metric) const {
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

RougeSums::State RougeSums::State::merge(const State& a, const State& b) {
  return {text::added_counts(a.sums, b.sums), a.total + b.total};
}

RougeSums::State RougeSums::observe(const TextList& preds,
                                    const TextLists& target) const {
  text::check_references(preds, target);
  State state;
  state.total = static_cast<std::int64_t>(preds.size());
  std::mutex mutex;
  text::for_each_sentence(
      preds.size(), [&](std::size_t begin, std::size_t end) {
        RougeCounter counter(options_);
        for (std::size_t i = begin; i < end; ++i) {
          counter.add(preds[i], target[i], i);
        }
        const std::lock_guard<std::mutex> lock(mutex);
        state.sums = text::added_counts(state.sums, counter.sums());
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

}  // namespace tally
