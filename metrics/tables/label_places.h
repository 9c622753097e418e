#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tally::internal::tables {

/// Labels by their places: the labels that occur have, in ascending order, the
/// places 0, 1, and so on.
struct LabelPlaces {
  std::vector<std::uint32_t> places;  // of each sample
  std::vector<std::int64_t> labels;   // by place
};

/// Of any labels; that of sample i is labels[i * stride]. c10::ValueError for
/// 2^32 samples or more.
LabelPlaces label_places(const std::int64_t* labels, std::int64_t count,
                         std::int64_t stride = 1);
/// REQUIRES: int64 [N], contiguous, on the CPU.
LabelPlaces label_places(const at::Tensor& labels);

/// The places sorted by counting: order[begins[p]] to order[begins[p + 1] - 1]
/// are the samples of place p, first ones first.
struct PlaceOrder {
  std::vector<std::int64_t> begins;  // and the number of samples at the end
  std::vector<std::uint32_t> order;
};
PlaceOrder order_by_place(const LabelPlaces& labels);

}  // namespace tally::internal::tables
