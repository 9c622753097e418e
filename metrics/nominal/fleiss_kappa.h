#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

namespace tally {

/// What the ratings of FleissKappa are.
enum class FleissMode {
  kCounts,  ///< how many raters chose each category
  kProbs,   ///< scores of the categories by each rater, who chooses the largest
};

template <>
struct EnumNames<FleissMode> {
  static constexpr const char* kNames[] = {"counts", "probs"};
};

/// Options of FleissKappa.
///
/// Example: `FleissKappa kappa(FleissMode::kProbs);`
struct FleissKappaOptions {
  FleissKappaOptions(FleissMode mode = FleissMode::kCounts) : mode_(mode) {}
  /// Default: kCounts.
  TORCH_ARG(FleissMode, mode);

 public:
  void visit(OptionVisitor& v) {
    v("mode", mode_,
      "Whether ratings are counts of raters or scores of each rater.");
  }
};

/// Sums over rows of ratings.
class CategoryRatings {
 public:
  static constexpr const char* kName = "CategoryRatings";
  using Options = FleissKappaOptions;
  struct State {
    at::Tensor categories;  // int64 [C]: ratings of each category
    Number agreement;       // the sum of the rows' fractions of agreeing pairs
    std::int64_t rows = 0;  // with two ratings or more

    void fields(Fields& f) {
      f("categories", categories)("agreement", agreement)("rows", rows);
    }
  };

  CategoryRatings(const Options& options, const MetricOptions& metric_options)
      : mode_(options.mode()), nan_policy_(metric_options.nan_policy()) {}

  c10::ArrayRef<InputInfo> inputs() const;
  State observe(const at::Tensor& ratings) const;

 private:
  FleissMode mode_;
  NanPolicy nan_policy_;
};

/// Fleiss' kappa: how far several raters agree beyond chance.
///
///     (P - Pe) / (1 - Pe)
///     P  = mean over rows of sum_j n_ij (n_ij - 1) / (n_i (n_i - 1))
///     Pe = sum_j (sum_i n_ij / sum_i n_i)^2
/// of the numbers n_ij of raters that chose category j for row i, with n_i
/// their sum: rows may have different numbers of raters. A row with a single
/// rating has no pair and counts in Pe only.
///
/// update(ratings): with FleissMode::kCounts integers [N, C], 0 or more; with
/// kProbs scores [N, C, raters], floating-point, of which each rater chose the
/// largest (the first of equal ones). C is the same in all updates, the number
/// of raters need not be.
/// Result: 0-dim float64 in [-1, 1]. NaN where all ratings are of one category,
/// or no row has two.
/// State: sums over rows, merged by addition; never the ratings.
/// NaN: a rater's scores with a NaN make the result NaN; with
/// NanPolicy::kIgnore they are no rating. Errors: c10::ValueError for other
/// shapes, counts below 0, and NaN with NanPolicy::kError; c10::TypeError for
/// counts that are not integers and scores that are not floating-point. Not
/// differentiable. Source: Fleiss 1971; as statsmodels' fleiss_kappa where all
/// rows have as many raters.
///
/// Example:
///     FleissKappa kappa;
///     kappa.update(at::randint(4, {32, 5}, at::kLong));
///     double value = kappa.compute().item<double>();
class FleissKappa final : public MetricOf<FleissKappa, CategoryRatings,
                                          at::Tensor, FleissKappaOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "FleissKappa";
  static constexpr MetricSummary kSummary{
      "Agreement of several raters beyond chance.", "[-1, 1]",    "", "fleiss",
      R"(\frac{\bar P - \bar P_e}{1 - \bar P_e})",  "Fleiss 1971"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<FleissKappa, CategoryRatings, at::Tensor,
                               FleissKappaOptions>;

}  // namespace tally
