#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace tally::losses::internal {

/// [codes, d + 1] float64: the sum of each code's tokens, and their count.
at::Tensor sums_of_codes(const at::Tensor& tokens, const at::Tensor& indices,
                         std::int64_t codes);

/// Sums a float64 tensor over ranks.
using SumOverRanks = c10::function_ref<at::Tensor(const at::Tensor& own)>;

struct Clusters {
  at::Tensor means;   ///< [codes, d] float64; of length 1 with `cosine`
  at::Tensor counts;  ///< [codes] float64, number of tokens nearest to each
};

/// Lloyd's iterations over the tokens of all ranks, starting from `means`. A
/// cluster without tokens keeps its mean.
Clusters kmeans(const at::Tensor& tokens, const at::Tensor& means,
                std::int64_t iterations, bool cosine, SumOverRanks sum);

}  // namespace tally::losses::internal
