#include "tally/metrics/detection/states/matched_detections.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/hash.h"
#include "tally/metrics/detection/inputs/object_columns.h"
#include "tally/metrics/detection/kernels/image_matcher.h"

namespace tally {
namespace {

namespace detection = internal::detection;
using detection::ImageMatcher;

// So many images are worth another thread.
constexpr std::int64_t kMatchGrain = 16;

at::Tensor read_ids(const at::Tensor& image_ids, std::size_t images) {
  if (!image_ids.defined()) return image_ids;
  internal::check_integral("image_ids", image_ids);
  TORCH_CHECK_VALUE(image_ids.dim() == 1 &&
                        image_ids.size(0) == static_cast<std::int64_t>(images),
                    "expected image_ids [", images,
                    "], one for each image, got ", image_ids.sizes());
  return image_ids.to(at::kCPU, at::kLong).contiguous();
}

// Rows of `width` words that images have written, each at a place of its own
// with space for as many as it may have.
class RowBuffer {
 public:
  RowBuffer(const std::vector<std::int64_t>& places, std::size_t width)
      : places_(places),
        width_(width),
        rows_(at::zeros({places.back(), static_cast<std::int64_t>(width)},
                        at::kLong)),
        written_(places.size() - 1) {}

  std::int64_t* at(std::size_t image) {
    return data() + static_cast<std::size_t>(places_[image]) * width_;
  }
  void set_written(std::size_t image, std::size_t rows) {
    written_[image] = rows;
  }
  std::size_t written(std::size_t image) const { return written_[image]; }

  /// All that was written, without gaps.
  Rows joined() {
    std::int64_t* to = data();
    for (std::size_t image = 0; image < written_.size(); ++image) {
      const std::size_t words = written_[image] * width_;
      if (to != at(image)) {
        std::memmove(to, at(image), words * sizeof(std::int64_t));
      }
      to += words;
    }
    const auto rows = static_cast<std::size_t>(to - data()) / width_;
    return Rows(rows_.narrow(0, 0, static_cast<std::int64_t>(rows)));
  }

 private:
  std::int64_t* data() { return rows_.mutable_data_ptr<std::int64_t>(); }

  const std::vector<std::int64_t>& places_;
  std::size_t width_;
  at::Tensor rows_;
  std::vector<std::size_t> written_;
};

// Of words in their order.
class Fingerprint {
 public:
  void add(const std::int64_t* words, std::size_t count) {
    add_word(static_cast<std::uint64_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      add_word(static_cast<std::uint64_t>(words[i]));
    }
  }
  std::int64_t value() const { return static_cast<std::int64_t>(value_); }

 private:
  void add_word(std::uint64_t word) { value_ = internal::mixed(value_ ^ word); }

  std::uint64_t value_ = 0;
};

}  // namespace

MatchedDetections::State MatchedDetections::observe(
    const ImageObjectsList& preds, const ImageObjectsList& target,
    const Keys& image_ids) const {
  TORCH_CHECK_VALUE(preds.size() == target.size(),
                    "expected preds and target of as many images, got ",
                    preds.size(), " and ", target.size());
  const at::Tensor ids = read_ids(image_ids.tensor(), preds.size());
  const std::int64_t* id =
      ids.defined() ? ids.const_data_ptr<std::int64_t>() : nullptr;
  detection::ReadRules found_rules{
      "preds", /*is_detected=*/true, format_, validate_, id, shape_,
      sigmas_, rules_.kind};
  detection::ReadRules object_rules{"target", /*is_detected=*/false,
                                    format_,  validate_,
                                    id,       shape_,
                                    sigmas_,  rules_.kind};
  std::vector<double> sizes;
  if (is_normalized_) {
    sizes = detection::read_image_sizes(target, object_rules);
    found_rules.sizes = object_rules.sizes = &sizes;
  }
  const detection::ObjectColumns found =
      detection::read_objects(preds, found_rules);
  const detection::ObjectColumns objects =
      detection::read_objects(target, object_rules);
  if (shape_ == ObjectShape::kSegm) {
    detection::check_mask_sizes(found, found_rules, objects, object_rules);
  }
  const std::size_t images = preds.size();
  const std::size_t width = detection::MatchRow::width(rules_.words());
  const std::size_t counts_width =
      detection::CountRow::kCounts + rules_.areas.size();
  RowBuffer rows(found.offsets, width);
  RowBuffer counts(objects.offsets, counts_width);
  at::Tensor image_rows = at::empty(
      {id ? static_cast<std::int64_t>(images) : 0, detection::ImageRow::kWidth},
      at::kLong);
  auto* image_row = image_rows.mutable_data_ptr<std::int64_t>();
  at::parallel_for(
      0, static_cast<std::int64_t>(images), kMatchGrain,
      [&](std::int64_t begin, std::int64_t end) {
        ImageMatcher matcher(rules_, found, objects, id);
        for (auto i = static_cast<std::size_t>(begin);
             i < static_cast<std::size_t>(end); ++i) {
          const ImageMatcher::Written written =
              matcher.match(i, rows.at(i), counts.at(i));
          rows.set_written(i, written.detections);
          counts.set_written(i, written.counts);
          if (!id) continue;
          Fingerprint fingerprint;
          fingerprint.add(rows.at(i), written.detections * width);
          fingerprint.add(counts.at(i), written.counts * counts_width);
          std::int64_t* row = image_row + i * detection::ImageRow::kWidth;
          row[detection::ImageRow::kImage] = id[i];
          row[detection::ImageRow::kFingerprint] = fingerprint.value();
        }
      });
  State state;
  state.detections = rows.joined();
  state.counts = counts.joined();
  state.images = Rows(image_rows);
  state.num_images = static_cast<std::int64_t>(images);
  return state;
}

}  // namespace tally
