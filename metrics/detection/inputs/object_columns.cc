#include "tally/metrics/detection/inputs/object_columns.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "tally/metrics/plain_values.h"

// Widths are compiled without contraction to fused multiply-adds (BUILD).
namespace tally::internal::detection {
namespace {

// So many images are worth another thread.
constexpr std::int64_t kGrain = 64;
constexpr std::int64_t kMostLabel = std::numeric_limits<std::int32_t>::max();

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

void check_values(const ReadRules& rules, std::size_t image, const char* what,
                  const at::Tensor& tensor, bool is_integer, std::int64_t count,
                  bool is_box) {
  TORCH_CHECK_TYPE(tensor.defined(), rules.image(image), ": expected ", what,
                   ", got none");
  const at::ScalarType type = tensor.scalar_type();
  TORCH_CHECK_TYPE(is_integer ? at::isIntegralType(type, /*includeBool=*/true)
                              : !at::isComplexType(type),
                   rules.image(image), ": expected ",
                   is_integer ? "integer " : "real ", what, ", got ", type);
  // A tensor without objects may have any shape.
  const bool fits = count == 0 ? tensor.numel() == 0
                    : is_box   ? tensor.dim() == 2 && tensor.size(0) == count &&
                                   tensor.size(1) == 4
                             : tensor.dim() == 1 && tensor.size(0) == count;
  TORCH_CHECK_VALUE(fits, rules.image(image), ": expected ", what, " [", count,
                    is_box ? ", 4" : "", "] for ", count, " labels, got ",
                    tensor.sizes());
}

// Reads `objects`, those of `image` or of all, to the place `at`.
class ObjectReader {
 public:
  ObjectReader(const ReadRules& rules, ObjectColumns& columns)
      : rules_(rules), columns_(columns) {}

  std::int64_t check(std::size_t image, const ImageObjects& objects) const {
    TORCH_CHECK_TYPE(objects.labels.defined(), rules_.image(image),
                     ": expected labels, got none");
    const std::int64_t count = objects.labels.numel();
    const auto require = [&](const char* what, const at::Tensor& tensor,
                             bool is_integer, bool is_box = false) {
      check_values(rules_, image, what, tensor, is_integer, count, is_box);
    };
    require("labels", objects.labels, true);
    require("boxes", objects.boxes, false, true);
    if (rules_.is_detected) require("scores", objects.scores, false);
    if (rules_.is_detected) return count;
    if (objects.iscrowd.defined()) require("iscrowd", objects.iscrowd, true);
    if (objects.area.defined()) require("area", objects.area, false);
    return count;
  }

  void read(const ImageObjects& objects, std::size_t at) const {
    const auto count = static_cast<std::size_t>(objects.labels.numel());
    if (count == 0) return;
    copy_values(objects.labels, &columns_.labels[at]);
    copy_values(objects.boxes, &columns_.boxes[4 * at]);
    to_corner_and_size(objects.box_format.value_or(rules_.format), at, count);
    if (rules_.is_detected) copy_values(objects.scores, &columns_.scores[at]);
    if (!rules_.is_detected && objects.iscrowd.defined()) {
      copy_values(objects.iscrowd, &columns_.crowds[at]);
    }
    if (!rules_.is_detected && objects.area.defined()) {
      copy_values(objects.area, &columns_.areas[at]);
    } else {
      for (std::size_t i = at; i < at + count; ++i) {
        columns_.areas[i] =
            columns_.boxes[4 * i + 2] * columns_.boxes[4 * i + 3];
      }
    }
  }

 private:
  void to_corner_and_size(BoxFormat format, std::size_t at,
                          std::size_t count) const {
    double* box = &columns_.boxes[4 * at];
    const double* const end = box + 4 * count;
    switch (format) {
      case BoxFormat::kXYXY:
        for (; box != end; box += 4) {
          box[2] -= box[0];
          box[3] -= box[1];
        }
        break;
      case BoxFormat::kXYWH:
        break;
      case BoxFormat::kCXCYWH:
        for (; box != end; box += 4) {
          box[0] -= box[2] / 2;
          box[1] -= box[3] / 2;
        }
        break;
    }
  }

  const ReadRules& rules_;
  ObjectColumns& columns_;
};

void check_object(const ReadRules& rules, const ObjectColumns& columns,
                  std::size_t image, std::size_t i) {
  const double* box = &columns.boxes[4 * i];
  const std::size_t place =
      i - static_cast<std::size_t>(columns.offsets[image]);
  const std::int64_t label = columns.labels[i];
  TORCH_CHECK_VALUE(label >= 0 && label <= kMostLabel, rules.image(image),
                    ": expected labels from 0 to ", kMostLabel, ", got ", label,
                    " for box ", place);
  for (int side = 0; side < 4; ++side) {
    TORCH_CHECK_VALUE(std::isfinite(box[side]), rules.image(image),
                      ": expected finite boxes, got ", box[side], " for box ",
                      place);
  }
  TORCH_CHECK_VALUE(box[2] >= 0 && box[3] >= 0, rules.image(image),
                    ": expected boxes of no negative width or height, got ",
                    box[2], " x ", box[3], " for box ", place);
  const double number =
      rules.is_detected ? columns.scores[i] : columns.areas[i];
  TORCH_CHECK_VALUE(!std::isnan(number), rules.image(image), ": expected ",
                    rules.is_detected ? "scores" : "areas",
                    " without NaN, got one for box ", place);
}

void check_objects(const ReadRules& rules, const ObjectColumns& columns) {
  for (std::size_t image = 0; image < columns.images(); ++image) {
    for (auto i = static_cast<std::size_t>(columns.offsets[image]);
         i < static_cast<std::size_t>(columns.offsets[image + 1]); ++i) {
      check_object(rules, columns, image, i);
    }
  }
}

}  // namespace

std::string ReadRules::image(std::size_t i) const {
  std::string text = std::string(input) + " of image " + std::to_string(i);
  if (ids) text += " (id " + std::to_string(ids[i]) + ")";
  return text;
}

ObjectColumns read_objects(const ImageObjectsList& list,
                           const ReadRules& rules) {
  ObjectColumns columns;
  const ObjectReader reader(rules, columns);
  if (const FlatImageObjects* flat = list.flat()) {
    columns.offsets = flat->offsets();
    ReadRules all = rules;
    all.ids = nullptr;
    const std::int64_t count =
        ObjectReader(all, columns).check(0, flat->objects);
    TORCH_CHECK_VALUE(columns.offsets.back() == count, rules.input,
                      ": expected counts that add up to the ", count,
                      " labels, got ", columns.offsets.back());
  } else {
    for (std::size_t i = 0; i < list.size(); ++i) {
      columns.offsets.push_back(columns.offsets.back() +
                                reader.check(i, list.images()[i]));
    }
  }
  const auto count = static_cast<std::size_t>(columns.offsets.back());
  columns.labels.resize(count);
  columns.boxes.resize(4 * count);
  columns.areas.resize(count);
  if (rules.is_detected) {
    columns.scores.resize(count);
  } else {
    columns.crowds.resize(count);
  }
  if (const FlatImageObjects* flat = list.flat()) {
    reader.read(flat->objects, 0);
  } else {
    at::parallel_for(0, static_cast<std::int64_t>(list.size()), kGrain,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (auto i = static_cast<std::size_t>(begin);
                            i < static_cast<std::size_t>(end); ++i) {
                         reader.read(list.images()[i], static_cast<std::size_t>(
                                                           columns.offsets[i]));
                       }
                     });
  }
  if (rules.validate) check_objects(rules, columns);
  return columns;
}

}  // namespace tally::internal::detection
