#include "tally/sync/gather.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <sstream>
#include <utility>

#include "tally/state/codec.h"
#include "tally/sync/autograd.h"
#include "tally/sync/exchange.h"
#include "tally/sync/fingerprint.h"

namespace tally::sync {
namespace {

constexpr std::uint32_t kHasGraph = 1;
constexpr const char* kLabel = "gather_all_tensors";

std::string kind_of(const at::Tensor& tensor) {
  return tensor.defined()
             ? c10::str(tensor.scalar_type(), " with ", tensor.dim(), " dims")
             : std::string("nothing");
}

// Every rank sees the same tensors, so all of them throw or none does.
void check_alike(const std::vector<at::Tensor>& slots,
                 const Communicator& communicator, std::int64_t sequence) {
  const at::Tensor* first = nullptr;
  std::vector<int> others;
  for (size_t r = 0; r < slots.size(); ++r) {
    if (!slots[r].defined()) continue;
    if (!first) first = &slots[r];
    if (slots[r].scalar_type() != first->scalar_type() ||
        slots[r].dim() != first->dim()) {
      others.push_back(static_cast<int>(r));
    }
  }
  if (others.empty()) return;
  std::ostringstream text;
  text << "the ranks' tensors differ in kind: ";
  for (size_t r = 0; r < slots.size(); ++r) {
    text << (r == 0 ? "rank " : ", rank ") << r << ": " << kind_of(slots[r]);
  }
  SyncErrorDetails details;
  details.metric = kLabel;
  details.rank = communicator.rank();
  details.peers = std::move(others);
  details.sequence = sequence;
  details.phase = "payload";
  throw SyncError(SyncErrorCode::kMismatch, text.str(), std::move(details));
}

// Ranks that have nothing get an empty tensor like the first that has some.
void fill_absent(std::vector<at::Tensor>& slots) {
  at::Tensor like;
  for (const at::Tensor& slot : slots) {
    if (slot.defined() && !like.defined()) like = slot;
  }
  if (!like.defined()) return;
  std::vector<std::int64_t> sizes = like.sizes().vec();
  if (sizes.empty()) {
    sizes.assign(1, 0);
  } else {
    sizes[0] = 0;
  }
  for (at::Tensor& slot : slots) {
    if (!slot.defined()) slot = at::empty(sizes, like.options());
  }
}

Contributions exchange(Communicator& communicator, const at::Tensor& tensor,
                       GradientFlow flow, bool has_graph, Timeout timeout) {
  const auto schema = [&] {
    return std::string("gradient flow ") + to_string(flow);
  };
  Contribution own{ExchangeKind::kTensor, kLabel, fingerprint(schema()),
                   schema};
  own.flags = has_graph ? kHasGraph : 0;
  std::string payload;
  std::exception_ptr failed;
  std::string failure;
  try {
    Encoder(payload).tensor(tensor);
    own.payload = payload;
  } catch (const std::exception& error) {
    failed = std::current_exception();
    failure = describe(error);
    own.failure = failure;
  }
  Contributions all = Exchange::run(communicator, own, timeout);
  if (failed) std::rethrow_exception(failed);
  return all;
}

}  // namespace

const char* to_string(GradientFlow flow) noexcept {
  switch (flow) {
    case GradientFlow::kDetached:
      return "kDetached";
    case GradientFlow::kLocal:
      return "kLocal";
    case GradientFlow::kReplicated:
      return "kReplicated";
    case GradientFlow::kAllRanks:
      return "kAllRanks";
  }
  return "unknown";
}

std::vector<at::Tensor> gather_all_tensors(
    const at::Tensor& tensor, GradientFlow flow,
    std::shared_ptr<Communicator> communicator, Timeout timeout) {
  if (!communicator) communicator = default_communicator();
  const auto rank = static_cast<size_t>(communicator->rank());
  const bool has_graph =
      tensor.defined() && tensor.requires_grad() && at::GradMode::is_enabled();
  const Contributions all =
      exchange(*communicator, tensor, flow, has_graph, timeout);

  std::vector<at::Tensor> slots;
  for (const std::string_view payload : all.payloads) {
    slots.push_back(Decoder(payload).tensor());
  }
  check_alike(slots, *communicator, all.sequence);
  fill_absent(slots);
  if (tensor.defined()) {
    for (at::Tensor& slot : slots) slot = slot.to(tensor.device());
  }

  bool any_graph = false;
  for (std::uint32_t flags : all.flags) any_graph |= (flags & kHasGraph) != 0;
  if (flow == GradientFlow::kAllRanks && any_graph && slots[0].defined()) {
    std::vector<std::vector<at::Tensor>> lists;
    for (at::Tensor& slot : slots) lists.push_back({std::move(slot)});
    const at::Tensor own = has_graph ? tensor : lists[rank][0];
    lists = internal::attach_all_ranks({own}, lists, communicator);
    for (size_t r = 0; r < slots.size(); ++r) slots[r] = lists[r][0];
  } else if (tensor.defined() && flow == GradientFlow::kReplicated &&
             has_graph) {
    slots[rank] = internal::scale_gradient(tensor, communicator->size());
  } else if (tensor.defined()) {
    slots[rank] = flow == GradientFlow::kDetached ? tensor.detach() : tensor;
  }
  return slots;
}

}  // namespace tally::sync
