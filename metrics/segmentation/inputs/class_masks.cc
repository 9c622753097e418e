#include "tally/metrics/segmentation/inputs/class_masks.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <tuple>
#include <type_traits>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/segmentation/inputs/mask_rows.h"

namespace tally::internal::segmentation {
namespace {

// Labels up to this fit into a byte.
constexpr std::int64_t kByteClasses = 256;
// So many numbers are worth another thread.
constexpr std::int64_t kGrain = 65536;

void check_input(const char* name, const at::Tensor& tensor) {
  check_real(name, tensor);
  TORCH_CHECK_VALUE(tensor.dim() >= 2, "expected ", name,
                    " of shape [N, ...], with more dimensions after the first, "
                    "got ",
                    tensor.sizes());
}

std::int64_t product(at::IntArrayRef sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

// The position of the first true element; there is one.
std::int64_t first_true(const at::Tensor& mask) {
  return mask.reshape(-1).to(at::kByte).argmax().item().toLong();
}

[[noreturn]] void refuse_integers(const char* name, const at::Tensor& given,
                                  std::int64_t last) {
  const std::int64_t position =
      first_true(given.lt(0).logical_or(given.gt(last)));
  const std::int64_t value =
      given.reshape(-1).select(0, position).item().toLong();
  C10_THROW_ERROR(IndexError,
                  c10::str("expected ", name, " in [0, ", last + 1, "), got ",
                           value, " at position ", position));
}

// Whether none of the numbers is above `last`; as bytes in any case.
template <class T>
bool copy_bytes(const T* from, std::int64_t count, std::int64_t last,
                std::uint8_t* to) {
  std::make_unsigned_t<T> bits = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    bits |= static_cast<std::make_unsigned_t<T>>(from[i]);
    to[i] = static_cast<std::uint8_t>(from[i]);
  }
  if (bits <= static_cast<std::uint64_t>(last)) return true;
  if (bits >= kByteClasses) return false;
  std::uint8_t most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, to[i]);
  return most <= last;
}

// Integers from 0 to `last` as bytes, or bool, or as int32 if they are too
// large for that; what comes out is dense and on the CPU.
at::Tensor checked_integers(const char* name, const at::Tensor& tensor,
                            std::int64_t last) {
  at::Tensor given = tensor.detach().to(at::kCPU).contiguous();
  const at::ScalarType type = given.scalar_type();
  if (type == at::kBool && last >= 1) return given;
  if (last >= kByteClasses) {
    if (type != at::kInt) given = given.to(at::kLong);
    if (given.numel() > 0) {
      const auto [least, largest] = at::aminmax(given);
      if (least.item().toLong() < 0 || largest.item().toLong() > last) {
        refuse_integers(name, given, last);
      }
    }
    return given.to(at::kInt);
  }
  // A negative byte would look like a large one.
  if (type == at::kChar || type == at::kBool) {
    given = given.to(at::kShort);
  } else if (type != at::kByte && type != at::kShort && type != at::kInt) {
    given = given.to(at::kLong);
  }
  const at::Tensor bytes =
      at::empty(given.sizes(), given.options().dtype(at::kByte));
  std::atomic<bool> fit{true};
  AT_DISPATCH_INTEGRAL_TYPES(given.scalar_type(), "checked_integers", [&] {
    const auto* const from = given.const_data_ptr<scalar_t>();
    auto* const to = bytes.mutable_data_ptr<std::uint8_t>();
    at::parallel_for(
        0, given.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
          if (!copy_bytes(from + begin, end - begin, last, to + begin)) {
            fit = false;
          }
        });
  });
  if (!fit) refuse_integers(name, given, last);
  return bytes;
}

// The largest of one score says nothing, and a target is no score.
void check_scores(const char* name, const at::Tensor& scores, bool is_target) {
  TORCH_CHECK_VALUE(
      !is_target && scores.size(1) > 1, "expected ", name,
      is_target ? " as masks of 0 and 1, of an integer dtype or bool, got "
                : " of one class as a mask of 0 and 1, of an integer dtype or "
                  "bool, got ",
      scores.scalar_type(), "; threshold ", is_target ? "it" : "the scores",
      ": ", name, " > 0.5");
}

