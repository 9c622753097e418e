#include "tally/python/csrc/images.h"

#include <c10/util/Exception.h>

#include <algorithm>

namespace tally::python {
namespace {

struct Field {
  const char* name;
  at::Tensor ImageObjects::*tensor;
};
constexpr Field kFields[] = {
    {"boxes", &ImageObjects::boxes},
    {"scores", &ImageObjects::scores},
    {"labels", &ImageObjects::labels},
    {"iscrowd", &ImageObjects::iscrowd},
    {"area", &ImageObjects::area},
    {"ignore", &ImageObjects::ignore},
    {"masks", &ImageObjects::masks},
    {"keypoints", &ImageObjects::keypoints},
    {"negative_labels", &ImageObjects::negative_labels},
    {"inexhaustive_labels", &ImageObjects::inexhaustive_labels},
};

template <class T>
std::vector<T> numbers_of(const at::Tensor& tensor, at::ScalarType type) {
  const at::Tensor plain = tensor.detach().to(at::kCPU, type).contiguous();
  const T* values = plain.const_data_ptr<T>();
  return std::vector<T>(values, values + plain.numel());
}

RunLengthMask read_mask(InputSource& source) {
  const std::int64_t height = source.next_kind();
  const std::int64_t width = source.next_kind();
  const std::int64_t form = source.next_kind();
  if (form < 0) {
    return RunLengthMask::from_string(height, width, source.next_text());
  }
  if (form == 0) {
    return RunLengthMask::from_counts(
        height, width,
        numbers_of<std::int64_t>(source.next_tensor(), at::kLong));
  }
  std::vector<RunLengthMask::Polygon> polygons;
  for (std::int64_t i = 0; i < form; ++i) {
    polygons.push_back(numbers_of<double>(source.next_tensor(), at::kDouble));
  }
  return RunLengthMask::from_polygons(height, width, polygons);
}

}  // namespace

std::vector<std::string> image_fields() {
  std::vector<std::string> names;
  for (const Field& field : kFields) names.emplace_back(field.name);
  return names;
}

ImageObjects read_image_objects(InputSource& source) {
  ImageObjects objects;
  const std::int64_t present = source.next_kind();
  std::int64_t bit = 1;
  for (const Field& field : kFields) {
    if (present & bit) objects.*field.tensor = source.next_tensor();
    bit *= 2;
  }
  const std::int64_t masks = source.next_kind();
  for (std::int64_t i = 0; i < masks; ++i) {
    objects.runs.push_back(read_mask(source));
  }
  return objects;
}

}  // namespace tally::python
