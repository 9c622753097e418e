#include "tally/metrics/nominal/fleiss_kappa.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/tensor_of.h"

namespace tally {
namespace {

using State = CategoryRatings::State;

constexpr InputInfo kCountInputs[] = {
    {"ratings", InputKind::kInteger, "int counts [N, C]"}};
constexpr InputInfo kScoreInputs[] = {
    {"ratings", InputKind::kFloat, "scores [N, C, raters]"}};

// Adds rows of counts up.
class Ratings {
 public:
  explicit Ratings(std::int64_t categories)
      : totals_(static_cast<std::size_t>(categories)) {}

  void add_row(const std::int64_t* counts) {
    std::int64_t ratings = 0;
    double pairs = 0;
    for (std::size_t j = 0; j < totals_.size(); ++j) {
      fits_ = fits_ &&
              !__builtin_add_overflow(totals_[j], counts[j], &totals_[j]) &&
              !__builtin_add_overflow(ratings, counts[j], &ratings);
      const auto count = static_cast<double>(counts[j]);
      pairs += count * (count - 1);
    }
    if (ratings < 2) return;
    const auto all = static_cast<double>(ratings);
    agreement_ += pairs / (all * (all - 1));
    ++rows_;
  }
  void make_undefined() { agreement_ = internal::kNaN; }

  State state() const {
    TORCH_CHECK_VALUE(fits_, "expected ratings that add up to less than 2^63");
    State state;
    state.categories = internal::tensor_of(totals_);
    state.agreement = agreement_;
    state.rows = rows_;
    return state;
  }

 private:
  std::vector<std::int64_t> totals_;
  double agreement_ = 0;
  std::int64_t rows_ = 0;
  bool fits_ = true;
};

State count_ratings(const at::Tensor& ratings) {
  const at::Tensor plain = ratings.to(at::kCPU, at::kLong).contiguous();
  const std::int64_t categories = plain.size(1);
  const auto* const counts = plain.const_data_ptr<std::int64_t>();
  const auto* const wrong =
      std::find_if(counts, counts + plain.numel(),
                   [](std::int64_t count) { return count < 0; });
  const std::int64_t place = wrong - counts;
  TORCH_CHECK_VALUE(place == plain.numel(),
                    "expected counts of at least 0 in ratings, got ", *wrong,
                    " at [", place / categories, ", ", place % categories, "]");
  Ratings sums(categories);
  for (std::int64_t i = 0; i < plain.size(0); ++i) {
    sums.add_row(counts + i * categories);
  }
  return sums.state();
}

State choose_ratings(const at::Tensor& ratings, NanPolicy policy) {
  // [N, raters, C]
  const at::Tensor plain =
      ratings.detach().to(at::kCPU, at::kDouble).transpose(1, 2).contiguous();
  const std::int64_t raters = plain.size(1);
  const std::int64_t categories = plain.size(2);
  Ratings sums(categories);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(categories));
  const auto* scores = plain.const_data_ptr<double>();
  for (std::int64_t i = 0; i < plain.size(0); ++i) {
    std::fill(counts.begin(), counts.end(), 0);
    for (std::int64_t rater = 0; rater < raters; ++rater) {
      const auto* const end = scores + categories;
      if (std::any_of(scores, end, [](double x) { return std::isnan(x); })) {
        TORCH_CHECK_VALUE(policy != NanPolicy::kError,
                          "expected ratings without NaN, got some");
        if (policy == NanPolicy::kPropagate) sums.make_undefined();
      } else {
        ++counts[std::max_element(scores, end) - scores];
      }
      scores = end;
    }
    sums.add_row(counts.data());
  }
  return sums.state();
}

}  // namespace

c10::ArrayRef<InputInfo> CategoryRatings::inputs() const {
  return mode_ == FleissMode::kCounts ? kCountInputs : kScoreInputs;
}

State CategoryRatings::observe(const at::Tensor& ratings) const {
  internal::check_real("ratings", ratings);
  const bool counts = mode_ == FleissMode::kCounts;
  counts ? internal::check_integral("ratings", ratings)
         : internal::check_floating("ratings", ratings);
  TORCH_CHECK_VALUE(
      ratings.dim() == (counts ? 2 : 3) && ratings.size(1) > 0,
      "expected ratings of shape ", counts ? "[N, C]" : "[N, C, raters]",
      ", C at least 1, with mode ", EnumNames<FleissMode>::kNames[!counts],
      ", got ", ratings.sizes());
  State state =
      counts ? count_ratings(ratings) : choose_ratings(ratings, nan_policy_);
  state.categories = state.categories.to(ratings.device());
  return state;
}

at::Tensor FleissKappa::evaluate(const State& state) const {
  if (!state.categories.defined() || state.rows == 0) {
    return internal::scalar_tensor(internal::kNaN);
  }
  const at::Tensor categories = state.categories.to(at::kCPU).contiguous();
  TORCH_CHECK_VALUE(
      categories.dim() == 1 && categories.scalar_type() == at::kLong,
      "expected int64 [C] as the ratings of categories in the state, got ",
      categories.scalar_type(), " ", categories.sizes());
  const auto* const counts = categories.const_data_ptr<std::int64_t>();
  const auto* const end = counts + categories.numel();
  // Pe is exactly 1 then, whatever rounding makes of it.
  if (std::count_if(counts, end, [](std::int64_t n) { return n > 0; }) < 2) {
    return internal::scalar_tensor(internal::kNaN);
  }
  double total = 0;
  for (const auto* count = counts; count != end; ++count) {
    total += static_cast<double>(*count);
  }
  double expected = 0;
  for (const auto* count = counts; count != end; ++count) {
    const double fraction = static_cast<double>(*count) / total;
    expected += fraction * fraction;
  }
  const double observed =
      state.agreement.value() / static_cast<double>(state.rows);
  return internal::scalar_tensor((observed - expected) / (1 - expected));
}

template class MetricOf<FleissKappa, CategoryRatings, at::Tensor,
                        FleissKappaOptions>;

}  // namespace tally
