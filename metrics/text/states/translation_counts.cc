#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>

#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/ngram_counts.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/sentence_tokenizer.h"
#include "tally/metrics/text/kernels/token_ids.h"
#include "tally/metrics/text/kernels/unicode.h"
#include "tally/metrics/text/states/bleu_counts.h"
#include "tally/metrics/text/states/count_tensors.h"
#include "tally/metrics/text/states/reference_counts.h"
#include "tally/state/fresh_tensor.h"
#include "tally/version.h"

namespace tally {
namespace internal::text {
namespace {

// Counts what a range of sentences has.
class BleuCounter {
 public:
  BleuCounter(std::int64_t orders, BleuTokenizer tokenizer, bool lowercase)
      : orders_(orders), tokenizer_(tokenizer, lowercase) {
    state_.matches = fresh_zeros({orders}, at::kLong);
    state_.totals = fresh_zeros({orders}, at::kLong);
  }

  void count(std::string_view hypothesis, const TextList& references,
             std::size_t sample) {
    tokens_.clear();
    ngrams_.clear();
    read(hypothesis, {"preds", sample}, hypothesis_);
    const auto size = static_cast<std::int64_t>(hypothesis_.ids.size());
    if (references_.size() < references.size()) {
      references_.resize(references.size());
    }
    std::int64_t closest = -1;
    for (std::size_t i = 0; i < references.size(); ++i) {
      read(references[i], {"target", sample}, references_[i]);
      const auto length = static_cast<std::int64_t>(references_[i].ids.size());
      ngrams_.add_reference(references_[i].ids, orders_);
      if (closest < 0 || is_closer(length, closest, size)) closest = length;
    }
    ngrams_.match(hypothesis_.ids, orders_,
                  state_.matches.mutable_data_ptr<std::int64_t>());
    auto* const totals = state_.totals.mutable_data_ptr<std::int64_t>();
    for (std::int64_t n = 1; n <= orders_; ++n) {
      totals[n - 1] += NgramCounts::count(hypothesis_.ids.size(), n);
    }
    state_.preds_len += size;
    state_.target_len += closest;
    state_.references.count(references.size());
  }

  const BleuCounts::State& state() const { return state_; }

 private:
  struct Sentence {
    TokenizedSentence tokenized;
    std::vector<std::uint32_t> ids;
  };

  // Of two lengths as close, the shorter one counts.
  static bool is_closer(std::int64_t a, std::int64_t b, std::int64_t to) {
    const std::int64_t distance = std::abs(a - to), other = std::abs(b - to);
    return distance < other || (distance == other && a < b);
  }

  void read(std::string_view text, const TextPlace& place, Sentence& out) {
    decoded_.clear();
    decode_utf8(text, place, decoded_);
    tokenizer_.tokenize(decoded_, out.tokenized);
    out.ids.clear();
    for (const std::u32string_view token : out.tokenized.tokens) {
      out.ids.push_back(tokens_.id(token));
    }
    if (is_unsplit(text, out.ids.size())) {
      state_.unsplit.mark(static_cast<std::int64_t>(place.sample));
    }
  }

