#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace tally::losses::internal {

/// The loss of all rows, at least 2, as one node of the graph. `formula` is for
/// derivatives of higher order. REQUIRES: are_fusible({a, b}).
at::Tensor fused_barlow_twins(
    const at::Tensor& a, const at::Tensor& b, double lambda, double eps,
    std::function<at::Tensor(const at::Tensor& a, const at::Tensor& b)>
        formula);

}  // namespace tally::losses::internal
