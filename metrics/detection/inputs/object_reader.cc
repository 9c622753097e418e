#include "tally/metrics/detection/inputs/object_reader.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <type_traits>

#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/tables/label_range.h"

// Widths are compiled without contraction to fused multiply-adds (BUILD).
namespace tally::internal::detection {
namespace {

template <class T>
void copy_values(const at::Tensor& from, T* to) {
  const at::Tensor plain = from.detach().to(at::kCPU).contiguous();
  visit_values(plain, [&](const auto* values) {
    for (std::int64_t i = 0; i < plain.numel(); ++i) {
      if constexpr (std::is_same_v<T, std::uint8_t>) {
        to[i] = values[i] != 0;
      } else {
        to[i] = static_cast<T>(values[i]);
      }
    }
  });
}

// What is expected of a tensor of `count` objects.
struct Expected {
  const char* what;
  enum Numbers { kReal, kWhole, kMask };
  Numbers numbers = kReal;
  std::vector<std::int64_t> row = {};  ///< sizes of a row; -1: any
};

void check_tensor(const std::string& place, const Expected& expected,
                  const at::Tensor& tensor, std::int64_t count) {
  if (count == 0 && !tensor.defined()) return;
  TORCH_CHECK_TYPE(tensor.defined(), place, ": expected ", expected.what,
                   ", got none");
  const at::ScalarType type = tensor.scalar_type();
  const bool is_float = at::isFloatingType(type);
  const bool is_mask = expected.numbers == Expected::kMask;
  TORCH_CHECK_TYPE(!at::isComplexType(type) && !(is_mask && is_float), place,
                   ": expected ", is_mask ? "bool or integer " : "real ",
                   expected.what, ", got ", type,
                   is_float ? "; threshold them: masks > 0.5" : "");
  // A tensor without objects may have any shape.
  bool fits = count == 0 && tensor.numel() == 0;
  if (tensor.dim() == static_cast<std::int64_t>(expected.row.size()) + 1) {
    fits |= tensor.size(0) == count &&
            std::equal(expected.row.begin(), expected.row.end(),
                       tensor.sizes().begin() + 1,
                       [](std::int64_t wanted, std::int64_t size) {
                         return wanted == -1 || wanted == size;
                       });
  }
  std::string row;
  for (const std::int64_t size : expected.row) {
    row += ", " + (size == -1 ? std::string("*") : std::to_string(size));
  }
  TORCH_CHECK_VALUE(fits, place, ": expected ", expected.what, " [", count, row,
                    "] for ", count, " labels, got ", tensor.sizes());
  if (is_float && expected.numbers == Expected::kWhole) {
    tables::check_whole_numbers(expected.what, tensor, place + ": ");
  }
}

}  // namespace

std::int64_t ObjectReader::check(const std::string& place,
                                 const ImageObjects& objects) const {
  TORCH_CHECK_TYPE(objects.labels.defined(), place,
                   ": expected labels, got none");
  const std::int64_t count = objects.labels.numel();
  check_tensor(place, {"labels", Expected::kWhole}, objects.labels, count);
  if (rules_.has_boxes()) {
    check_tensor(place, {"boxes", Expected::kReal, {4}}, objects.boxes, count);
  }
  if (rules_.only_boxes) return count;
  if (rules_.shape == ObjectShape::kSegm && objects.masks.defined()) {
    check_tensor(place, {"masks", Expected::kMask, {-1, -1}}, objects.masks,
                 count);
  } else if (rules_.shape == ObjectShape::kSegm) {
    TORCH_CHECK_VALUE(objects.runs.size() == static_cast<std::size_t>(count),
                      place, ": expected masks or runs of ", count,
                      " objects, got ", objects.runs.size());
  }
  if (rules_.shape == ObjectShape::kKeypoints) {
    const auto points = static_cast<std::int64_t>(rules_.sigmas.size());
    const bool is_flat = rules_.is_detected && objects.keypoints.defined() &&
                         objects.keypoints.size(-1) == 2;
    check_tensor(place,
                 {"keypoints", Expected::kReal, {points, is_flat ? 2 : 3}},
                 objects.keypoints, count);
  }
  if (rules_.is_detected) {
    check_tensor(place, {"scores"}, objects.scores, count);
    return count;
  }
  if (objects.iscrowd.defined()) {
    check_tensor(place, {"iscrowd", Expected::kWhole}, objects.iscrowd, count);
  }
  if (objects.ignore.defined()) {
    check_tensor(place, {"ignore", Expected::kWhole}, objects.ignore, count);
  }
  if (objects.area.defined()) {
    check_tensor(place, {"area"}, objects.area, count);
  }
  return count;
}

void ObjectReader::read(const ImageObjects& objects, std::size_t at) const {
  const auto count = static_cast<std::size_t>(objects.labels.numel());
  if (count == 0) return;
  copy_values(objects.labels, &columns_.labels[at]);
  if (rules_.has_boxes()) read_boxes(objects, at, count);
  if (rules_.only_boxes) return;
  if (rules_.shape == ObjectShape::kKeypoints) {
    read_keypoints(objects, at, count);
  }
  if (rules_.is_detected) {
    copy_values(objects.scores, &columns_.scores[at]);
  } else {
    const bool is_coco = rules_.kind == MatchRules::Kind::kCoco;
    if (is_coco && objects.iscrowd.defined()) {
      copy_values(objects.iscrowd, &columns_.crowds[at]);
    }
    if (!is_coco && objects.ignore.defined()) {
      copy_values(objects.ignore, &columns_.ignores[at]);
    }
  }
  read_areas(objects, at, count);
}

void ObjectReader::read_boxes(const ImageObjects& objects, std::size_t at,
                              std::size_t count) const {
  double* box = &columns_.boxes[4 * at];
  copy_values(objects.boxes, box);
  scale(box, at, count, 4, 2);
  const double* const end = box + 4 * count;
  const BoxFormat format = objects.box_format.value_or(rules_.format);
  if (format == BoxFormat::kCXCYWH) {
    for (double* each = box; each != end; each += 4) {
      each[0] -= each[2] / 2;
      each[1] -= each[3] / 2;
    }
  }
  const bool has_corners = format == BoxFormat::kXYXY;
  if (has_corners == rules_.has_corners()) return;
  const double sign = has_corners ? -1 : 1;
  for (; box != end; box += 4) {
    box[2] += sign * box[0];
    box[3] += sign * box[1];
  }
}

void ObjectReader::scale(double* values, std::size_t at, std::size_t count,
                         std::size_t numbers, std::size_t step) const {
  if (rules_.sizes == nullptr) return;
  const auto& offsets = columns_.offsets;
  auto next = std::upper_bound(offsets.begin(), offsets.end(),
                               static_cast<std::int64_t>(at));
  for (std::size_t i = at; i < at + count; ++i, values += numbers) {
    while (*next <= static_cast<std::int64_t>(i)) ++next;
    const auto image = static_cast<std::size_t>(next - offsets.begin() - 1);
    const double* size = rules_.sizes->data() + 2 * image;
    for (std::size_t k = 0; k < numbers; k += step) {
      values[k] *= size[1];
      values[k + 1] *= size[0];
    }
  }
}

void ObjectReader::read_judged_labels(const ImageObjectsList& list) const {
  TORCH_CHECK_VALUE(!list.flat(), rules_.input,
                    ": expected a list of images, got joined ones, which have "
                    "no negative_labels");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const ImageObjects& image = list.images()[i];
    const auto read_labels = [&](const char* what, const at::Tensor& labels) {
      std::vector<std::int64_t> sorted;
      if (!labels.defined()) return sorted;
      check_tensor(rules_.image(i), {what, Expected::kWhole}, labels,
                   labels.numel());
      sorted.resize(static_cast<std::size_t>(labels.numel()));
      copy_values(labels, sorted.data());
      std::sort(sorted.begin(), sorted.end());
      return sorted;
    };
    columns_.negatives.push_back(
        read_labels("negative_labels", image.negative_labels));
    columns_.inexhaustives.push_back(
        read_labels("inexhaustive_labels", image.inexhaustive_labels));
  }
}

