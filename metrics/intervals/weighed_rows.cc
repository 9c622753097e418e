#include "tally/metrics/intervals/weighed_rows.h"

#include <ATen/core/Tensor.h>

#include <utility>

namespace tally::internal::intervals {

WeighedRows::WeighedRows(Inputs inputs, std::optional<std::size_t> weight_place,
                         std::int64_t rows)
    : refs_(inputs.begin(), inputs.end()) {
  if (!weight_place || inputs.size() <= *weight_place) return;
  const auto* const weight = inputs[*weight_place].as<at::Tensor>();
  if (weight == nullptr || !weight->defined() || weight->dim() != 1 ||
      weight->size(0) != rows || weight->is_complex()) {
    return;
  }
  const at::Tensor weights =
      weight->detach().to(at::kCPU, at::kDouble).contiguous();
  const auto* const data = weights.const_data_ptr<double>();
  std::vector<std::int64_t> places;
  bool are_ones = true;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (data[row] == 0) continue;
    places.push_back(row);
    are_ones = are_ones && data[row] == 1;
  }
  if (static_cast<std::int64_t>(places.size()) < rows) {
    for (std::size_t i = 0; i < refs_.size(); ++i) {
      if (refs_[i].rows() < 0) continue;
      values_.push_back(refs_[i].select(places));
      refs_[i] = values_.back().ref();
    }
    left_out_ = rows - static_cast<std::int64_t>(places.size());
    places_ = std::move(places);
  }
  if (are_ones) refs_[*weight_place] = InputRef::none();
}

std::vector<std::int64_t> WeighedRows::selected(
    std::vector<std::int64_t> ids) const {
  if (!places_) return ids;
  std::vector<std::int64_t> left;
  for (const std::int64_t place : *places_) {
    left.push_back(ids[static_cast<std::size_t>(place)]);
  }
  return left;
}

}  // namespace tally::internal::intervals
