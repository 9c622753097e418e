#include "tally/metrics/detection/inputs/object_columns.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/detection/inputs/object_reader.h"

namespace tally::internal::detection {
namespace {

// So many images are worth another thread.
constexpr std::int64_t kGrain = 16;
constexpr std::int64_t kMostLabel = std::numeric_limits<std::int32_t>::max();

void check_box(const ReadRules& rules, BoxFormat given, std::size_t image,
               std::size_t place, const double* box) {
  for (int side = 0; side < 4; ++side) {
    TORCH_CHECK_VALUE(std::isfinite(box[side]), rules.image(image),
                      ": expected finite boxes, got ", box[side], " for box ",
                      place);
  }
  const bool has_corners = rules.has_corners();
  const double width = has_corners ? box[2] - box[0] : box[2];
  const double height = has_corners ? box[3] - box[1] : box[3];
  // Sizes in place of a right and a bottom edge are above 0.
  const bool may_be_sizes =
      given == BoxFormat::kXYXY && box[0] + width > 0 && box[1] + height > 0;
  TORCH_CHECK_VALUE(
      width >= 0 && height >= 0, rules.image(image),
      ": expected boxes of no negative width or height, got ", width, " x ",
      height, " for box ", place,
      may_be_sizes ? ", read as left, top, right and bottom; if the last two "
                     "numbers are width and height, set box_format: xywh, or "
                     "cxcywh for centers"
                   : "");
}

void check_object(const ReadRules& rules, BoxFormat given,
                  const ObjectColumns& columns, std::size_t image,
                  std::size_t i) {
  const std::size_t place =
      i - static_cast<std::size_t>(columns.offsets[image]);
  const std::int64_t label = columns.labels[i];
  TORCH_CHECK_VALUE(label >= 0 && label <= kMostLabel, rules.image(image),
                    ": expected labels from 0 to ", kMostLabel, ", got ", label,
                    " for box ", place);
  if (rules.has_boxes()) {
    check_box(rules, given, image, place, &columns.boxes[4 * i]);
  }
  if (rules.only_boxes) return;
  const double number =
      rules.is_detected ? columns.scores[i] : columns.areas[i];
  TORCH_CHECK_VALUE(!std::isnan(number), rules.image(image), ": expected ",
                    rules.is_detected ? "scores" : "areas",
                    " without NaN, got one for box ", place);
  const std::size_t numbers = 3 * columns.sigmas.size();
  for (std::size_t k = 0; k < numbers; ++k) {
    const double value = columns.keypoints[numbers * i + k];
    TORCH_CHECK_VALUE(std::isfinite(value), rules.image(image),
                      ": expected finite keypoints, got ", value, " for box ",
                      place);
  }
}

void check_objects(const ImageObjectsList& list, const ReadRules& rules,
                   const ObjectColumns& columns) {
  for (std::size_t image = 0; image < columns.images(); ++image) {
    const ImageObjects& objects =
        list.flat() ? list.flat()->objects : list.images()[image];
    const BoxFormat given = objects.box_format.value_or(rules.format);
    for (auto i = static_cast<std::size_t>(columns.offsets[image]);
         i < static_cast<std::size_t>(columns.offsets[image + 1]); ++i) {
      check_object(rules, given, columns, image, i);
    }
  }
}

void resize(ObjectColumns& columns, const ReadRules& rules) {
  const auto count = static_cast<std::size_t>(columns.offsets.back());
  columns.labels.resize(count);
  if (rules.has_boxes()) columns.boxes.resize(4 * count);
  if (rules.only_boxes) return;
  columns.areas.resize(count);
  if (rules.is_detected) {
    columns.scores.resize(count);
  } else {
    columns.crowds.resize(count);
    columns.ignores.resize(count);
  }
  if (rules.shape == ObjectShape::kSegm) {
    columns.masks.resize(count);
    columns.encoded.resize(count, RunLengthMask(1, 1));
  }
  if (rules.shape == ObjectShape::kKeypoints) {
    columns.sigmas = rules.sigmas;
    columns.keypoints.resize(3 * count * rules.sigmas.size());
    columns.visible.resize(count);
  }
}

void read_sizes(const std::string& place, const at::Tensor& given,
                at::IntArrayRef shape, double* to) {
  TORCH_CHECK_TYPE(given.defined(), place,
                   ": expected image_size (height and width in pixels) for "
                   "normalized coordinates, got none");
  TORCH_CHECK_TYPE(at::isIntegralType(given.scalar_type(), false), place,
                   ": expected an integer image_size, got ",
                   given.scalar_type());
  TORCH_CHECK_VALUE(given.sizes() == shape, place, ": expected image_size ",
                    shape, ", got ", given.sizes());
  const at::Tensor plain = given.to(at::kCPU, at::kLong).contiguous();
  const auto* values = plain.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < plain.numel(); ++i) {
    TORCH_CHECK_VALUE(values[i] > 0, place,
                      ": expected an image_size of 1 or more pixels, got ",
                      values[i]);
    to[i] = static_cast<double>(values[i]);
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
  columns.shape = rules.shape;
  columns.has_corners = rules.has_corners();
  const ObjectReader reader(rules, columns);
  const FlatImageObjects* const flat = list.flat();
  if (flat) {
    columns.offsets = flat->offsets();
    const std::int64_t count = reader.check(rules.input, flat->objects);
    TORCH_CHECK_VALUE(columns.offsets.back() == count, rules.input,
                      ": expected counts that add up to the ", count,
                      " labels, got ", columns.offsets.back());
  } else {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const ImageObjects& image = list.images()[i];
      columns.offsets.push_back(columns.offsets.back() +
                                reader.check(rules.image(i), image));
    }
  }
  resize(columns, rules);
  if (flat) reader.read(flat->objects, 0);
  at::parallel_for(
      0, static_cast<std::int64_t>(list.size()), kGrain,
      [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin);
             i < static_cast<std::size_t>(end); ++i) {
          const auto at = static_cast<std::size_t>(columns.offsets[i]);
          if (flat) {
            const auto next = static_cast<std::size_t>(columns.offsets[i + 1]);
            reader.read_masks(flat->objects, at, at, next);
          } else {
            const ImageObjects& image = list.images()[i];
            reader.read(image, at);
            const auto count = static_cast<std::size_t>(image.labels.numel());
            reader.read_masks(image, at, 0, count);
          }
        }
      });
  if (rules.kind == MatchRules::Kind::kLvis && !rules.is_detected) {
    reader.read_judged_labels(list);
  }
  if (rules.validate) check_objects(list, rules, columns);
  return columns;
}