void ObjectReader::read_areas(const ImageObjects& objects, std::size_t at,
                              std::size_t count) const {
  if (!rules_.is_detected && objects.area.defined()) {
    copy_values(objects.area, &columns_.areas[at]);
    return;
  }
  // Those of masks come with them.
  if (rules_.shape == ObjectShape::kSegm) return;
  for (std::size_t i = at; i < at + count; ++i) {
    const double* box = rules_.has_boxes() ? &columns_.boxes[4 * i] : nullptr;
    columns_.areas[i] = box ? box[2] * box[3] : area_of_keypoints(i);
  }
}

void ObjectReader::read_keypoints(const ImageObjects& objects, std::size_t at,
                                  std::size_t count) const {
  const std::size_t points = rules_.sigmas.size();
  const auto numbers = static_cast<std::size_t>(objects.keypoints.size(-1));
  std::vector<double> values(count * points * numbers);
  copy_values(objects.keypoints, values.data());
  scale(values.data(), at, count, points * numbers, numbers);
  double* to = &columns_.keypoints[3 * points * at];
  for (std::size_t i = 0; i < count * points; ++i) {
    std::copy_n(&values[numbers * i], numbers, to + 3 * i);
    columns_.visible[at + i / points] += to[3 * i + 2] > 0 ? 1 : 0;
  }
}

double ObjectReader::area_of_keypoints(std::size_t object) const {
  const std::size_t points = rules_.sigmas.size();
  const double* first = &columns_.keypoints[3 * points * object];
  double left = first[0], right = first[0], top = first[1], bottom = first[1];
  for (std::size_t k = 1; k < points; ++k) {
    const double* point = first + 3 * k;
    left = std::min(left, point[0]);
    right = std::max(right, point[0]);
    top = std::min(top, point[1]);
    bottom = std::max(bottom, point[1]);
  }
  return (right - left) * (bottom - top);
}

void ObjectReader::read_masks(const ImageObjects& objects, std::size_t at,
                              std::size_t begin, std::size_t end) const {
  if (rules_.shape != ObjectShape::kSegm) return;
  const bool has_area = !rules_.is_detected && objects.area.defined();
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t place = at + i - begin;
    const RunLengthMask* mask = nullptr;
    if (objects.masks.defined()) {
      columns_.encoded[place] = RunLengthMask::from_tensor(
          objects.masks.select(0, static_cast<std::int64_t>(i)));
      mask = &columns_.encoded[place];
    } else {
      mask = &objects.runs[i];
    }
    columns_.masks[place] = mask;
    if (!has_area) columns_.areas[place] = static_cast<double>(mask->area());
  }
}

}  // namespace tally::internal::detection