at::Tensor labels_of(const char* name, const at::Tensor& tensor,
                     std::int64_t num_classes) {
  TORCH_CHECK_TYPE(!at::isFloatingType(tensor.scalar_type()), "expected ", name,
                   " of an integer dtype, got ", tensor.scalar_type(),
                   "; threshold scores of a mask: ", name,
                   " > 0.5; labels in whole numbers: ", name, ".to(at::kLong)");
  return checked_integers(name, tensor, num_classes - 1);
}

// Of scores [N, C, ...].
at::Tensor best_classes(const at::Tensor& scores, std::int64_t num_classes) {
  return scores.argmax(1).to(num_classes <= kByteClasses ? at::kByte
                                                         : at::kInt);
}

// Labels as masks of all classes.
at::Tensor masks_of(const at::Tensor& labels, std::int64_t num_classes) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(labels.dim() + 1),
                                  1);
  sizes[1] = num_classes;
  const at::Tensor classes =
      at::arange(num_classes, at::TensorOptions().dtype(at::kLong))
          .reshape(sizes);
  return labels.unsqueeze(1).eq(classes).contiguous();
}

std::string expected_sizes(const MaskFormat& format) {
  const std::string classes =
      format.num_classes == 0 ? "C" : std::to_string(format.num_classes);
  switch (format.format) {
    case SegmentationFormat::kIndex:
      return "preds and target [N, ...] (input_format=index)";
    case SegmentationFormat::kOneHot:
      return "preds and target [N, " + classes +
             ", ...] (input_format=one-hot)";
    case SegmentationFormat::kMixed:
      return "one of preds and target [N, " + classes +
             ", ...], the other one [N, ...] (input_format=mixed)";
  }
  return "";
}

bool agree(at::IntArrayRef by_class, at::IntArrayRef by_index) {
  return by_class.size() == by_index.size() + 1 && by_class[0] == by_index[0] &&
         by_class.slice(2) == by_index.slice(1);
}

}  // namespace

ClassMasks::ClassMasks(const at::Tensor& preds, const at::Tensor& target,
                       const MaskFormat& format) {
  check_input("preds", preds);
  check_input("target", target);
  check_same_device("preds", preds, "target", target);
  const bool mixed = format.format == SegmentationFormat::kMixed;
  const bool preds_by_class = format.format == SegmentationFormat::kOneHot ||
                              (mixed && preds.dim() > target.dim());
  const bool target_by_class = format.format == SegmentationFormat::kOneHot ||
                               (mixed && !preds_by_class);
  const at::Tensor& by_class = preds_by_class ? preds : target;
  const at::Tensor& other = preds_by_class ? target : preds;
  const bool any_by_class = preds_by_class || target_by_class;
  const bool fits =
      (mixed ? agree(by_class.sizes(), other.sizes())
             : preds.sizes() == target.sizes()) &&
      (!any_by_class ||
       (by_class.dim() >= 3 && by_class.size(1) > 0 &&
        (format.num_classes == 0 || by_class.size(1) == format.num_classes)));
  TORCH_CHECK_VALUE(
      fits, "expected ", expected_sizes(format), ", got sizes ", preds.sizes(),
      " and ", target.sizes(),
      shape_hint("preds", preds.sizes(), "target", target.sizes()));
  num_classes_ = any_by_class ? by_class.size(1) : format.num_classes;
  first_class_ = format.include_background || num_classes_ == 1 ? 0 : 1;

  at::Tensor nan;
  const auto read = [&](const char* name, const at::Tensor& tensor,
                        bool is_by_class) {
    if (!is_by_class) return labels_of(name, tensor, num_classes_);
    if (!at::isFloatingType(tensor.scalar_type())) {
      return checked_integers(name, tensor, 1);
    }
    check_scores(name, tensor, &tensor == &target);
    const at::Tensor scores = tensor.detach().to(at::kCPU);
    if (has_nan(scores)) {
      TORCH_CHECK_VALUE(format.nan_policy != NanPolicy::kError, "expected ",
                        name, " without NaN, got some");
      const at::Tensor has = scores.isnan().flatten(1).any(1);
      nan = nan.defined() ? nan.logical_or(has) : has;
    }
    return best_classes(scores, num_classes_);
  };
  preds_ = read("preds", preds, preds_by_class);
  target_ = read("target", target, target_by_class);
  const auto is_masks = [](const at::Tensor& tensor, bool is_by_class) {
    return is_by_class && !at::isFloatingType(tensor.scalar_type());
  };
  const bool preds_masks = is_masks(preds, preds_by_class);
  const bool target_masks = is_masks(target, target_by_class);
  is_one_hot_ = preds_masks || target_masks;
  if (is_one_hot_ && !preds_masks) preds_ = masks_of(preds_, num_classes_);
  if (is_one_hot_ && !target_masks) target_ = masks_of(target_, num_classes_);
  if (nan.defined()) leave_out(nan);
  preds_ = preds_.contiguous();
  target_ = target_.contiguous();
}

