#include "tally/losses/codebook/tokens.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <cstdio>
#include <memory>
#include <string_view>

#include "tally/losses/codebook/token_batch.h"
#include "tally/state/codec.h"
#include "tally/sync/autograd.h"
#include "tally/sync/fingerprint.h"
#include "tally/sync/reduce.h"

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

using sync::Agreement;
using sync::Call;
using sync::Offer;

TokenBatch agreed_batch(
    const Call& call, std::string schema,
    c10::function_ref<std::pair<at::Tensor, at::Tensor>()> prepare) {
  TokenBatch batch;
  const Agreement agreement = sync::agree(call, [&] {
    const auto [x, counts] = prepare();
    batch.x = x;
    if (counts.defined()) batch.rows = counts.nonzero().squeeze(1);
    batch.tokens = batch.counting(batch.x.detach());
    Offer offer;
    offer.schema = std::move(schema);
    Encoder(offer.payload).integer(batch.tokens.size(0));
    return offer;
  });
  for (int rank = 0; rank < call.size(); ++rank) {
    batch.counts.push_back(
        Decoder(agreement.payloads[static_cast<std::size_t>(rank)]).integer());
    if (rank < call.rank()) batch.first += batch.counts.back();
    batch.total += batch.counts.back();
  }
  return batch;
}

at::Tensor sum_over_ranks(const Call& call, const at::Tensor& own) {
  if (call.size() == 1) return own;
  at::Tensor sum = own.to(call.communicator->device()).contiguous();
  call.communicator->all_reduce(sum, sync::ReduceOp::kSum, call.timeout);
  return sum.to(own.device());
}

at::Tensor replicated_sum(const Call& call, const at::Tensor& own,
                          const at::Tensor& all) {
  const at::Tensor values = all.to(own.scalar_type());
  if (!sync::has_graph(own)) return values;
  Call backward = call;
  backward.name += ": gradients of gradients";
  const auto differs = std::make_shared<bool>(false);
  return sync::attach(own, values.clone(),
                      [backward, differs](const at::Tensor& gradient) {
                        *differs = *differs || at::GradMode::is_enabled();
                        if (!*differs) return gradient.mul(backward.size());
                        return sync::reduce(backward, sync::Reduction::kSum,
                                            [&] { return gradient; });
                      });
}

at::Tensor tokens_at(const Call& call, const TokenBatch& batch,
                     const at::Tensor& numbers) {
  at::Tensor chosen = at::zeros({numbers.size(0), batch.tokens.size(1)},
                                batch.tokens.options().dtype(at::kDouble));
  const at::Tensor own = numbers.sub(batch.first);
  const at::Tensor places =
      own.ge(0).logical_and(own.lt(batch.tokens.size(0))).nonzero().squeeze(1);
  const at::Device device = batch.tokens.device();
  chosen.index_copy_(
      0, places.to(device),
      batch.tokens.index_select(0, own.index_select(0, places).to(device))
          .to(at::kDouble));
  return sum_over_ranks(call, chosen);
}

std::string checksum(const at::Tensor& tensor) {
  const at::Tensor bytes = sync::plain(tensor).cpu();
  const std::uint64_t sum = sync::fingerprint(std::string_view(
      static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes()));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(sum));
  return text;
}

}  // namespace tally::losses::internal
