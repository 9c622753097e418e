#include "tally/metrics/classification/options/thresholds.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

#include "tally/metrics/common/constants.h"

namespace tally {

void Thresholds::validate(const char* owner) const {
  if (const auto* count = std::get_if<std::int64_t>(&value_)) {
    TORCH_CHECK_VALUE(*count >= 2, owner,
                      ": expected thresholds to be at least 2, got ", *count);
  } else if (const auto* list = std::get_if<std::vector<double>>(&value_)) {
    TORCH_CHECK_VALUE(!list->empty(), owner,
                      ": expected at least one threshold, got an empty list");
    double last = -1;
    for (const double threshold : *list) {
      TORCH_CHECK_VALUE(threshold >= 0 && threshold <= 1 && threshold > last,
                        owner,
                        ": expected thresholds in [0, 1] in ascending order, "
                        "got ",
                        *list);
      last = threshold;
    }
  }
}

namespace internal::classification {

ThresholdGrid::ThresholdGrid(const Thresholds& thresholds) {
  if (const auto* count = std::get_if<std::int64_t>(&thresholds.value())) {
    uniform_ = true;
    size_ = *count;
    scale_ = static_cast<double>(size_ - 1);
    edges_.reserve(size_ + 1);
    for (std::int64_t i = 0; i < size_; ++i) {
      edges_.push_back(static_cast<double>(i) / scale_);
    }
  } else if (const auto* list =
                 std::get_if<std::vector<double>>(&thresholds.value())) {
    edges_ = *list;
    size_ = static_cast<std::int64_t>(edges_.size());
  }
  edges_.push_back(kInfinity);
}

at::Tensor ThresholdGrid::bucket(const at::Tensor& scores) const {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  // arange divided by a number is the same on every device, and nothing has
  // to be copied there.
  const at::Tensor edges =
      uniform_
          ? at::arange(size_, options.device(scores.device())).div_(scale_)
          : at::from_blob(const_cast<double*>(edges_.data()), {size_}, options)
                .to(scores.device());
  return at::bucketize(scores.to(at::kDouble).contiguous(), edges,
                       /*out_int32=*/false,
                       /*right=*/true);
}

}  // namespace internal::classification
}  // namespace tally
