#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/detection/inputs/image_objects.h"

namespace tally::python {

/// What inputs of any kinds are read from, in order: see FlatInputs. Throw
/// c10::ValueError where nothing is left.
class InputSource {
 public:
  virtual ~InputSource() = default;

  virtual std::int64_t next_kind() = 0;
  virtual std::string next_text() = 0;
  virtual const at::Tensor& next_tensor() = 0;
};

/// The names of the tensors that ImageObjects has, in the order of their bits.
std::vector<std::string> image_fields();

/// Objects as
///   fields, masks          bits of the tensors that follow, in their order,
///                          and the number of masks that are runs
/// and of each of these
///   height, width, -1      the next of texts, COCO's compressed runs
///   height, width, 0       the next of tensors, COCO's plain runs, int [*]
///   height, width, n       n of tensors, polygons, float64 [*]
ImageObjects read_image_objects(InputSource& source);

}  // namespace tally::python
