#include "tally/sync/agree.h"

#include <utility>

#include "tally/sync/duplicate.h"
#include "tally/sync/exchange/tensors.h"
#include "tally/sync/transport/duplicable.h"

namespace tally::sync {

Call::Call(std::string call_name, std::shared_ptr<Communicator> ranks,
           Timeout limit)
    : name(std::move(call_name)),
      communicator(ranks ? std::move(ranks) : default_communicator()),
      timeout(limit),
      kind(internal::ExchangeKind::kCollective) {}

Call Call::backward(std::int64_t sequence) const {
  Call call(c10::str("backward of exchange ", sequence, ", ", name),
            communicator, timeout);
  call.asker = asker.empty() ? "backward of " + name : asker;
  call.kind = internal::ExchangeKind::kBackward;
  return call;
}

Call Call::backward_of_gradient() const {
  Call call("gradient of a gradient of " + name, communicator, timeout);
  call.kind = internal::ExchangeKind::kBackward;
  return call;
}

Agreement agree(const Call& call, c10::function_ref<Offer()> prepare) {
  return internal::agree_on_tensors(
      call, [&] { return internal::TensorOffer{prepare()}; });
}

void report_failure(const Call& call,
                    const std::exception_ptr& error) noexcept {
  const AskedBy asked = call.asked();
  internal::report(*call.communicator, call.kind, call.name, error,
                   call.timeout);
}

std::shared_ptr<Communicator> duplicate(
    std::shared_ptr<Communicator> communicator) {
  const Call call("duplicate", std::move(communicator));
  const auto with_timeout = [&](std::shared_ptr<Communicator> copy) {
    copy->set_timeout(call.communicator->timeout());
    return copy;
  };
  if (call.size() == 1) return with_timeout(single_process_communicator());
  const AskedBy asked = call.asked();
  auto* const source =
      dynamic_cast<internal::Duplicable*>(call.communicator.get());
  const Agreement agreement = agree(call, [&] {
    TORCH_CHECK_VALUE(source && source->can_duplicate(),
                      "expected a communicator that Tally connected, got ",
                      call.communicator->describe());
    return Offer();
  });
  return with_timeout(source->duplicate(agreement.sequence));
}

}  // namespace tally::sync
