#include "tally/metrics/classification/curves/curve_reader.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/classification/curves/curve_runs.h"
#include "tally/metrics/classification/curves/curve_state.h"
#include "tally/metrics/classification/curves/score_counts.h"
#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/state/fresh_tensor.h"
#include "tally/state/sole_owner.h"

namespace tally {
namespace internal::classification {
namespace {

// Up to this many buckets a histogram for every batch costs next to nothing.
constexpr std::int64_t kSmallHistogram = 1024;
// So many scores make up for a table of the thresholds.
constexpr std::int64_t kWorthATable = 4096;
// REQUIRES of uniform_places().
constexpr std::int64_t kMostUniform = std::int64_t{1} << 29;

// [N], float64, without a graph; of any device.
at::Tensor doubles_of(const at::Tensor& tensor) {
  const at::Tensor own = tensor.requires_grad() ? tensor.detach() : tensor;
  if (!is_plain(own)) return dense(own.to(at::kDouble)).reshape(-1);
  if (own.scalar_type() == at::kDouble) {
    return own.dim() == 1 ? own : own.reshape(-1);
  }
  const at::Tensor doubles = fresh_tensor({own.numel()}, at::kDouble);
  visit_values(own, [&](const auto* data) {
    std::copy_n(data, own.numel(), doubles.mutable_data_ptr<double>());
  });
  return doubles;
}

}  // namespace

bool CurveReader::fills_histogram(std::int64_t count) const {
  const std::int64_t buckets = 2 * shape_.curves * (grid_.size() + 2);
  return buckets <= std::max(kSmallHistogram, kBucketsPerPlace * count) ||
         buckets > std::numeric_limits<std::int32_t>::max();
}

CurveState CurveReader::binned_state(std::int64_t count) const {
  CurveState state;
  state.curves = shape_.curves;
  state.columns = grid_.size() + 2;
  if (fills_histogram(count)) {
    state.unweighted.histogram =
        fresh_zeros({state.curves, 2, state.columns}, at::kLong);
  } else {
    state.unweighted.places = Rows(fresh_tensor({count}, at::kInt));
  }
  return state;
}

CurveReader::Lookup::Lookup(const ThresholdGrid& grid, std::int64_t scores)
    : grid_(grid) {
  if (!grid.uniform() && scores >= kWorthATable) {
    table_.emplace(grid.edges(), grid.size());
  }
}

bool CurveReader::Lookup::places(const float* scores, const std::uint8_t* codes,
                                 std::int64_t size,
                                 std::uint32_t* places) const {
  const std::int64_t columns = grid_.size() + 2;
  if (table_) {
    return listed_places(scores, codes, size, *table_, columns, places);
  }
  if (grid_.uniform() && grid_.size() <= kMostUniform) {
    return uniform_places(scores, codes, size,
                          static_cast<double>(grid_.size() - 1), columns,
                          places);
  }
  return fill_places(scores, codes, size, places,
                     [&](double score) { return grid_.bucket(score); });
}

bool CurveReader::Lookup::places(const double* scores,
                                 const std::uint8_t* codes, std::int64_t size,
                                 std::uint32_t* places) const {
  if (table_) {
    return fill_places(scores, codes, size, places,
                       [&](double score) { return table_->bucket(score); });
  }
  return fill_places(scores, codes, size, places,
                     [&](double score) { return grid_.bucket(score); });
}

template <class Score, class Bucket>
bool CurveReader::Lookup::fill_places(const Score* scores,
                                      const std::uint8_t* codes,
                                      std::int64_t size, std::uint32_t* places,
                                      const Bucket& bucket) const {
  const std::int64_t columns = grid_.size() + 2;
  for (std::int64_t i = 0; i < size; ++i) {
    if (!(scores[i] >= 0 && scores[i] <= 1)) return false;
    const std::int64_t first = codes == nullptr ? 0 : codes[i] * columns;
    places[i] = static_cast<std::uint32_t>(first + bucket(scores[i]));
  }
  return true;
}

std::int64_t CurveReader::bucket_outside(double score,
                                         std::int64_t position) const {
  if (std::isnan(score)) return grid_.size() + 1;
  if (validate_args_) refuse_probability(score, position);
  return grid_.bucket(score);
}

void CurveReader::check_range(const at::Tensor& scores, const at::Tensor& kept,
                              std::int64_t per_position) const {
  at::Tensor outside = scores.lt(0).logical_or_(scores.gt(1));
  if (kept.defined()) outside.logical_and_(kept);
  if (const auto i = first_true(outside)) {
    refuse_probability(scores.reshape(-1).select(0, *i).item().toDouble(),
                       *i / per_position, /*any_allowed=*/checks_scores_);
  }
}

CurveState CurveReader::histogram_of(const at::Tensor& probabilities,
                                     const at::Tensor& positive,
                                     const at::Tensor& kept,
                                     const at::Tensor& weights,
                                     std::int64_t per_position) const {
  if (validate_args_) check_range(probabilities, kept, per_position);
  CurveState state;
  state.curves = shape_.curves;
  state.columns = grid_.size() + 2;
  const auto options =
      at::TensorOptions().dtype(at::kLong).device(probabilities.device());
  const at::Tensor curves = at::ones({state.curves}, options).cumsum(0).sub_(1);
  const at::Tensor places =
      grid_.bucket(probabilities)
          .masked_fill_(probabilities.isnan(), state.columns - 1)
          .add_(curves.mul_(2).add(positive).mul_(state.columns))
          .reshape(-1);
  const auto sums = [&](const at::Tensor& addends) {
    return at::zeros({2 * state.curves * state.columns}, addends.options())
        .scatter_add_(0, places, addends)
        .view({state.curves, 2, state.columns});
  };
  if (weights.defined()) {
    at::Tensor own = weights.unsqueeze(1).expand_as(probabilities);
    if (kept.defined()) own = own.masked_fill(kept.logical_not(), 0);
    state.weighted.histogram = sums(own.reshape(-1));
    return state;
  }
  state.unweighted.histogram = sums(
      kept.defined() ? kept.expand_as(probabilities).reshape(-1).to(at::kLong)
                     : at::ones({places.numel()}, options));
  return state;
}

bool CurveReader::takes_nan(const char* input, std::int64_t position) const {
  if (nan_policy_ == NanPolicy::kError) refuse_nan(input, position);
  return nan_policy_ == NanPolicy::kPropagate;
}

at::Tensor CurveReader::row_weights(const at::Tensor& weight,
                                    const char* target_input,
                                    const at::Tensor& target) const {
  check_real("weight", weight);
  check_same_shape("weight", weight, target_input, target);
  const at::Tensor weights = doubles_of(weight);
  if (!validate_args_) return weights;
  const auto refuse_negative = [](double negative, std::int64_t position) {
    TORCH_CHECK_VALUE(false, "expected weight of at least 0, got ", negative,
                      " at position ", position);
  };
  if (weights.is_cpu()) {
    const auto* const data = weights.const_data_ptr<double>();
    const auto* const end = data + weights.numel();
    const auto* const negative =
        std::find_if(data, end, [](double own) { return own < 0; });
    if (negative != end) refuse_negative(*negative, negative - data);
  } else if (const auto i = first_true(weights.lt(0))) {
    refuse_negative(weights.select(0, *i).item().toDouble(), *i);
  }
  return weights;
}

at::Tensor CurveReader::keep_weighted(const at::Tensor& kept,
                                      const at::Tensor& weights,
                                      const at::Tensor& like) const {
  const at::Tensor own = like.dim() > 1 ? weights.unsqueeze(1) : weights;
  at::Tensor counts = own.ne(0).expand_as(like);
  if (kept.defined()) counts = counts.logical_and(kept);
  if (nan_policy_ == NanPolicy::kPropagate) return counts;
  const at::Tensor nan = counts.logical_and(own.isnan());
  if (nan_policy_ == NanPolicy::kError) {
    if (const auto i = first_true(like.dim() > 1 ? nan.any(1) : nan)) {
      refuse_nan("weight", *i);
    }
  }
  return counts.logical_and(nan.logical_not());
}

at::Tensor CurveReader::kept_positions(
    const at::Tensor& target, const at::Tensor& weights,
    c10::function_ref<at::Tensor()> undefined) const {
  at::Tensor kept;
  if (ignore_index_) kept = target.ne(*ignore_index_);
  if (weights.defined()) kept = keep_weighted(kept, weights, target);
  if (nan_policy_ == NanPolicy::kPropagate) return kept;
  const at::Tensor nan = undefined();
  if (kept.defined()) nan.logical_and_(kept);
  if (nan_policy_ == NanPolicy::kError) {
    if (const auto i = first_true(nan)) refuse_nan("preds", *i);
    return kept;
  }
  nan.logical_not_();
  return kept.defined() ? kept.logical_and_(nan) : nan;
}

CurveState CurveReader::exact_rows(const at::Tensor& preds,
                                   const at::Tensor& target,
                                   const at::Tensor& weights,
                                   const at::Tensor& positions) {
  const auto rows = [&](const at::Tensor& all) {
    return Rows(positions.defined() ? all.index_select(0, positions) : all);
  };
  CurveState state;
  if (weights.defined()) {
    state.weighted.preds = rows(preds);
    state.weighted.target = rows(target);
    state.weights = rows(weights);
  } else {
    state.unweighted.preds = rows(preds);
    state.unweighted.target = rows(target);
  }
  return state;
}

}  // namespace internal::classification

namespace classification = internal::classification;

namespace {

// REQUIRES: both on the CPU. weight_of(i) is what places[i] counts.
template <class Count, class WeightOf>
void count_places(const at::Tensor& histogram, const at::Tensor& places,
                  const WeightOf& weight_of) {
  const std::int64_t size = histogram.numel();
  const std::int64_t count = places.numel();
  const auto* const place = places.const_data_ptr<std::int32_t>();
  classification::check_state(
      std::all_of(place, place + count,
                  [=](std::int32_t p) { return p >= 0 && p < size; }));
  auto* const counts = histogram.mutable_data_ptr<Count>();
  for (std::int64_t i = 0; i < count; ++i) counts[place[i]] += weight_of(i);
}

// `histogram` with the places counted; added to itself with `in_place`.
template <class Count, class WeightOf>
at::Tensor with_places(const at::Tensor& histogram, bool in_place,
                       const at::Tensor& places, at::IntArrayRef sizes,
                       const WeightOf& weight_of) {
  classification::check_state(sizes[0] > 0 && sizes[2] > 0);
  const at::Tensor more = places.cpu();
  classification::check_state(more.scalar_type() == at::kInt &&
                              more.dim() == 1);
  if (!histogram.defined() || !histogram.is_cpu()) {
    const at::Tensor sum =
        internal::fresh_zeros(sizes, c10::CppTypeToScalarType<Count>::value);
    count_places<Count>(sum, more, weight_of);
    if (!histogram.defined()) return sum.to(places.device());
    return histogram.add(sum.to(histogram.device()));
  }
  const at::Tensor sum = in_place ? histogram : histogram.clone();
  count_places<Count>(sum, more, weight_of);
  return sum;
}

}  // namespace

at::Tensor CurveState::counted(bool in_place) const {
  if (unweighted.places.size() == 0) return unweighted.histogram;
  return with_places<std::int64_t>(
      unweighted.histogram, in_place, unweighted.places.tensor(),
      {curves, 2, columns}, [](std::int64_t) { return 1; });
}

at::Tensor CurveState::weighted_counted(bool in_place) const {
  if (weighted.places.size() == 0) return weighted.histogram;
  classification::check_state(weights.size() == weighted.places.size());
  const at::Tensor own = weights.tensor().cpu().contiguous();
  classification::check_state(own.scalar_type() == at::kDouble &&
                              own.dim() == 1);
  const auto* const data = own.const_data_ptr<double>();
  return with_places<double>(weighted.histogram, in_place,
                             weighted.places.tensor(), {curves, 2, columns},
                             [=](std::int64_t i) { return data[i]; });
}

void CurveState::pack() {
  classification::make_runs(*this, /*of_all_rows=*/true);
}

void CurveState::compact() {
  classification::make_runs(*this, /*of_all_rows=*/false);
  const auto are_many = [&](const Rows& places) {
    return places.size() > 0 &&
           places.size() * classification::kBucketsPerPlace >=
               2 * curves * columns;
  };
  const auto is_own = [](const at::Tensor& histogram) {
    return histogram.defined() && internal::is_sole_owner(histogram);
  };
  if (are_many(unweighted.places)) {
    unweighted.histogram = counted(is_own(unweighted.histogram));
    unweighted.places = Rows();
  }
  if (are_many(weighted.places)) {
    weighted.histogram = weighted_counted(is_own(weighted.histogram));
    weighted.places = Rows();
    weights = Rows();
  }
}

}  // namespace tally