  std::int64_t orders_;
  SentenceTokenizer tokenizer_;
  BleuCounts::State state_;
  TokenIds tokens_;
  NgramCounts ngrams_;
  std::u32string decoded_;
  Sentence hypothesis_;
  std::deque<Sentence> references_;  // tokens_ refers to their texts
};

double precision(double matches, double total, const BleuRule& rule,
                 double& smooth_exp) {
  if (matches > 0) return matches / total;
  switch (rule.smoothing) {
    case BleuSmoothing::kExp:
      smooth_exp *= 2;
      return 1 / (smooth_exp * total);
    case BleuSmoothing::kFloor:
      return rule.smooth_value / total;
    default:
      return 0;
  }
}

}  // namespace

at::Tensor checked_counts(const at::Tensor& counts, at::IntArrayRef sizes) {
  TORCH_CHECK_VALUE(
      counts.scalar_type() == at::kLong && counts.sizes() == sizes,
      "expected counts int64 ", sizes, ", got ", counts.scalar_type(), " ",
      counts.sizes());
  return counts.cpu().contiguous();
}

at::Tensor added_counts(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  const at::Tensor left = checked_counts(a, a.sizes());
  const at::Tensor right = checked_counts(b, a.sizes());
  at::Tensor sum = fresh_tensor(a.sizes(), at::kLong);
  const auto* const x = left.const_data_ptr<std::int64_t>();
  const auto* const y = right.const_data_ptr<std::int64_t>();
  auto* const out = sum.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < sum.numel(); ++i) out[i] = x[i] + y[i];
  return sum;
}

std::string sacrebleu_signature(const Results& state,
                                const std::string& options,
                                const std::string& more) {
  const auto least = state["min_references"].item<std::int64_t>();
  const auto most = state["max_references"].item<std::int64_t>();
  const std::string references =
      least == most && most > 0 ? std::to_string(most) : "var";
  return "nrefs:" + references + "|" + options + "|version:2.6.0" + more +
         "|tally:" TALLY_VERSION "|unicode:" + kUnicodeVersion;
}

void check_bleu_orders(const char* metric, std::int64_t n_gram,
                       const std::vector<double>& weights) {
  TORCH_CHECK_VALUE(n_gram >= 1, metric,
                    ": expected n_gram of at least 1, got ", n_gram);
  if (weights.empty()) return;
  TORCH_CHECK_VALUE(static_cast<std::int64_t>(weights.size()) == n_gram, metric,
                    ": expected one of weights for each of ", n_gram,
                    " orders, got ", weights.size());
  double sum = 0;
  for (const double weight : weights) {
    TORCH_CHECK_VALUE(weight >= 0 && std::isfinite(weight), metric,
                      ": expected weights of at least 0, got ", weight);
    sum += weight;
  }
  TORCH_CHECK_VALUE(sum > 0, metric, ": expected weights above 0, got all 0");
}

double bleu(const BleuCounts::State& state, const BleuRule& rule) {
  if (!state.matches.defined()) return 0;
  const at::Tensor all_matches = checked_counts(state.matches, {rule.orders});
  const at::Tensor all_totals = checked_counts(state.totals, {rule.orders});
  const auto* const matches = all_matches.const_data_ptr<std::int64_t>();
  const auto* const totals = all_totals.const_data_ptr<std::int64_t>();
  const auto orders = static_cast<std::size_t>(rule.orders);
  if (std::all_of(matches, matches + orders, [](auto n) { return n == 0; })) {
    return 0;
  }
  const auto weight_of = [&](std::size_t n) {
    return rule.weights.empty() ? 1 / static_cast<double>(orders)
                                : rule.weights[n];
  };
  double smooth_exp = 1, log_sum = 0, weights = 0, all_weights = 0;
  bool is_ended = false;
  for (std::size_t n = 0; n < orders; ++n) {
    const double weight = weight_of(n);
    all_weights += weight;
    const double more =
        rule.smoothing == BleuSmoothing::kAddK && n > 0 ? rule.smooth_value : 0;
    const double total = static_cast<double>(totals[n]) + more;
    is_ended |= total == 0;
    if (is_ended && rule.effective_order) continue;
    const double p = is_ended
                         ? 0
                         : precision(static_cast<double>(matches[n]) + more,
                                     total, rule, smooth_exp);
    if (p == 0 && weight > 0) return 0;
    weights += weight;
    if (weight > 0) log_sum += weight * std::log(p);
  }
  if (weights == 0) return 0;
  const auto preds_len = static_cast<double>(state.preds_len);
  const auto target_len = static_cast<double>(state.target_len);
  const double brevity =
      preds_len < target_len ? std::exp(1 - target_len / preds_len) : 1;
  return brevity * std::exp(log_sum * (all_weights / weights));
}

}  // namespace internal::text

ReferenceCounts ReferenceCounts::merge(const ReferenceCounts& a,
                                       const ReferenceCounts& b) {
  const bool both = a.min_references != 0 && b.min_references != 0;
  return {both ? std::min(a.min_references, b.min_references)
               : std::max(a.min_references, b.min_references),
          std::max(a.max_references, b.max_references)};
}

void ReferenceCounts::count(std::size_t references) {
  const auto size = static_cast<std::int64_t>(references);
  *this = merge(*this, {size, size});
}

BleuCounts::State BleuCounts::State::merge(const State& a, const State& b) {
  State sum;
  sum.matches = internal::text::added_counts(a.matches, b.matches);
  sum.totals = internal::text::added_counts(a.totals, b.totals);
  sum.preds_len = a.preds_len + b.preds_len;
  sum.target_len = a.target_len + b.target_len;
  sum.references = ReferenceCounts::merge(a.references, b.references);
  sum.unsplit = a.unsplit;
  sum.unsplit.append(b.unsplit);
  return sum;
}

BleuCounts::State BleuCounts::observe(const TextList& preds,
                                      const TextLists& target) const {
  internal::text::check_references(preds, target);
  State state;
  Note unsplit(internal::text::kUnsplit);
  unsplit.add_rows(static_cast<std::int64_t>(preds.size()));
  std::mutex mutex;
  internal::text::for_each_sentence(
      preds.size(), [&](std::size_t begin, std::size_t end) {
        internal::text::BleuCounter counter(n_gram_, tokenizer_, lowercase_);
        for (std::size_t i = begin; i < end; ++i) {
          counter.count(preds[i], target[i], i);
        }
        const std::lock_guard<std::mutex> lock(mutex);
        state = State::merge(state, counter.state());
        unsplit.add_marks(counter.state().unsplit);
      });
  state.unsplit = unsplit;
  return state;
}

}  // namespace tally
