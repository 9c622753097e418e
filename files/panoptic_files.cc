#include "tally/files/panoptic_files.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <utility>

#include "tally/files/coco_categories.h"
#include "tally/files/coco_items.h"
#include "tally/files/file_kind.h"
#include "tally/files/png.h"

namespace tally::files {
namespace {

constexpr std::int64_t kMostId = 0xFFFFFF;

/// Without the ending, if the text has it.
bool drop_ending(const std::string& ending, std::string& text) {
  const bool has_it =
      text.size() > ending.size() &&
      text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
  if (has_it) text.resize(text.size() - ending.size());
  return has_it;
}

/// As panopticapi has it: beside the file.
std::string folder_of(const PanopticPart& part) {
  std::string folder = part.folder;
  if (folder.empty()) {
    folder = part.file;
    drop_ending(".gz", folder);
    drop_ending(".zst", folder);
    TORCH_CHECK_VALUE(drop_ending(".json", folder), part.file,
                      ": expected a name that ends in .json, or the folder of "
                      "its PNG files (--folders)");
  }
  TORCH_CHECK_VALUE(std::filesystem::is_directory(folder), part.file,
                    ": expected a folder ", folder,
                    " with its PNG files, got none (see --folders)");
  return folder;
}

}  // namespace

/// Reads the .json files.
class PanopticFiles::Reader {
 public:
  using Maps = std::map<std::int64_t, Map>;  // by image

  /// With the categories.
  Maps read_target(const PanopticPart& part) {
    Maps maps;
    const std::string folder = folder_of(part);
    const auto read_item = [&](const std::string& key, const CocoItem& item) {
      if (key == "categories") {
        categories_.add(item, names_);
        if (item.flag("isthing")) things_.insert(item.id("id", names_));
      } else {
        add_map(item, folder, maps);
      }
    };
    read_coco_items(part.file, {"categories", "annotations"}, read_item);
    TORCH_CHECK_VALUE(!maps.empty(), part.file,
                      ": expected annotations, got none");
    categories_.number(names_);
    return maps;
  }

  void read_preds(const PanopticPart& part, Maps& maps) {
    const std::string folder = folder_of(part);
    read_coco_items(part.file, {"annotations"},
                    [&](const std::string&, const CocoItem& item) {
                      add_map(item, folder, maps);
                    });
  }

  /// Replaces ids of categories by labels. How many segments of stuffs are one
  /// with another of the image.
  std::int64_t label(Map& map) const {
    std::int64_t joined = 0;
    std::set<std::int64_t> stuffs;
    for (auto& [id, segment] : map.segments) {
      const std::int64_t category = segment.category;
      TORCH_CHECK_VALUE(categories_.contains(category), map.where,
                        ": expected 'category_id' among the categories of the "
                        "annotations, got ",
                        listed(category), " for the segment ", id);
      if (things_.count(category) == 0 && !segment.is_crowd) {
        joined += !stuffs.insert(category).second;
      }
      segment.category = categories_.label(category);
    }
    return joined;
  }

  bool is_thing(std::int64_t id) const { return things_.count(id) != 0; }
  const CocoCategories& categories() const { return categories_; }
  const IdNames& names() const { return names_; }
  std::vector<std::int64_t> labels(bool of_things) const {
    std::vector<std::int64_t> labels;
    for (const std::int64_t id : categories_.ids()) {
      if (is_thing(id) == of_things) labels.push_back(categories_.label(id));
    }
    std::sort(labels.begin(), labels.end());
    return labels;
  }

 private:
  std::string listed(std::int64_t id) const {
    const auto name = names_.find(id);
    return name == names_.end() ? std::to_string(id)
                                : "'" + shown_text(name->second) + "'";
  }

  void add_map(const CocoItem& item, const std::string& folder, Maps& maps) {
    Map map;
    map.where = item.where();
    map.path = std::filesystem::path(folder) / item.text("file_name");
    for (const CocoItem& each : item.items("segments_info")) {
      const std::int64_t id = each.integer("id");
      TORCH_CHECK_VALUE(id > 0 && id <= kMostId, each.where(),
                        ": expected an id from 1 to ", kMostId, ", got ", id);
      const bool is_crowd = each.has("iscrowd") && each.flag("iscrowd");
      const bool is_new =
          map.segments
              .emplace(id, Segment{each.id("category_id", names_), is_crowd})
              .second;
      TORCH_CHECK_VALUE(is_new, each.where(), ": expected each id once, got ",
                        id, " twice");
    }
    const std::int64_t image = item.id("image_id", names_);
    const auto [other, is_new] = maps.emplace(image, std::move(map));
    TORCH_CHECK_VALUE(is_new, item.where(), ": expected each image once, got ",
                      listed(image), ", which is that of ",
                      other->second.where);
  }

