#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <vector>

#include "tally/metrics/text/bleu_score.h"
#include "tally/metrics/text/chrf_score.h"
#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/ngram_counts.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/token_ids.h"
#include "tally/metrics/text/kernels/unicode.h"
#include "tally/metrics/text/sacre_bleu_score.h"
#include "tally/metrics/text/states/count_tensors.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace {

namespace text = internal::text;
using text::name_of;

constexpr std::int64_t kDefaultOrders = 4;
constexpr double kDefaultBeta = 2;

bool takes_value(BleuSmoothing method) {
  return method == BleuSmoothing::kFloor || method == BleuSmoothing::kAddK;
}

double smooth_value(const SacreBLEUScoreOptions& options) {
  const bool is_floor = options.smooth_method() == BleuSmoothing::kFloor;
  return options.smooth_value().value_or(is_floor ? 0.1 : 1);
}

std::string smoothing_text(const SacreBLEUScoreOptions& options) {
  const std::string name = name_of(options.smooth_method());
  if (!takes_value(options.smooth_method())) return name;
  char digits[32];
  std::snprintf(digits, sizeof digits, "[%.2f]", smooth_value(options));
  return name + digits;
}

std::int64_t orders_of(const CHRFScoreOptions& options) {
  return options.n_char_order() + options.n_word_order();
}

// n-grams of one order.
struct OrderCounts {
  std::int64_t preds = 0, target = 0, matches = 0;
};

// In percent, operation by operation as in sacrebleu: rounding decides which of
// two references counts.
double percent(const OrderCounts* counts, const CHRFScoreOptions& options) {
  constexpr double kEpsilon = 1e-16;
  const double factor = options.beta() * options.beta();
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : kEpsilon;
  };
  double score = 0, precision_sum = 0, recall_sum = 0;
  std::int64_t effective = 0;
  for (std::int64_t n = 0; n < orders_of(options); ++n) {
    const OrderCounts& order = counts[n];
    const double precision = ratio(order.matches, order.preds);
    const double recall = ratio(order.matches, order.target);
    const double denominator = factor * precision + recall;
    score += denominator > 0 ? (1 + factor) * precision * recall / denominator
                             : kEpsilon;
    if (order.preds > 0 && order.target > 0) {
      precision_sum += precision;
      recall_sum += recall;
      ++effective;
    }
  }
  if (options.eps_smoothing()) {
    return 100 * score / static_cast<double>(orders_of(options));
  }
  if (precision_sum + recall_sum == 0) return 0;
  const double precision = precision_sum / static_cast<double>(effective);
  const double recall = recall_sum / static_cast<double>(effective);
  return 100 *
         ((1 + factor) * precision * recall / (factor * precision + recall));
}

bool is_punctuation(char32_t c) {
  return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) ||
         (c >= 0x5B && c <= 0x60) || (c >= 0x7B && c <= 0x7E);
}

// A mark at the end of a word, else one at its start, is a word of its own.
void separate_punctuation(std::vector<std::u32string_view>& words) {
  std::vector<std::u32string_view> separated;
  separated.reserve(2 * words.size());
  for (const std::u32string_view word : words) {
    const std::size_t size = word.size();
    const std::size_t cut = size == 1                      ? 0
                            : is_punctuation(word.back())  ? size - 1
                            : is_punctuation(word.front()) ? 1
                                                           : 0;
    if (cut > 0) separated.push_back(word.substr(0, cut));
    separated.push_back(word.substr(cut));
  }
  words.swap(separated);
}

// Counts what a range of sentences has.
class ChrfCounter {
 public:
  explicit ChrfCounter(const CHRFScoreOptions& options)
      : options_(options),
        sums_(static_cast<std::size_t>(orders_of(options))),
        counts_(sums_.size()),
        best_(sums_.size()),
        matches_(sums_.size()) {}