std::vector<double> read_image_sizes(const ImageObjectsList& list,
                                     const ReadRules& rules) {
  const auto images = static_cast<std::int64_t>(list.size());
  std::vector<double> sizes(static_cast<std::size_t>(2 * images));
  if (list.flat()) {
    read_sizes(rules.input, list.flat()->objects.image_size, {images, 2},
               sizes.data());
    return sizes;
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    read_sizes(rules.image(i), list.images()[i].image_size, {2}, &sizes[2 * i]);
  }
  return sizes;
}

void check_mask_sizes(const ObjectColumns& preds, const ReadRules& preds_rules,
                      const ObjectColumns& target,
                      const ReadRules& target_rules) {
  for (std::size_t image = 0; image < preds.images(); ++image) {
    const RunLengthMask* first = nullptr;
    const auto check = [&](const ObjectColumns& columns,
                           const ReadRules& rules) {
      const auto begin = static_cast<std::size_t>(columns.offsets[image]);
      const auto end = static_cast<std::size_t>(columns.offsets[image + 1]);
      for (std::size_t i = begin; i < end; ++i) {
        const RunLengthMask& mask = *columns.masks[i];
        if (!first) first = &mask;
        TORCH_CHECK_VALUE(
            mask.height() == first->height() && mask.width() == first->width(),
            rules.image(image), ": expected masks of ", first->height(), " x ",
            first->width(), ", got ", mask.height(), " x ", mask.width(),
            " for box ", i - begin);
      }
    };
    check(target, target_rules);
    check(preds, preds_rules);
  }
}

}  // namespace tally::internal::detection
