#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/detection/inputs/image_objects.h"
#include "tally/metrics/detection/options/object_shape.h"

namespace tally::files {

/// Ids and names of categories, by ascending id.
using Categories = std::vector<std::pair<std::int64_t, std::string>>;

/// What is read of objects, besides their shapes.
struct CocoNeeds {
  bool scores = true;  ///< of results
  /// LVIS's neg_category_ids and not_exhaustive_category_ids of images.
  bool judged_labels = false;
};

/// The annotations and results of object detection, as COCO's files have them:
/// an object with "images", "categories" and "annotations", and lists of
/// results. All are read as a whole. Ids are integers, also as 42.0, or texts.
/// Those of images become their 64-bit hashes (see SampleIds); categories with
/// texts as ids are numbered in the order of these, behind all others. An
/// annotation without "area" has that of its mask, if masks are read, or else
/// of its box.
///
/// Example:
///     files::CocoFiles files("instances.json", "detections.json",
///                            {ObjectShape::kBbox});
///     const std::int64_t images = files.image_ids().size(0);
///     MeanAveragePrecision map(
///         MeanAveragePrecisionOptions().box_format(BoxFormat::kXYWH));
///     map.update(files.preds(0, images), files.target(0, images));
class CocoFiles {
 public:
  /// Throws c10::ValueError that names the file and the annotation or result.
  /// Reads boxes, masks and keypoints if `shapes` contain them. What several
  /// files found in an image is one list, in the order of the files.
  CocoFiles(const std::string& annotations,
            const std::vector<std::string>& results,
            const std::set<ObjectShape>& shapes, CocoNeeds needs = {});
  CocoFiles(const std::string& annotations, const std::string& results,
            const std::set<ObjectShape>& shapes, CocoNeeds needs = {})
      : CocoFiles(annotations, std::vector<std::string>{results}, shapes,
                  needs) {}

  /// The ids of the images, ascending.
  const at::Tensor& image_ids() const { return image_ids_; }
  /// Ids and names, by ascending id.
  const Categories& categories() const { return categories_; }
  /// Which of the files of results found something in an image.
  std::set<std::size_t> files_of(std::int64_t image) const;
  /// Of both files.
  std::int64_t objects() const {
    return preds_offsets_.back() + target_offsets_.back();
  }
  /// In the order of image_ids(), with boxes in COCO's format.
  FlatImageObjects preds(std::int64_t begin, std::int64_t end) const {
    return slice(preds_, preds_offsets_, begin, end);
  }
  FlatImageObjects target(std::int64_t begin, std::int64_t end) const {
    return slice(target_, target_offsets_, begin, end);
  }
  /// The same as a list, with the labels that images are judged by.
  std::vector<ImageObjects> target_images(std::int64_t begin,
                                          std::int64_t end) const;
  /// The labels that LVIS's files call "r", "c" or "f": rare, common or
  /// frequent.
  std::vector<std::int64_t> labels_of(const std::string& frequency) const;
  /// What was skipped, for the user; may be empty.
  const std::string& remarks() const { return remarks_; }

 private:
  static FlatImageObjects slice(const FlatImageObjects& all,
                                const std::vector<std::int64_t>& offsets,
                                std::int64_t begin, std::int64_t end);

  at::Tensor image_ids_;
  Categories categories_;
  FlatImageObjects preds_, target_;
  std::vector<std::int64_t> preds_offsets_, target_offsets_;
  std::vector<std::int32_t> preds_files_;  // of each object
  // Of each image, if they are read: negative, and inexhaustive.
  std::vector<std::pair<at::Tensor, at::Tensor>> judged_;
  std::map<std::string, std::vector<std::int64_t>> frequencies_;
  std::string remarks_;
};

}  // namespace tally::files
