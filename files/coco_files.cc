#include "tally/files/coco_files.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>

#include "tally/files/coco_items.h"
#include "tally/files/input_file.h"
#include "tally/files/json_text.h"
#include "tally/sync/errors.h"

namespace tally::files {
namespace {

bool are_numbers(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(),
                     [](const Json& item) { return item.is_number(); });
}

}  // namespace

const Json& CocoItem::at(const char* key) const {
  TORCH_CHECK_VALUE(json_.is_object() && json_.contains(key), where_,
                    ": expected '", key, "'");
  return json_.at(key);
}

void CocoItem::check(bool holds, const char* key, const char* expected) const {
  if (holds) return;
  TORCH_CHECK_VALUE(false, where_, ": '", key, "': expected ", expected,
                    ", got ", shown_json(at(key)));
}

std::int64_t CocoItem::integer(const char* key) const {
  const Json& value = at(key);
  check(is_integer(value), key, "an integer");
  return value.get<std::int64_t>();
}

double CocoItem::number(const char* key) const {
  const Json& value = at(key);
  check(value.is_number(), key, "a number");
  return value.get<double>();
}

bool CocoItem::flag(const char* key) const {
  const Json& value = at(key);
  return value.is_boolean() ? value.get<bool>() : integer(key) != 0;
}

std::string CocoItem::text(const char* key) const {
  const Json& value = at(key);
  check(value.is_string(), key, "a text");
  return value.get<std::string>();
}

std::size_t CocoItem::add_numbers(const char* key, std::size_t count,
                                  std::vector<double>& numbers) const {
  const Json& list = at(key);
  check(are_numbers(list) && (count == 0 || list.size() == count), key,
        count == 0
            ? "a list of numbers"
            : ("a list of " + std::to_string(count) + " numbers").c_str());
  for (const Json& number : list) numbers.push_back(number.get<double>());
  return list.size();
}

RunLengthMask CocoItem::runs(const Json& value) const {
  constexpr const char* kKey = "segmentation";
  const auto size = value.find("size");
  const auto counts = value.find("counts");
  const bool has_size = size != value.end() && size->is_array() &&
                        size->size() == 2 && is_integer(size->front()) &&
                        is_integer(size->back());
  const bool has_counts =
      counts != value.end() &&
      (counts->is_string() ||
       (counts->is_array() &&
        std::all_of(counts->begin(), counts->end(), is_integer)));
  check(has_size && has_counts, kKey, "runs with 'size' and 'counts'");
  const auto height = size->front().get<std::int64_t>();
  const auto width = size->back().get<std::int64_t>();
  return counts->is_string()
             ? RunLengthMask::from_string(height, width,
                                          counts->get<std::string>())
             : RunLengthMask::from_counts(
                   height, width, counts->get<std::vector<std::int64_t>>());
}

std::variant<RunLengthMask, CocoItem::Polygons> CocoItem::segmentation() const {
  constexpr const char* kKey = "segmentation";
  const Json& value = at(kKey);
  if (value.is_object()) {
    try {
      return runs(value);
    } catch (const c10::ValueError& error) {
      const std::string what = sync::describe(error);
      TORCH_CHECK_VALUE(what.rfind(where_, 0) != 0, what);
      TORCH_CHECK_VALUE(false, where_, ": '", kKey, "': ", what);
    }
  }
  check(value.is_array() && !value.empty() &&
            std::all_of(value.begin(), value.end(), are_numbers),
        kKey, "runs or a list of polygons");
  return value.get<Polygons>();
}

void read_coco_items(const std::string& path,
                     const std::vector<std::string>& keys,
                     const std::function<void(const std::string& key,
                                              const CocoItem& item)>& visit) {
  { const InputFile readable(path); }
  std::ifstream file(path, std::ios::binary);
  const bool is_list = keys.empty();
  const int depth = is_list ? 1 : 2;
  std::string key = is_list ? "result" : "";
  std::map<std::string, std::int64_t> counts;
  const auto callback = [&](int at, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (at == 0 &&
        (event == Event::object_start || event == Event::array_start)) {
      TORCH_CHECK_VALUE((event == Event::array_start) == is_list, path,
                        is_list
                            ? ": expected a list of results, got an object"
                            : ": expected an object with lists, got a list");
    }
    if (!is_list && at == 1 && event == Event::key) {
      key = parsed.get<std::string>();
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    }
    if (at != depth || event != Event::object_end) return true;
    const std::string place = key + " " + std::to_string(counts[key]++);
    visit(key, CocoItem(parsed, path + ": " + place));
    return false;
  };
  try {
    const Json rest = Json::parse(file, callback);
  } catch (const Json::exception& error) {
    TORCH_CHECK_VALUE(false, path, ": expected JSON: ", error.what());
  }
}

namespace {

struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
};
using Images = std::map<std::int64_t, Image>;

// What a file lists, in its order.
struct Listed {
  std::vector<std::int64_t> images, labels, crowds;
  std::vector<double> boxes, scores, areas, keypoints;
  std::size_t keypoint_numbers = 0;  // of each object
  std::vector<std::variant<RunLengthMask, CocoItem::Polygons>> masks;
};

class ItemReader {
 public:
  ItemReader(const std::set<ObjectShape>& shapes, bool is_detected)
      : shapes_(shapes), is_detected_(is_detected) {}

  void read(const CocoItem& item, Listed& all) const {
    all.images.push_back(item.integer("image_id"));
    all.labels.push_back(item.integer("category_id"));
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
    if (is_detected_) {
      all.scores.push_back(item.number("score"));
      return;
    }
    all.areas.push_back(item.number("area"));
    all.crowds.push_back(item.has("iscrowd") && item.flag("iscrowd"));
  }

