#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tally::losses::internal {

/// Views an input [batch, ..., channels] as one row per token, and restores the
/// shape of results.
class TokenView {
 public:
  TokenView() = default;
  /// Throws c10::ValueError that names `module` and the invalid argument.
  /// Without `channel_first`, channels are dimension 1 of inputs with 4 or more
  /// dimensions, otherwise the last one. `mask` (bool, or undefined) has the
  /// sizes of the batch and any number of the dimensions that follow it.
  TokenView(const char* module, const at::Tensor& input, std::int64_t channels,
            std::optional<bool> channel_first, const at::Tensor& mask);

  /// [n, channels]
  const at::Tensor& tokens() const { return tokens_; }
  /// [n] bool, the selected tokens; undefined without a mask.
  const at::Tensor& counts() const { return counts_; }

  /// From [n, channels] to the input's shape and dtype.
  at::Tensor restored(const at::Tensor& tokens) const;
  /// From [n, codebooks]; the last dimension is removed unless it is kept.
  at::Tensor restored_indices(const at::Tensor& indices,
                              bool keep_codebooks) const;

 private:
  at::Tensor tokens_;
  at::Tensor counts_;
  std::vector<std::int64_t> sizes_;  // without the channels
  at::ScalarType dtype_ = at::kFloat;
  bool channel_first_ = false;
};

}  // namespace tally::losses::internal
