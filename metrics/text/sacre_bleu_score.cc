#include "tally/metrics/text/sacre_bleu_score.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <cmath>
#include <cstdio>

namespace tally {
namespace {

using internal::text::name_of;

constexpr std::int64_t kDefaultOrders = 4;

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

}  // namespace

void SacreBLEUScoreOptions::validate(const char* metric) const {
  internal::text::check_bleu_orders(metric, n_gram_, weights_);
  if (!smooth_value_) return;
  TORCH_CHECK_VALUE(takes_value(smooth_method_), metric,
                    ": expected smooth_value only with smooth_method floor or "
                    "add-k, got it with ",
                    name_of(smooth_method_));
  TORCH_CHECK_VALUE(*smooth_value_ > 0 && std::isfinite(*smooth_value_), metric,
                    ": expected smooth_value above 0, got ", *smooth_value_);
}

at::Tensor SacreBLEUScore::evaluate(const State& state) const {
  return internal::scalar_tensor(internal::text::bleu(
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
  return internal::text::sacrebleu_signature(
      state(),
      c10::str("case:", options().lowercase() ? "lc" : "mixed",
               "|eff:", options().effective_order() ? "yes" : "no",
               "|tok:", name_of(options().tokenize()),
               "|smooth:", smoothing_text(options())),
      more);
}

}  // namespace tally
