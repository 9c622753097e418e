#include "tally/metrics/features/memorization_informed_frechet_inception_distance.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/features/kernels/frechet_distance.h"

namespace tally {

namespace features = internal::features;

namespace {

// By so much rounding does not bring the generated samples near.
constexpr double kAlmost = 1e-9;
// Rows whose cosines are taken at a time.
constexpr std::int64_t kRows = 1024;

// Of length 1, without those of zeros.
at::Tensor directions(const at::Tensor& rows) {
  const at::Tensor lengths = rows.square().sum(1).sqrt();
  const at::Tensor kept = lengths.gt(0).nonzero().squeeze(1);
  return rows.index_select(0, kept).div(
      lengths.index_select(0, kept).unsqueeze(1));
}

// NaN if either is empty.
double mean_distance(const at::Tensor& real, const at::Tensor& generated) {
  const at::Tensor from = directions(generated), to = directions(real).t();
  if (to.numel() == 0) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (std::int64_t row = 0; row < from.size(0); row += kRows) {
    const at::Tensor nearest =
        from.narrow(0, row, std::min(kRows, from.size(0) - row))
            .matmul(to)
            .abs()
            .amax(1);
    sum += nearest.neg().add(1).sum().item().toDouble();
  }
  return sum / static_cast<double>(from.size(0));
}

}  // namespace

void MemorizationInformedFrechetInceptionDistanceOptions::validate(
    const char* metric) const {
  TORCH_CHECK_VALUE(cosine_distance_eps_ > 0 && cosine_distance_eps_ <= 1,
                    metric,
                    ": option 'cosine_distance_eps': expected a number in "
                    "(0, 1], got ",
                    cosine_distance_eps_);
}

at::Tensor MemorizationInformedFrechetInceptionDistance::evaluate(
    const State& state) const {
  const auto [real, generated] = features::ordered(state);
  if (real.size() < 2 || generated.size() < 2) {
    return internal::scalar_tensor(std::numeric_limits<double>::quiet_NaN());
  }
  const at::Tensor fid = features::frechet_distance(
      features::moments_of(real.rows), features::moments_of(generated.rows));
  const double distance = mean_distance(real.rows, generated.rows);
  const bool is_far =
      distance >= options().cosine_distance_eps() * (1 - kAlmost);
  return fid.div((is_far ? 1 : distance) + 1e-14);
}

}  // namespace tally