void ClassMasks::leave_out(const at::Tensor& nan) {
  const at::Tensor kept = nan.logical_not().nonzero().squeeze(1);
  nan_samples_ = nan.size(0) - kept.size(0);
  preds_ = preds_.index_select(0, kept);
  target_ = target_.index_select(0, kept);
}

at::IntArrayRef ClassMasks::sizes() const {
  return preds_.sizes().slice(is_one_hot_ ? 2 : 1);
}

Extents ClassMasks::extents() const {
  const at::IntArrayRef all = sizes();
  return {all.size() == 3 ? all[0] : 1, all[all.size() - 2],
          all[all.size() - 1]};
}

ClassMasks::Source ClassMasks::source(const at::Tensor& input,
                                      std::int64_t sample,
                                      std::int64_t which_class) const {
  const std::int64_t size = product(sizes());
  const std::int64_t number = first_class_ + which_class;
  const std::int64_t skipped =
      size * (is_one_hot_ ? sample * num_classes_ + number : sample);
  const bool is_wide = input.scalar_type() == at::kInt;
  const auto* const bytes = static_cast<const char*>(input.const_data_ptr());
  return {bytes + skipped * (is_wide ? 4 : 1), is_wide,
          is_one_hot_ ? 1 : static_cast<std::int32_t>(number)};
}

void ClassMasks::count(std::int64_t sample, std::int64_t* counts) const {
  const std::int64_t size = product(sizes());
  std::fill_n(counts, 3 * classes(), 0);
  if (is_one_hot_) {
    for (std::int64_t c = 0; c < classes(); ++c) {
      const auto* const p =
          static_cast<const std::uint8_t*>(source(preds_, sample, c).data);
      const auto* const t =
          static_cast<const std::uint8_t*>(source(target_, sample, c).data);
      count_masks(p, t, size, counts + c, classes());
    }
    return;
  }
  const Source p = source(preds_, sample, 0);
  const Source t = source(target_, sample, 0);
  LabelCounts all(num_classes_);
  visit_labels(p.data, p.is_wide, [&](const auto* preds) {
    visit_labels(t.data, t.is_wide,
                 [&](const auto* target) { all.add(preds, target, size); });
  });
  all.write(first_class_, counts);
}

std::vector<Box> ClassMasks::boxes(std::int64_t sample) const {
  const Extents all = extents();
  std::vector<Box> boxes(static_cast<std::size_t>(num_classes_),
                         Box{all, {0, 0, 0}});
  for (const at::Tensor* const input : {&preds_, &target_}) {
    for (std::int64_t c = first_class_; c < num_classes_; ++c) {
      const Source from = source(*input, sample, c - first_class_);
      visit_labels(from.data, from.is_wide, [&](const auto* labels) {
        if (is_one_hot_) {
          extend_box(labels, all, boxes[c]);
        } else {
          extend_boxes(labels, all, boxes);
        }
      });
      if (!is_one_hot_) break;
    }
  }
  boxes.erase(boxes.begin(), boxes.begin() + first_class_);
  return boxes;
}

BitGrid ClassMasks::mask(const at::Tensor& input, std::int64_t sample,
                         std::int64_t which_class, const Box& box) const {
  const Extents all = extents();
  const Extents inner = box.extents();
  const Source from = source(input, sample, which_class);
  BitGrid grid(inner);
  visit_labels(from.data, from.is_wide, [&](const auto* labels) {
    for (std::int64_t r = 0; r < grid.rows(); ++r) {
      const std::int64_t plane = box.begin[0] + r / inner[1];
      const std::int64_t y = box.begin[1] + r % inner[1];
      const std::int64_t place = (plane * all[1] + y) * all[2] + box.begin[2];
      pack_row(labels + place, inner[2], from.value, grid.row(r));
    }
  });
  return grid;
}

}  // namespace tally::internal::segmentation
