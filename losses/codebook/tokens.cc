#include "tally/losses/codebook/tokens.h"

namespace tally::losses::internal {
namespace {

at::Tensor expanded(const char* module, const at::Tensor& mask,
                    const std::vector<std::int64_t>& sizes) {
  TORCH_CHECK_VALUE(mask.scalar_type() == at::kBool, module,
                    ": mask: expected dtype bool, got ", mask.scalar_type());
  const at::IntArrayRef of_tokens(sizes);
  const auto dims = static_cast<std::size_t>(mask.dim());
  TORCH_CHECK_VALUE(dims >= 1 && dims <= sizes.size() &&
                        mask.sizes() == of_tokens.slice(0, dims),
                    module, ": mask: expected the sizes of the tokens, ",
                    of_tokens, ", or the first of them, got ", mask.sizes());
  at::Tensor result = mask;
  for (std::size_t i = dims; i < sizes.size(); ++i) {
    result = result.unsqueeze(-1);
  }
  return result.expand(of_tokens).reshape({-1});
}

}  // namespace

TokenView::TokenView(const char* module, const at::Tensor& input,
                     std::int64_t channels, std::optional<bool> channel_first,
                     const at::Tensor& mask) {
  TORCH_CHECK_VALUE(input.defined() && input.is_floating_point(), module,
                    ": x: expected a floating dtype, got ",
                    input.defined() ? c10::toString(input.scalar_type())
                                    : "an undefined tensor");
  TORCH_CHECK_VALUE(input.dim() >= 2, module,
                    ": x: expected at least 2 dimensions, got sizes ",
                    input.sizes());
  dtype_ = input.scalar_type();
  channel_first_ = channel_first.value_or(input.dim() >= 4);
  const at::Tensor last = channel_first_ ? input.movedim(1, -1) : input;
  TORCH_CHECK_VALUE(last.size(-1) == channels, module, ": x: expected ",
                    channels, " channels in dimension ",
                    channel_first_ ? 1 : input.dim() - 1, ", got sizes ",
                    input.sizes());
  sizes_ = last.sizes().slice(0, last.dim() - 1).vec();
  tokens_ = last.reshape({c10::multiply_integers(sizes_), channels});
  if (mask.defined()) counts_ = expanded(module, mask, sizes_);
}

at::Tensor TokenView::restored(const at::Tensor& tokens) const {
  std::vector<std::int64_t> sizes = sizes_;
  sizes.push_back(tokens.size(1));
  const at::Tensor last = tokens.reshape(sizes).to(dtype_);
  return channel_first_ ? last.movedim(-1, 1) : last;
}

at::Tensor TokenView::restored_indices(const at::Tensor& indices,
                                       bool keep_codebooks) const {
  std::vector<std::int64_t> sizes = sizes_;
  if (keep_codebooks) sizes.push_back(indices.size(1));
  return indices.reshape(sizes);
}

}  // namespace tally::losses::internal