  CocoCategories categories_;
  std::set<std::int64_t> things_;  // ids
  IdNames names_;
};

PanopticFiles::PanopticFiles(const PanopticPart& annotations,
                             const std::vector<PanopticPart>& results) {
  Reader reader;
  Reader::Maps targets = reader.read_target(annotations);
  Reader::Maps preds;
  for (const PanopticPart& part : results) reader.read_preds(part, preds);
  std::vector<std::int64_t> ids, missing, others;
  for (const auto& [id, map] : targets) {
    ids.push_back(id);
    if (preds.count(id) == 0) missing.push_back(id);
  }
  for (const auto& [id, map] : preds) {
    if (targets.count(id) == 0) others.push_back(id);
  }
  const std::string& file = results.front().file;
  TORCH_CHECK_VALUE(missing.empty(), file, ": expected a result of each image ",
                    "in ", annotations.file, ", got none of ", missing.size(),
                    ": image_id ", listed_ids(missing, reader.names()));
  TORCH_CHECK_VALUE(others.empty(), file,
                    ": expected results of the images in ", annotations.file,
                    ", got ", others.size(), " of other images: image_id ",
                    listed_ids(others, reader.names()));
  std::int64_t joined = 0;
  for (auto& [id, target] : targets) {
    Image image{std::move(preds.at(id)), std::move(target)};
    joined += reader.label(image.preds) + reader.label(image.target);
    check_sizes(image);
    most_pixels_ = std::max(most_pixels_, image.pixels);
    images_.push_back(std::move(image));
  }
  image_ids_ = at::tensor(ids, at::kLong);
  categories_ = reader.categories().listed();
  things_ = reader.labels(/*of_things=*/true);
  stuffs_ = reader.labels(/*of_things=*/false);
  remarks_ = reader.categories().remark();
  if (joined > 0) {
    remarks_ +=
        "segments of stuffs that are one with another of their image "
        "and category: " +
        std::to_string(joined) + "\n";
  }
}

void PanopticFiles::check_sizes(Image& image) {
  const PngFile preds(image.preds.path);
  const PngFile target(image.target.path);
  TORCH_CHECK_VALUE(
      preds.height() == target.height() && preds.width() == target.width(),
      image.preds.path, ": expected ", target.width(), " x ", target.height(),
      " pixels, as in ", image.target.path, ", got ", preds.width(), " x ",
      preds.height());
  image.pixels = preds.height() * preds.width();
}

void PanopticFiles::read_map(const Map& map, std::int64_t* pixels,
                             std::uint8_t* crowd) {
  const PngFile file(map.path);
  const std::vector<std::uint8_t> colors = file.read();
  std::set<std::int64_t> seen;
  std::int64_t last = -1;
  Segment segment{kVoid};
  for (std::size_t i = 0; 3 * i < colors.size(); ++i) {
    const std::int64_t id =
        colors[3 * i] + 256 * colors[3 * i + 1] + 65536 * colors[3 * i + 2];
    if (id != last) {
      last = id;
      const auto found = map.segments.find(id);
      const auto place = static_cast<std::int64_t>(i);
      TORCH_CHECK_VALUE(id == 0 || found != map.segments.end(), map.path,
                        ": expected 0 or an id of 'segments_info' (", map.where,
                        "), got ", id, " in row ", place / file.width(),
                        ", column ", place % file.width());
      segment = id == 0 ? Segment{kVoid} : found->second;
      if (id != 0) seen.insert(id);
    }
    pixels[2 * i] = segment.category;
    pixels[2 * i + 1] = id;
    if (crowd != nullptr) crowd[i] = segment.is_crowd;
  }
  for (const auto& [id, each] : map.segments) {
    TORCH_CHECK_VALUE(seen.count(id) != 0, map.path, ": expected pixels of ",
                      "all 'segments_info' (", map.where,
                      "), got none of the segment ", id);
  }
}

PanopticFiles::Images PanopticFiles::read(std::int64_t begin,
                                          std::int64_t end) const {
  std::int64_t most = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    most = std::max(most, images_[static_cast<std::size_t>(i)].pixels);
  }
  const std::int64_t count = end - begin;
  Images all{at::full({count, most, 2}, kVoid, at::kLong),
             at::full({count, most, 2}, kVoid, at::kLong),
             at::zeros({count, most}, at::kByte)};
  auto* const preds = all.preds.mutable_data_ptr<std::int64_t>();
  auto* const target = all.target.mutable_data_ptr<std::int64_t>();
  auto* const crowd = all.crowd.mutable_data_ptr<std::uint8_t>();
  at::parallel_for(0, count, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const Image& image = images_[static_cast<std::size_t>(begin + i)];
      read_map(image.preds, preds + 2 * i * most, nullptr);
      read_map(image.target, target + 2 * i * most, crowd + i * most);
    }
  });
  return all;
}

}  // namespace tally::files
