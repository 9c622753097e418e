#include "tally/sync/exchange/session.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace tally::sync::internal {

void BackgroundList::remove(const Background& background) noexcept {
  const auto own = lock();
  list_.erase(std::remove(list_.begin(), list_.end(), &background),
              list_.end());
}

void BackgroundList::advance() {
  const auto own = lock();
  if (list_.empty() || std::exchange(advancing_, true)) return;
  for (Background* background : list_) background->advance();
  advancing_ = false;
}

ExchangeSession& session_of(Communicator& communicator) {
  return static_cast<ExchangeSession&>(
      communicator.hook([]() -> std::unique_ptr<CommunicatorHook> {
        return std::make_unique<ExchangeSession>();
      }));
}

}  // namespace tally::sync::internal
