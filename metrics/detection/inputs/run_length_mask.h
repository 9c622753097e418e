#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

/// The pixels of an object, as runs down the columns of its image: the first
/// column from top to bottom, then the second.
///
///     auto mask = RunLengthMask::from_tensor(pixels);  // [height, width]
///     auto same = RunLengthMask::from_string(height, width, "QT4k4...");
class RunLengthMask {
 public:
  using Polygon = std::vector<double>;

  /// Without pixels. Throws c10::ValueError unless height * width is from 1 to
  /// 2^32 - 1; so do all others.
  RunLengthMask(std::int64_t height, std::int64_t width);
  /// From COCO's plain runs: the numbers of pixels that do not and do belong to
  /// the object, in turn. Throws c10::ValueError unless they add up to the
  /// pixels of the image.
  static RunLengthMask from_counts(std::int64_t height, std::int64_t width,
                                   c10::ArrayRef<std::int64_t> counts);
  /// From COCO's compressed runs, a text.
  static RunLengthMask from_string(std::int64_t height, std::int64_t width,
                                   std::string_view text);
  /// The union of polygons {x0, y0, x1, y1, ...}, rasterized as by pycocotools.
  /// Throws c10::ValueError for fewer than 6 coordinates, an odd number, or
  /// coordinates beyond 10^6.
  static RunLengthMask from_polygons(std::int64_t height, std::int64_t width,
                                     c10::ArrayRef<Polygon> polygons);
  /// From a bool or int tensor [height, width]; pixels other than 0 belong to
  /// the object.
  static RunLengthMask from_tensor(const at::Tensor& pixels);

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  /// The number of pixels.
  std::int64_t area() const { return area_; }
  /// As for from_counts().
  std::vector<std::int64_t> counts() const;
  /// As for from_string().
  std::string to_string() const;
  /// bool [height, width].
  at::Tensor to_tensor() const;

  /// The pixels that both have. Throws c10::ValueError for masks of different
  /// sizes.
  std::int64_t intersection(const RunLengthMask& other) const;

 private:
  // Every run of pixels from edges_[2 i] to before edges_[2 i + 1].
  void set_edges(std::vector<std::uint32_t> edges);

  std::int64_t height_;
  std::int64_t width_;
  std::int64_t area_ = 0;
  std::vector<std::uint32_t> edges_;
  // Rows and columns of pixels: [top_, bottom_) and [left_, right_).
  std::uint32_t top_ = 0, bottom_ = 0, left_ = 0, right_ = 0;
};

}  // namespace tally
