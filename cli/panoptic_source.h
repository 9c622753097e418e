#pragma once

#include <memory>

#include "tally/cli/arguments.h"
#include "tally/cli/source.h"

namespace tally::cli {

/// Opens the files of --coco, for metrics of segments: an image is a row.
/// Throws c10::ValueError if they are invalid.
std::unique_ptr<Source> open_panoptic(const Arguments& arguments);

}  // namespace tally::cli
