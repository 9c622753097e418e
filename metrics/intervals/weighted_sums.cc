#include "tally/metrics/intervals/weighted_sums.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/intervals/kernels/weight_kernels.h"

namespace tally::internal::intervals {
namespace {

constexpr std::size_t kMostKinds = 16;

void add_scaled(double factor, const std::uint8_t* weights, std::int64_t count,
                double* sums) {
  if (std::isfinite(factor)) {
    add_weights(weights, count, factor, sums);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (weights[i] != 0) sums[i] += factor * weights[i];
  }
}

}  // namespace

WeightedSums::WeightedSums(const ReplicateWeights& weights, std::int64_t width)
    : weights_(weights),
      width_(width),
      drawn_(static_cast<std::size_t>(weights.replicates())) {}

std::vector<double>* WeightedSums::kind_of(const double* row) {
  // NaN are not equal to themselves.
  if (std::any_of(row, row + width_,
                  [](double x) { return !std::isfinite(x); }))
    return nullptr;
  key_.assign(row, row + width_);
  const auto found = kinds_.find(key_);
  if (found != kinds_.end()) return &found->second;
  if (kinds_.size() >= kMostKinds) return nullptr;
  return &kinds_.emplace(key_, std::vector<double>(drawn_.size(), 0.0))
              .first->second;
}

void WeightedSums::add(std::int64_t id, const double* row) {
  weights_.fill(id, drawn_.data());
  const std::int64_t count = weights_.replicates();
  if (std::vector<double>* const kind = kind_of(row)) {
    add_scaled(1, drawn_.data(), count, kind->data());
    return;
  }
  if (others_.empty()) {
    others_.assign(static_cast<std::size_t>(width_ * count), 0.0);
  }
  for (std::int64_t i = 0; i < width_; ++i) {
    if (row[i] != 0) {
      add_scaled(row[i], drawn_.data(), count, others_.data() + i * count);
    }
  }
}

at::Tensor WeightedSums::sums() const {
  const std::int64_t count = weights_.replicates();
  at::Tensor sums = at::zeros({width_, count}, at::kDouble);
  auto* const data = sums.mutable_data_ptr<double>();
  if (!others_.empty()) std::copy(others_.begin(), others_.end(), data);
  for (const auto& [row, times] : kinds_) {
    for (std::int64_t i = 0; i < width_; ++i) {
      const double factor = row[static_cast<std::size_t>(i)];
      if (factor == 0) continue;
      for (std::int64_t r = 0; r < count; ++r) {
        data[i * count + r] += factor * times[static_cast<std::size_t>(r)];
      }
    }
  }
  return sums;
}

}  // namespace tally::internal::intervals
