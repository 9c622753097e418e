#include "tally/files/coco_files.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "tally/files/coco_categories.h"
#include "tally/files/coco_items.h"
#include "tally/files/file_kind.h"
#include "tally/sync/errors.h"

namespace tally::files {
namespace {

struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::int64_t> negatives = {}, inexhaustives = {};  // ids
};
using Images = std::map<std::int64_t, Image>;

// What files list, in their order.
struct Listed {
  std::vector<std::string> paths;
  std::vector<std::int64_t> images, labels, crowds, ignores;
  std::vector<std::int32_t> files;  // that list them, by paths
  std::vector<double> boxes, scores, areas, keypoints;
  std::size_t keypoint_numbers = 0;  // of each object
  std::vector<std::variant<RunLengthMask, CocoItem::Polygons>> masks;
};

class ItemReader {
 public:
  ItemReader(const std::set<ObjectShape>& shapes, IdNames& names,
             bool is_detected, bool has_scores, std::size_t file = 0)
      : shapes_(shapes),
        names_(names),
        is_detected_(is_detected),
        has_scores_(has_scores),
        file_(static_cast<std::int32_t>(file)) {}

  void read(const CocoItem& item, Listed& all) const {
    all.images.push_back(item.id("image_id", names_));
    all.labels.push_back(item.id("category_id", names_));
    all.files.push_back(file_);
    const bool has_keypoints = shapes_.count(ObjectShape::kKeypoints) != 0;
    if (shapes_.count(ObjectShape::kBbox) != 0 ||
        (has_keypoints && !is_detected_)) {
      item.add_numbers("bbox", 4, all.boxes);
    }
    if (shapes_.count(ObjectShape::kSegm) != 0) {
      all.masks.push_back(item.segmentation());
    }
    if (has_keypoints) {
      all.keypoint_numbers =
          item.add_numbers("keypoints", all.keypoint_numbers, all.keypoints);
    }
    if (has_scores_) all.scores.push_back(item.number("score"));
    if (is_detected_) return;
    all.areas.push_back(area_of(item));
    all.crowds.push_back(item.has("iscrowd") && item.flag("iscrowd"));
    all.ignores.push_back(item.has("ignore") && item.flag("ignore"));
  }

 private:
  /// NaN for that of the mask, which is not known yet.
  double area_of(const CocoItem& item) const {
    if (item.has("area")) return item.number("area");
    if (shapes_.count(ObjectShape::kSegm) != 0) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    std::vector<double> box;
    item.add_numbers("bbox", 4, box);
    return box[2] * box[3];
  }

  const std::set<ObjectShape>& shapes_;
  IdNames& names_;
  bool is_detected_;
  bool has_scores_;
  std::int32_t file_;
};

// Throws if objects from `begin` on are of images that are not listed.
void check_images(const Listed& listed, std::size_t begin, const Images& images,
                  const IdNames& names, const std::string& path,
                  const std::string& annotations) {
  std::vector<std::int64_t> others;
  for (std::size_t i = begin; i < listed.images.size(); ++i) {
    if (images.count(listed.images[i]) == 0) others.push_back(listed.images[i]);
  }
  TORCH_CHECK_VALUE(others.empty(), path,
                    ": expected results of the images in ", annotations,
                    ", got ", others.size(), " of other images: image_id ",
                    listed_ids(others, names));
}

// The objects of known images and categories, ordered by image.
class Grouping {
 public:
  Grouping(const Listed& listed, const Images& images,
           const CocoCategories& categories)
      : images_(images), categories_(categories), counts_(images.size()) {
    std::map<std::int64_t, std::size_t> places;
    for (const auto& [id, image] : images) places.emplace(id, places.size());
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t i = 0; i < listed.images.size(); ++i) {
      const auto image = places.find(listed.images[i]);
      if (image == places.end()) {
        ++other_objects_;
      } else if (!categories.contains(listed.labels[i])) {
        other_categories_.push_back(listed.labels[i]);
      } else {
        order.emplace_back(image->second, i);
        ++counts_[image->second];
      }
    }
    std::sort(order.begin(), order.end());
    for (const auto& [image, i] : order) order_.push_back(i);
  }

  std::size_t other_objects() const { return other_objects_; }
  /// Of the objects of known images, one each.
  const std::vector<std::int64_t>& other_categories() const {
    return other_categories_;
  }
  bool is_empty() const { return order_.empty(); }

