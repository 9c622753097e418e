#pragma once

#include <string>
#include <vector>

#include "tally/metrics/detection/inputs/image_objects.h"
#include "tally/testing/batch.h"

namespace tally::testkit {

/// What detection metrics take of ragged rows.
inline InputValue image_objects(const std::vector<RaggedRow>& rows) {
  std::vector<ImageObjects> images;
  for (const RaggedRow& row : rows) {
    ImageObjects& image = images.emplace_back();
    for (const auto& [name, tensor] : row) {
      at::Tensor* const part = name == "boxes"     ? &image.boxes
                               : name == "scores"  ? &image.scores
                               : name == "labels"  ? &image.labels
                               : name == "iscrowd" ? &image.iscrowd
                                                   : &image.area;
      *part = tensor;
    }
  }
  return InputValue::of(std::move(images));
}

}  // namespace tally::testkit
