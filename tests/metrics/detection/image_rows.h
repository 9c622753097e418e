#pragma once

#include <map>
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
    const std::map<std::string, at::Tensor*> parts = {
        {"boxes", &image.boxes},
        {"scores", &image.scores},
        {"labels", &image.labels},
        {"iscrowd", &image.iscrowd},
        {"area", &image.area},
        {"ignore", &image.ignore},
        {"masks", &image.masks},
        {"keypoints", &image.keypoints},
        {"negative_labels", &image.negative_labels},
        {"inexhaustive_labels", &image.inexhaustive_labels},
        {"image_size", &image.image_size}};
    for (const auto& [name, tensor] : row) *parts.at(name) = tensor;
  }
  return InputValue::of(std::move(images));
}

}  // namespace tally::testkit