 private:
  const std::set<ObjectShape>& shapes_;
  bool is_detected_;
};

// The objects of known images and categories, ordered by image.
class Grouping {
 public:
  Grouping(const Listed& listed, const Images& images,
           const Categories& categories)
      : images_(images), counts_(images.size()) {
    std::map<std::int64_t, std::size_t> places;
    for (const auto& [id, image] : images) places.emplace(id, places.size());
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t i = 0; i < listed.images.size(); ++i) {
      const auto image = places.find(listed.images[i]);
      const auto category = std::lower_bound(
          categories.begin(), categories.end(), listed.labels[i],
          [](const auto& one, std::int64_t id) { return one.first < id; });
      const bool has_category =
          category != categories.end() && category->first == listed.labels[i];
      if (image == places.end()) {
        ++other_images_;
      } else if (!has_category) {
        ++other_categories_;
      } else {
        order.emplace_back(image->second, i);
        ++counts_[image->second];
      }
    }
    std::sort(order.begin(), order.end());
    for (const auto& [image, i] : order) order_.push_back(i);
  }

  std::int64_t other_images() const { return other_images_; }
  std::int64_t other_categories() const { return other_categories_; }

  FlatImageObjects objects(Listed& listed) const {
    FlatImageObjects flat;
    ImageObjects& all = flat.objects;
    all.labels = gather(listed.labels);
    if (!listed.boxes.empty()) all.boxes = gather(listed.boxes, 4);
    if (!listed.scores.empty()) all.scores = gather(listed.scores);
    if (!listed.crowds.empty()) {
      all.iscrowd = gather(listed.crowds);
      all.area = gather(listed.areas);
    }
    if (!listed.keypoints.empty()) {
      const auto numbers = static_cast<std::int64_t>(listed.keypoint_numbers);
      TORCH_CHECK_VALUE(numbers % 3 == 0,
                        "expected keypoints of 3 numbers each, got ", numbers);
      all.keypoints =
          gather(listed.keypoints, numbers).reshape({-1, numbers / 3, 3});
    }
    if (!listed.masks.empty()) {
      for (const std::size_t i : order_) all.runs.push_back(mask(listed, i));
    }
    all.box_format = BoxFormat::kXYWH;
    flat.counts = at::tensor(counts_, at::kLong);
    return flat;
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
      TORCH_CHECK_VALUE(false, "polygons of image ", listed.images[i], ": ",
                        sync::describe(error));
    }
  }

  const Images& images_;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> counts_;
  std::int64_t other_images_ = 0;
  std::int64_t other_categories_ = 0;
};

std::string left_out(const char* what, std::int64_t count, const char* why) {
  if (count == 0) return "";
  return std::string(what) + " left out because of " + why + ": " +
         std::to_string(count) + "\n";
}

}  // namespace

CocoFiles::CocoFiles(const std::string& annotations, const std::string& results,
                     const std::set<ObjectShape>& shapes) {
  Images images;
  std::map<std::int64_t, std::string> categories;
  Listed target, preds;
  const auto read_item = [&](const std::string& key, const CocoItem& item) {
    if (key == "images") {
      Image& image = images[item.integer("id")];
      if (shapes.count(ObjectShape::kSegm) == 0) return;
      image = {item.integer("height"), item.integer("width")};
    } else if (key == "categories") {
      const std::int64_t id = item.integer("id");
      categories[id] =
          item.has("name") ? item.text("name") : std::to_string(id);
    } else {
      ItemReader(shapes, /*is_detected=*/false).read(item, target);
    }
  };
  read_coco_items(annotations, {"images", "categories", "annotations"},
                  read_item);
  preds.keypoint_numbers = target.keypoint_numbers;
  read_coco_items(results, {}, [&](const std::string&, const CocoItem& item) {
    ItemReader(shapes, /*is_detected=*/true).read(item, preds);
  });
  TORCH_CHECK_VALUE(!images.empty(), annotations,
                    ": expected images, got none");
  categories_.assign(categories.begin(), categories.end());
  std::vector<std::int64_t> ids;
  for (const auto& [id, image] : images) ids.push_back(id);
  image_ids_ = at::tensor(ids, at::kLong);
  const Grouping annotated(target, images, categories_);
  const Grouping found(preds, images, categories_);
  TORCH_CHECK_VALUE(found.other_images() == 0, results,
                    ": expected results of the images in ", annotations,
                    ", got ", found.other_images(), " of other images");
  target_ = annotated.objects(target);
  preds_ = found.objects(preds);
  preds_offsets_ = found.offsets();
  target_offsets_ = annotated.offsets();
  // An empty list has no tensors; those of no objects may have any shape.
  for (ImageObjects* all : {&preds_.objects, &target_.objects}) {
    for (at::Tensor* each : {&all->boxes, &all->scores, &all->keypoints}) {
      if (all->labels.numel() == 0) *each = at::empty({0}, at::kDouble);
    }
  }
  remarks_ = left_out("annotations", annotated.other_images(),
                      "an image that is not listed") +
             left_out("annotations", annotated.other_categories(),
                      "a category that is not listed") +
             left_out("results", found.other_categories(),
                      "a category that is not listed");
}

FlatImageObjects CocoFiles::slice(const FlatImageObjects& all,
                                  const std::vector<std::int64_t>& offsets,
                                  std::int64_t begin, std::int64_t end) {
  return {all.objects.slice(offsets[static_cast<std::size_t>(begin)],
                            offsets[static_cast<std::size_t>(end)]),
          all.counts.slice(0, begin, end)};
}

}  // namespace tally::files
