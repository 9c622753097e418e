#include "tally/losses/codebook/token_batch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <cstdio>
#include <memory>
#include <string_view>

#include "tally/state/codec.h"
#include "tally/sync/autograd.h"
#include "tally/sync/fingerprint.h"
#include "tally/sync/reduce.h"

namespace tally::losses::internal {

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
