#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tally::sync {
class Communicator;
}  // namespace tally::sync

namespace tally::sync::internal {

/// How often a metric has been synced with each communicator: a metric and its
/// clones share one. If ranks pass two metrics of the same kind (one for
/// training, one for validation) to a call, their numbers usually differ.
///
/// Thread-safety: any function from any thread.
class SyncHistory {
 public:
  /// 0: this metric has not synced anything with it yet.
  std::uint32_t uses(const std::shared_ptr<Communicator>& communicator);
  /// To be called after uses(); does not throw.
  void set_uses(const std::shared_ptr<Communicator>& communicator,
                std::uint32_t uses);

 private:
  using Entry = std::pair<std::weak_ptr<Communicator>, std::uint32_t>;

  Entry* find(const std::shared_ptr<Communicator>& communicator);

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace tally::sync::internal
