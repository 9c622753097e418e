#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/classification/classification_checks.h"
#include "tally/metrics/classification/curve.h"
#include "tally/metrics/classification/score_counts.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace {

// Up to this many buckets a histogram for every batch costs next to nothing.
constexpr std::int64_t kSmallHistogram = 1024;
// A histogram that has as many buckets for each place costs more than to note
// the places.
constexpr std::int64_t kBucketsPerPlace = 8;
// So many scores make up for a table of the thresholds.
constexpr std::int64_t kWorthATable = 4096;
// REQUIRES of uniform_places().
constexpr std::int64_t kMostUniform = std::int64_t{1} << 29;

bool is_sole_owner(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

// REQUIRES: both on the CPU.
void count_places(const at::Tensor& histogram, const at::Tensor& places) {
  const std::int64_t size = histogram.numel();
  const auto* const begin = places.const_data_ptr<std::int32_t>();
  const auto* const end = begin + places.numel();
  internal::check_state(std::all_of(begin, end, [=](std::int32_t place) {
    return place >= 0 && place < size;
  }));
  auto* const counts = histogram.mutable_data_ptr<std::int64_t>();
  for (const auto* place = begin; place != end; ++place) ++counts[*place];
}

}  // namespace

at::Tensor CurveState::counted(bool in_place) const {
  if (places.size() == 0) return histogram;
  internal::check_state(curves > 0 && columns > 0);
  const at::Tensor more = places.tensor().cpu();
  internal::check_state(more.scalar_type() == at::kInt && more.dim() == 1);
  if (!histogram.defined() || !histogram.is_cpu()) {
    const at::Tensor sum =
        internal::fresh_zeros({curves, 2, columns}, at::kLong);
    count_places(sum, more);
    if (!histogram.defined()) return sum.to(places.tensor().device());
    return histogram.add(sum.to(histogram.device()));
  }
  const at::Tensor sum = in_place ? histogram : histogram.clone();
  count_places(sum, more);
  return sum;
}

void CurveState::compact() {
  if (places.size() * kBucketsPerPlace < 2 * curves * columns ||
      places.size() == 0) {
    return;
  }
  histogram = counted(histogram.defined() && is_sole_owner(histogram));
  places = Rows();
}

namespace internal {

CurveState CurveRules::binned_state(std::int64_t count) const {
  CurveState state;
  state.curves = shape_.curves;
  state.columns = grid_.size() + 2;
  const std::int64_t buckets = 2 * state.curves * state.columns;
  if (buckets <= std::max(kSmallHistogram, kBucketsPerPlace * count) ||
      buckets > std::numeric_limits<std::int32_t>::max()) {
    state.histogram = fresh_zeros({state.curves, 2, state.columns}, at::kLong);
  } else {
    state.places = Rows(fresh_tensor({count}, at::kInt));
  }
  return state;
}

CurveRules::Lookup::Lookup(const ThresholdGrid& grid, std::int64_t scores)
    : grid_(grid) {
  if (!grid.uniform() && scores >= kWorthATable) {
    table_.emplace(grid.edges(), grid.size());
  }
}

bool CurveRules::Lookup::places(const float* scores, const std::uint8_t* codes,
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

bool CurveRules::Lookup::places(const double* scores, const std::uint8_t* codes,
                                std::int64_t size,
                                std::uint32_t* places) const {
  if (table_) {
    return fill_places(scores, codes, size, places,
                       [&](double score) { return table_->bucket(score); });
  }
  return fill_places(scores, codes, size, places,
                     [&](double score) { return grid_.bucket(score); });
}

template <class Score, class Bucket>
bool CurveRules::Lookup::fill_places(const Score* scores,
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

std::int64_t CurveRules::bucket_outside(double score,
                                        std::int64_t position) const {
  if (std::isnan(score)) return grid_.size() + 1;
  if (validate_args_) refuse_probability(score, position);
  return grid_.bucket(score);
}

CurveState CurveRules::histogram_of(const at::Tensor& probabilities,
                                    const at::Tensor& positive,
                                    const at::Tensor& kept,
                                    std::int64_t per_position) const {
  if (validate_args_) {
    at::Tensor outside = probabilities.lt(0).logical_or_(probabilities.gt(1));
    if (kept.defined()) outside.logical_and_(kept);
    if (const auto i = first_true(outside)) {
      refuse_probability(
          probabilities.reshape(-1).select(0, *i).item().toDouble(),
          *i / per_position);
    }
  }
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
  const at::Tensor weight =
      kept.defined() ? kept.expand_as(probabilities).reshape(-1).to(at::kLong)
                     : at::ones({places.numel()}, options);
  state.histogram = at::zeros({2 * state.curves * state.columns}, options)
                        .scatter_add_(0, places, weight)
                        .view({state.curves, 2, state.columns});
  return state;
}

}  // namespace internal
}  // namespace tally