  void count(std::string_view hypothesis, const TextList& references,
             std::size_t sample) {
    read(hypothesis, {"preds", sample}, hypothesis_);
    double highest = -1;
    for (const std::string_view text : references) {
      read(text, {"target", sample}, reference_);
      compare();
      const double score = percent(counts_.data(), options_);
      if (score > highest) {
        highest = score;
        counts_.swap(best_);
      }
    }
    for (std::size_t n = 0; n < sums_.size(); ++n) {
      sums_[n].preds += best_[n].preds;
      sums_[n].target += best_[n].target;
      sums_[n].matches += best_[n].matches;
    }
    references_.count(references.size());
  }

  CharNgramCounts::State state() const {
    static_assert(sizeof(OrderCounts) == 3 * sizeof(std::int64_t));
    CharNgramCounts::State state;
    state.counts = internal::fresh_tensor(
        {static_cast<std::int64_t>(sums_.size()), 3}, at::kLong);
    auto* const counts = state.counts.mutable_data_ptr<std::int64_t>();
    for (std::size_t n = 0; n < sums_.size(); ++n) {
      counts[3 * n] = sums_[n].preds;
      counts[3 * n + 1] = sums_[n].target;
      counts[3 * n + 2] = sums_[n].matches;
    }
    state.references = references_;
    return state;
  }

 private:
  using Symbols = std::vector<std::uint32_t>;
  struct Sentence {
    std::u32string text;
    std::vector<std::u32string_view> words;  // which lie in it
    Symbols chars, word_ids;
  };

  void read(std::string_view bytes, const text::TextPlace& place,
            Sentence& out) {
    out.text.clear();
    text::decode_utf8(bytes, place, out.text);
    if (options_.lowercase()) out.text = text::lower(out.text);
    out.chars.clear();
    for (const char32_t c : out.text) {
      if (options_.whitespace() || !text::is_space(c)) out.chars.push_back(c);
    }
    out.words.clear();
    if (options_.n_word_order() == 0) return;
    text::split(out.text, out.words);
    separate_punctuation(out.words);
  }

  void compare() {
    compare(hypothesis_.chars, reference_.chars, 0, options_.n_char_order());
    tokens_.clear();
    for (Sentence* sentence : {&hypothesis_, &reference_}) {
      sentence->word_ids.clear();
      for (const std::u32string_view word : sentence->words) {
        sentence->word_ids.push_back(tokens_.id(word));
      }
    }
    compare(hypothesis_.word_ids, reference_.word_ids, options_.n_char_order(),
            options_.n_word_order());
  }

  void compare(const Symbols& preds, const Symbols& target, std::int64_t first,
               std::int64_t orders) {
    std::fill_n(matches_.begin(), orders, 0);
    ngrams_.clear();
    ngrams_.add_reference(target, orders);
    ngrams_.match(preds, orders, matches_.data());
    for (std::int64_t n = 0; n < orders; ++n) {
      const auto expected = text::NgramCounts::count(target.size(), n + 1);
      const auto found = text::NgramCounts::count(preds.size(), n + 1);
      counts_[static_cast<std::size_t>(first + n)] = {
          expected > 0 ? found : 0, expected,
          matches_[static_cast<std::size_t>(n)]};
    }
  }

  CHRFScoreOptions options_;
  std::vector<OrderCounts> sums_, counts_, best_;
  std::vector<std::int64_t> matches_;
  ReferenceCounts references_;
  text::TokenIds tokens_;
  text::NgramCounts ngrams_;
  Sentence hypothesis_, reference_;
};

}  // namespace

at::Tensor BLEUScore::evaluate(const State& state) const {
  const auto smoothing =
      options().smooth() ? BleuSmoothing::kAddK : BleuSmoothing::kNone;
  return internal::scalar_tensor(
      text::bleu(state, {options().n_gram(), smoothing, /*smooth_value=*/1,
                         /*effective_order=*/false, options().weights()}));
}

