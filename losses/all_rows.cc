#include "tally/losses/all_rows.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "tally/sync/autograd.h"
#include "tally/sync/reduce.h"

namespace tally::losses::internal {

at::Tensor all_rows(const sync::Call& call, const RankRows& rows,
                    const at::Tensor& own) {
  const at::Tensor plain = sync::plain(own);
  if (call.size() == 1) return plain;
  // Every rank sends as many as the one with the most.
  std::vector<std::int64_t> sizes = plain.sizes().vec();
  sizes[0] = rows.most();
  const auto options = plain.options().device(call.communicator->device());
  const at::Tensor sent = at::zeros(sizes, options);
  sent.narrow(0, 0, plain.size(0)).copy_(plain);
  sizes[0] *= call.size();
  at::Tensor all = at::empty(sizes, options);
  call.communicator->all_gather(sent, all, call.timeout);
  std::vector<at::Tensor> parts;
  for (int rank = 0; rank < call.size(); ++rank) {
    parts.push_back(all.narrow(0, rank * rows.most(), rows.of(rank)));
  }
  return at::cat(parts).to(plain.device());
}

at::Tensor replicated_value(const sync::Call& call, const at::Tensor& value,
                            const std::vector<at::Tensor>& inputs,
                            const std::vector<at::Tensor>& gradients) {
  at::Tensor own;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!sync::has_graph(inputs[i])) continue;
    // Whose value does not matter, only its graph.
    const at::Tensor part = inputs[i].mul(gradients[i]).sum();
    own = own.defined() ? own.add(part) : part;
  }
  if (!own.defined()) return value;
  return sync::replicated(call, own.to(value.scalar_type()), value,
                          call.size());
}

}  // namespace tally::losses::internal