  FlatImageObjects objects(Listed& listed) const {
    FlatImageObjects flat;
    ImageObjects& all = flat.objects;
    all.labels = gather(listed.labels);
    auto* label = all.labels.mutable_data_ptr<std::int64_t>();
    for (const std::size_t i : order_) {
      *label++ = categories_.label(listed.labels[i]);
    }
    if (!listed.boxes.empty()) all.boxes = gather(listed.boxes, 4);
    if (!listed.scores.empty()) all.scores = gather(listed.scores);
    if (!listed.crowds.empty()) {
      all.iscrowd = gather(listed.crowds);
      all.ignore = gather(listed.ignores);
      all.area = gather(listed.areas);
    }
    if (!listed.keypoints.empty()) {
      const auto numbers = static_cast<std::int64_t>(listed.keypoint_numbers);
      TORCH_CHECK_VALUE(numbers % 3 == 0, listed.paths.front(),
                        ": expected keypoints of 3 numbers each, got ",
                        numbers);
      all.keypoints =
          gather(listed.keypoints, numbers).reshape({-1, numbers / 3, 3});
    }
    if (!listed.masks.empty()) {
      for (const std::size_t i : order_) all.runs.push_back(mask(listed, i));
      if (all.area.defined()) fill_areas(all);
    }
    all.box_format = BoxFormat::kXYWH;
    flat.counts = at::tensor(counts_, at::kLong);
    return flat;
  }

  std::vector<std::int32_t> files(const Listed& listed) const {
    std::vector<std::int32_t> files;
    for (const std::size_t i : order_) files.push_back(listed.files[i]);
    return files;
  }

  std::vector<std::int64_t> offsets() const {
    std::vector<std::int64_t> offsets(1, 0);
    for (const std::int64_t count : counts_) {
      offsets.push_back(offsets.back() + count);
    }
    return offsets;
  }

 private:
  template <class T>
  at::Tensor gather(const std::vector<T>& values,
                    std::int64_t width = 1) const {
    constexpr bool kIsReal = std::is_same_v<T, double>;
    at::Tensor all =
        at::empty({static_cast<std::int64_t>(order_.size()) * width},
                  kIsReal ? at::kDouble : at::kLong);
    T* to = all.mutable_data_ptr<T>();
    for (const std::size_t i : order_) {
      const T* from = values.data() + i * static_cast<std::size_t>(width);
      to = std::copy(from, from + width, to);
    }
    return width == 1 ? all : all.reshape({-1, width});
  }

  static void fill_areas(ImageObjects& all) {
    auto* area = all.area.mutable_data_ptr<double>();
    for (const RunLengthMask& mask : all.runs) {
      if (std::isnan(*area)) *area = static_cast<double>(mask.area());
      ++area;
    }
  }

  RunLengthMask mask(Listed& listed, std::size_t i) const {
    auto& segmentation = listed.masks[i];
    if (auto* runs = std::get_if<RunLengthMask>(&segmentation)) {
      return std::move(*runs);
    }
    const Image& image = images_.at(listed.images[i]);
    try {
      return RunLengthMask::from_polygons(
          image.height, image.width,
          std::get<CocoItem::Polygons>(segmentation));
    } catch (const c10::ValueError& error) {
      TORCH_CHECK_VALUE(false,
                        listed.paths[static_cast<std::size_t>(listed.files[i])],
                        ": polygons of image ", listed.images[i], ": ",
                        sync::describe(error));
    }
  }

  const Images& images_;
  const CocoCategories& categories_;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> counts_;
  std::size_t other_objects_ = 0;  // of images that are not listed
  std::vector<std::int64_t> other_categories_;
};

// The labels of categories, as far as they are listed.
at::Tensor labels_of_ids(const std::vector<std::int64_t>& ids,
                         const CocoCategories& categories) {
  std::vector<std::int64_t> labels;
  for (const std::int64_t id : ids) {
    if (categories.contains(id)) labels.push_back(categories.label(id));
  }
  return at::tensor(labels, at::kLong);
}

std::string left_out(const char* what, std::size_t count, const char* why) {
  if (count == 0) return "";
  return std::string(what) + " skipped because of " + why + ": " +
         std::to_string(count) + "\n";
}

}  // namespace

