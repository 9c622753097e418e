#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>
#include <vector>

/// Which texts of a column are equal, so that each is decoded once.
namespace tally::python {

/// For each row, the place of its text among the different ones: int64 [N]; and
/// for each of these, its first row.
using DistinctTexts = std::tuple<at::Tensor, at::Tensor>;

/// Of bytes of one width: uint8 [N, width].
DistinctTexts distinct_rows(const at::Tensor& bytes);

/// Of bytes one after another: uint8 [M], row i from ends[i] to ends[i + 1],
/// integers [N + 1]. c10::ValueError for ends that fall, or are beyond M.
DistinctTexts distinct_texts(const at::Tensor& bytes, const at::Tensor& ends);

/// Of Arrow's views: uint8 [N, 16] into buffers of bytes. c10::ValueError for
/// views that are beyond them.
DistinctTexts distinct_views(const at::Tensor& views,
                             const std::vector<at::Tensor>& buffers);

}  // namespace tally::python