void SacreBLEUScoreOptions::validate(const char* metric) const {
  text::check_bleu_orders(metric, n_gram_, weights_);
  if (!smooth_value_) return;
  TORCH_CHECK_VALUE(takes_value(smooth_method_), metric,
                    ": expected smooth_value only with smooth_method floor or "
                    "add-k, got it with ",
                    name_of(smooth_method_));
  TORCH_CHECK_VALUE(*smooth_value_ > 0 && std::isfinite(*smooth_value_), metric,
                    ": expected smooth_value above 0, got ", *smooth_value_);
}

at::Tensor SacreBLEUScore::evaluate(const State& state) const {
  return internal::scalar_tensor(text::bleu(
      state,
      {options().n_gram(), options().smooth_method(), smooth_value(options()),
       options().effective_order(), options().weights()}));
}

std::string SacreBLEUScore::signature() const {
  std::string more;
  if (options().n_gram() != kDefaultOrders) {
    more += "|n:" + std::to_string(options().n_gram());
  }
  if (!options().weights().empty()) {
    std::vector<double> weights = options().weights();
    more += "|weights:" + OptionRef(weights).text();
  }
  return text::sacrebleu_signature(
      state(),
      c10::str("case:", options().lowercase() ? "lc" : "mixed",
               "|eff:", options().effective_order() ? "yes" : "no",
               "|tok:", name_of(options().tokenize()),
               "|smooth:", smoothing_text(options())),
      more);
}

void CHRFScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(n_char_order_ >= 1, metric,
                    ": expected n_char_order of at least 1, got ",
                    n_char_order_);
  TORCH_CHECK_VALUE(n_word_order_ >= 0, metric,
                    ": expected n_word_order of at least 0, got ",
                    n_word_order_);
  TORCH_CHECK_VALUE(beta_ > 0 && std::isfinite(beta_), metric,
                    ": expected beta above 0, got ", beta_);
}

CharNgramCounts::State CharNgramCounts::State::merge(const State& a,
                                                     const State& b) {
  return {text::added_counts(a.counts, b.counts),
          ReferenceCounts::merge(a.references, b.references)};
}

CharNgramCounts::State CharNgramCounts::observe(const TextList& preds,
                                                const TextLists& target) const {
  text::check_references(preds, target);
  State state;
  std::mutex mutex;
  text::for_each_sentence(preds.size(),
                          [&](std::size_t begin, std::size_t end) {
                            ChrfCounter counter(options_);
                            for (std::size_t i = begin; i < end; ++i) {
                              counter.count(preds[i], target[i], i);
                            }
                            const std::lock_guard<std::mutex> lock(mutex);
                            state = State::merge(state, counter.state());
                          });
  return state;
}

at::Tensor CHRFScore::evaluate(const State& state) const {
  if (!state.counts.defined()) return internal::scalar_tensor(0.0);
  const at::Tensor checked =
      text::checked_counts(state.counts, {orders_of(options()), 3});
  const auto* const values = checked.const_data_ptr<std::int64_t>();
  std::vector<OrderCounts> counts;
  for (std::int64_t n = 0; n < orders_of(options()); ++n) {
    counts.push_back({values[3 * n], values[3 * n + 1], values[3 * n + 2]});
  }
  return internal::scalar_tensor(percent(counts.data(), options()) / 100);
}

std::string CHRFScore::signature() const {
  const auto yes = [](bool value) { return value ? "yes" : "no"; };
  return text::sacrebleu_signature(
      state(),
      c10::str("case:", options().lowercase() ? "lc" : "mixed",
               "|eff:", yes(!options().eps_smoothing()), "|nc:",
               options().n_char_order(), "|nw:", options().n_word_order(),
               "|space:", yes(options().whitespace())),
      options().beta() == kDefaultBeta ? ""
                                       : c10::str("|beta:", options().beta()));
}

template class MetricOf<BLEUScore, BleuCounts, at::Tensor, BLEUScoreOptions>;
template class MetricOf<CHRFScore, CharNgramCounts, at::Tensor>;
template class MetricOf<SacreBLEUScore, BleuCounts, at::Tensor,
                        SacreBLEUScoreOptions>;

}  // namespace tally
