#pragma once

#include <cstdint>
#include <vector>

namespace tally::internal::detection {

/// The pixels of a polygon {x0, y0, x1, y1, ...} in a mask: the edges of runs
/// down its columns, begin and end in turn. COCO's rasterization, which samples
/// the outline five times as finely as pixels.
/// Throws c10::ValueError; see RunLengthMask::from_polygons.
std::vector<std::uint32_t> polygon_runs(const std::vector<double>& polygon,
                                        std::int64_t height,
                                        std::int64_t width);

}  // namespace tally::internal::detection