CocoFiles::CocoFiles(const std::string& annotations,
                     const std::vector<std::string>& results,
                     const std::set<ObjectShape>& shapes, CocoNeeds needs) {
  Images images;
  CocoCategories categories;
  Listed target, preds;
  target.paths = {annotations};
  preds.paths = results;
  IdNames names;
  const ItemReader annotated_reader(shapes, names, /*is_detected=*/false,
                                    /*has_scores=*/false);
  const auto read_image = [&](const CocoItem& item) {
    Image& image = images[item.id("id", names)];
    if (needs.judged_labels) {
      image.negatives = item.ids("neg_category_ids", names);
      image.inexhaustives = item.ids("not_exhaustive_category_ids", names);
    }
    if (shapes.count(ObjectShape::kSegm) == 0) return;
    image.height = item.size("height");
    image.width = item.size("width");
  };
  const auto read_item = [&](const std::string& key, const CocoItem& item) {
    if (key == "images") {
      read_image(item);
    } else if (key == "categories") {
      const std::int64_t id = categories.add(item, names);
      if (item.has("frequency")) {
        frequencies_[item.text("frequency")].push_back(id);
      }
    } else {
      annotated_reader.read(item, target);
    }
  };
  read_coco_items(annotations, {"images", "categories", "annotations"},
                  read_item);
  TORCH_CHECK_VALUE(!images.empty(), annotations,
                    ": expected images, got none");
  preds.keypoint_numbers = target.keypoint_numbers;
  for (std::size_t file = 0; file < results.size(); ++file) {
    const std::size_t begin = preds.images.size();
    const ItemReader reader(shapes, names, /*is_detected=*/true, needs.scores,
                            file);
    read_coco_items(results[file], {},
                    [&](const std::string&, const CocoItem& item) {
                      reader.read(item, preds);
                    });
    check_images(preds, begin, images, names, results[file], annotations);
  }
  categories.number(names);
  categories_ = categories.listed();
  std::vector<std::int64_t> ids;
  for (const auto& [id, image] : images) ids.push_back(id);
  image_ids_ = at::tensor(ids, at::kLong);
  const Grouping annotated(target, images, categories);
  const Grouping found(preds, images, categories);
  const auto& others = found.other_categories();
  TORCH_CHECK_VALUE(others.empty() || !found.is_empty(), results.front(),
                    ": expected results of the categories in ", annotations,
                    ", got ", others.size(),
                    " of other categories alone: ", "category_id ",
                    listed_ids(others, names));
  if (needs.judged_labels) {
    for (const auto& [id, image] : images) {
      judged_.emplace_back(labels_of_ids(image.negatives, categories),
                           labels_of_ids(image.inexhaustives, categories));
    }
  }
  for (auto& [frequency, labels] : frequencies_) {
    for (std::int64_t& label : labels) label = categories.label(label);
  }
  target_ = annotated.objects(target);
  preds_ = found.objects(preds);
  preds_files_ = found.files(preds);
  preds_offsets_ = found.offsets();
  target_offsets_ = annotated.offsets();
  // An empty list has no tensors; those of no objects may have any shape.
  for (ImageObjects* all : {&preds_.objects, &target_.objects}) {
    for (at::Tensor* each : {&all->boxes, &all->scores, &all->keypoints}) {
      if (all->labels.numel() == 0) *each = at::empty({0}, at::kDouble);
    }
  }
  remarks_ =
      categories.remark() +
      left_out("annotations", annotated.other_objects(),
               "an image that is not listed") +
      left_out("annotations", annotated.other_categories().size(),
               "a category that is not listed") +
      left_out("results", others.size(), "a category that is not listed");
}

std::vector<ImageObjects> CocoFiles::target_images(std::int64_t begin,
                                                   std::int64_t end) const {
  std::vector<ImageObjects> images;
  for (std::int64_t i = begin; i < end; ++i) {
    const auto place = static_cast<std::size_t>(i);
    images.push_back(target_.objects.slice(target_offsets_[place],
                                           target_offsets_[place + 1]));
    if (judged_.empty()) continue;
    std::tie(images.back().negative_labels, images.back().inexhaustive_labels) =
        judged_[place];
  }
  return images;
}

std::vector<std::int64_t> CocoFiles::labels_of(
    const std::string& frequency) const {
  const auto found = frequencies_.find(frequency);
  return found == frequencies_.end() ? std::vector<std::int64_t>()
                                     : found->second;
}

std::set<std::size_t> CocoFiles::files_of(std::int64_t image) const {
  const auto place = static_cast<std::size_t>(image);
  std::set<std::size_t> files;
  for (auto i = preds_offsets_[place]; i < preds_offsets_[place + 1]; ++i) {
    files.insert(
        static_cast<std::size_t>(preds_files_[static_cast<std::size_t>(i)]));
  }
  return files;
}

FlatImageObjects CocoFiles::slice(const FlatImageObjects& all,
                                  const std::vector<std::int64_t>& offsets,
                                  std::int64_t begin, std::int64_t end) {
  return {all.objects.slice(offsets[static_cast<std::size_t>(begin)],
                            offsets[static_cast<std::size_t>(end)]),
          all.counts.slice(0, begin, end)};
}

}  // namespace tally::files
