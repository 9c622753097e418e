#include "tally/sync/duplicate.h"

#include <utility>

#include "tally/sync/agree.h"
#include "tally/sync/transport/duplicable.h"

namespace tally::sync {

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
