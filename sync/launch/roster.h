#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tally/sync/communicator.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace tally::sync::internal {

/// Who the ranks are and, as far as the store through which they met knows, in
/// which of their collectives each of them waits. No call blocks for longer
/// than it is told, whatever the store does.
class Roster {
 public:
  /// `names` as Rendezvous gives them.
  Roster(c10::intrusive_ptr<c10d::Store> store, int rank,
         std::vector<std::string> names);
  ~Roster();
  Roster(const Roster&) = delete;
  Roster& operator=(const Roster&) = delete;

  /// "rank 1 (pid 4711 on host), rank 2 (...)", at most ten of them.
  std::string names(const std::vector<int>& ranks) const;

  /// Lets the others know that this rank waits in its `call`-th collective.
  void wait_in(std::int64_t call);
  /// The other ranks of which it is not known that they wait in that call or a
  /// later one. Empty if the store does not answer within `limit`.
  std::optional<std::vector<int>> absent_from(std::int64_t call,
                                              std::chrono::milliseconds limit);

  /// Lets the others know why this rank leaves.
  void leave(const std::string& reason, std::chrono::milliseconds limit);
  /// "; reason", for each rank that has left one: those that are lost may have
  /// left because of it.
  std::string reasons(std::chrono::milliseconds limit);

 private:
  class Clerk;

  Clerk& clerk();
  // What each rank has let the others know last. Empty if the store does not
  // answer.
  std::vector<std::string> last_words(std::chrono::milliseconds limit);

  int rank_;
  std::vector<std::string> names_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::unique_ptr<Clerk> clerk_;  // from the first call on
};

/// Connects the ranks of a group once more; the number is a new one each time.
using Reconnect =
    std::function<std::shared_ptr<Communicator>(std::int64_t number)>;

/// As make_communicator() of process_group.h; null means that nothing is known
/// of the ranks.
std::shared_ptr<Communicator> make_communicator(
    c10::intrusive_ptr<c10d::Backend> backend,
    std::chrono::milliseconds timeout, std::unique_ptr<Roster> roster,
    Reconnect reconnect);

}  // namespace tally::sync::internal
