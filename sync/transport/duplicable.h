#pragma once

#include <cstdint>
#include <memory>

#include "tally/sync/communicator.h"

namespace tally::sync::internal {

/// A communicator that knows how its ranks were connected, and can connect them
/// again.
class Duplicable {
 public:
  virtual bool can_duplicate() const = 0;
  /// Collective, with the same number on every rank; each number may be used
  /// once.
  virtual std::shared_ptr<Communicator> duplicate(std::int64_t number) = 0;

 protected:
  ~Duplicable() = default;
};

}  // namespace tally::sync::internal
