#include "tally/metrics/classification/curves/curve_state.h"

#include <algorithm>

#include "tally/metrics/classification/curves/score_counts.h"
#include "tally/state/fresh_tensor.h"
#include "tally/state/sole_owner.h"

namespace tally {

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

void CurveState::compact() {
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
