#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tally/files/coco_files.h"

namespace tally::files {

/// A .json file of COCO's panoptic format, and the folder of the PNG files that
/// it names. Without a folder, it is called as the file, without .json.
struct PanopticPart {
  std::string file;
  std::string folder = {};
};

/// Panoptic segmentations, as COCO's files have them: an image is a PNG file of
/// 8-bit RGB, in which red + 256 green + 65536 blue is the id of a pixel's
/// segment, and 0 is void. The .json files are read as a whole, and images when
/// they are asked for. Ids are as in CocoFiles.
///
/// Example:
///     files::PanopticFiles files({"panoptic_val.json"}, {{"results.json"}});
///     PanopticQuality quality(
///         PanopticQualityOptions(files.things(), files.stuffs())
///             .allow_unknown_preds_category(true));  // void
///     for (std::int64_t i = 0; i < files.image_ids().numel(); ++i) {
///       const auto image = files.read(i, i + 1);
///       quality.update(image.preds, image.target, image.crowd);
///     }
class PanopticFiles {
 public:
  /// What PanopticQuality takes. Images are lists of pixels, with void pixels
  /// behind those of all but the largest one.
  struct Images {
    at::Tensor preds;   ///< int64 [N, P, 2]: category or kVoid, and segment
    at::Tensor target;  ///< the same
    at::Tensor crowd;   ///< uint8 [N, P]: 1 in crowds of target
  };
  static constexpr std::int64_t kVoid = -1;

  /// Throws c10::ValueError that names file and item, unless each annotated
  /// image has one result of its size.
  PanopticFiles(const PanopticPart& annotations,
                const std::vector<PanopticPart>& results);

  /// The ids of the images, ascending.
  const at::Tensor& image_ids() const { return image_ids_; }
  /// Ids and names, by ascending id.
  const Categories& categories() const { return categories_; }
  /// The ids of categories with and without instances, ascending.
  const std::vector<std::int64_t>& things() const { return things_; }
  const std::vector<std::int64_t>& stuffs() const { return stuffs_; }
  /// Of the largest image.
  std::int64_t most_pixels() const { return most_pixels_; }
  /// The PNG file of an image's result.
  const std::string& result_path(std::int64_t image) const {
    return images_[static_cast<std::size_t>(image)].preds.path;
  }
  /// Images [begin, end). Throws c10::ValueError that names file and pixel for
  /// segments that only one of .json and PNG file has.
  Images read(std::int64_t begin, std::int64_t end) const;
  /// On what was read otherwise than panopticapi does, for the user; may be
  /// empty.
  const std::string& remarks() const { return remarks_; }

 private:
  class Reader;

  struct Segment {
    std::int64_t category;
    bool is_crowd = false;
  };
  struct Map {
    std::string path;
    std::string where;  // of its annotation
    std::map<std::int64_t, Segment> segments;
  };
  struct Image {
    Map preds, target;
    std::int64_t pixels = 0;
  };

  static void check_sizes(Image& image);
  static void read_map(const Map& map, std::int64_t* pixels,
                       std::uint8_t* crowd);

  std::vector<Image> images_;
  at::Tensor image_ids_;
  Categories categories_;
  std::vector<std::int64_t> things_, stuffs_;
  std::int64_t most_pixels_ = 0;
  std::string remarks_;
};

}  // namespace tally::files
