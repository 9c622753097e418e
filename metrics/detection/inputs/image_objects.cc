#include "tally/metrics/detection/inputs/image_objects.h"

#include <c10/util/Exception.h>

#include <cstdint>

namespace tally {

ImageObjects ImageObjects::slice(std::int64_t begin, std::int64_t end) const {
  ImageObjects part = *this;
  for (at::Tensor* each :
       {&part.boxes, &part.scores, &part.labels, &part.iscrowd, &part.area,
        &part.ignore, &part.masks, &part.keypoints}) {
    if (each->defined()) *each = each->slice(0, begin, end);
  }
  if (!runs.empty()) {
    part.runs.assign(runs.begin() + begin, runs.begin() + end);
  }
  return part;
}

std::vector<at::Tensor> tensors_of(const std::vector<ImageObjects>& images) {
  std::vector<at::Tensor> tensors;
  for (const ImageObjects& image : images) {
    tensors.push_back(image.boxes.defined() ? image.boxes : image.masks);
  }
  return tensors;
}

std::vector<at::Tensor> tensors_of(const FlatImageObjects& flat) {
  return tensors_of(std::vector<ImageObjects>{flat.objects});
}

std::vector<std::int64_t> FlatImageObjects::offsets() const {
  TORCH_CHECK_TYPE(
      counts.defined() && at::isIntegralType(counts.scalar_type(), false),
      "expected an int tensor of counts with joined objects");
  TORCH_CHECK_VALUE(counts.dim() == 1, "expected counts [N], got ",
                    counts.sizes());
  const at::Tensor numbers = counts.to(at::kCPU, at::kLong).contiguous();
  const std::int64_t* count = numbers.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> offsets(1, 0);
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    TORCH_CHECK_VALUE(count[i] >= 0 && count[i] <= INT64_MAX - offsets.back(),
                      "expected counts of 0 or more objects, got ", count[i],
                      " for image ", i);
    offsets.push_back(offsets.back() + count[i]);
  }
  return offsets;
}

std::vector<ImageObjects> ImageObjectsList::select(
    c10::ArrayRef<std::int64_t> places) const {
  std::vector<ImageObjects> rows;
  rows.reserve(places.size());
  const std::vector<std::int64_t> offsets =
      flat_ ? flat_->offsets() : std::vector<std::int64_t>();
  for (const std::int64_t place : places) {
    const auto i = static_cast<std::size_t>(place);
    rows.push_back(flat_ ? flat_->objects.slice(offsets[i], offsets[i + 1])
                         : images_[i]);
    at::Tensor& size = rows.back().image_size;
    if (flat_ && size.defined()) size = size.select(0, place);
  }
  return rows;
}

namespace internal {

std::optional<ImageObjectsList> InputConversion<ImageObjectsList>::of(
    const InputRef& input) {
  if (const auto* list = input.as<ImageObjectsList>()) return *list;
  if (const auto* images = input.as<std::vector<ImageObjects>>()) {
    return *images;
  }
  if (const auto* view = input.as<c10::ArrayRef<ImageObjects>>()) return *view;
  if (const auto* flat = input.as<FlatImageObjects>()) return *flat;
  return std::nullopt;
}

std::int64_t InputTraits<ImageObjectsList>::rows(const void* list) {
  return static_cast<std::int64_t>(
      static_cast<const ImageObjectsList*>(list)->size());
}

InputValue InputTraits<ImageObjectsList>::select(
    const void* list, c10::ArrayRef<std::int64_t> places) {
  return InputValue::of(
      static_cast<const ImageObjectsList*>(list)->select(places));
}

std::int64_t InputTraits<FlatImageObjects>::rows(const void* flat) {
  return static_cast<const FlatImageObjects*>(flat)->counts.numel();
}

InputValue InputTraits<FlatImageObjects>::select(
    const void* flat, c10::ArrayRef<std::int64_t> places) {
  return InputValue::of(
      ImageObjectsList(*static_cast<const FlatImageObjects*>(flat))
          .select(places));
}

}  // namespace internal
}  // namespace tally
