#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace c10d {
class Store;
}  // namespace c10d

namespace tally::sync::internal {

/// The identities of the ranks and, as far as known to the store through which
/// they met, the collective in which each of them waits. No call blocks longer
/// than its limit, whatever the store does.
class Roster {
 public:
  /// `names` are those returned by Rendezvous.
  Roster(c10::intrusive_ptr<c10d::Store> store, int rank,
         std::vector<std::string> names);
  ~Roster();
  Roster(const Roster&) = delete;
  Roster& operator=(const Roster&) = delete;

  /// "rank 1 (pid 4711 on host), rank 2 (...)", at most ten of them.
  std::string names(const std::vector<int>& ranks) const;

  /// Publishes that this rank waits in its `call`-th collective.
  void wait_in(std::int64_t call);
  /// The other ranks that are not known to wait in that call or a later one.
  /// Empty if the store does not answer within `limit`.
  std::optional<std::vector<int>> absent_from(std::int64_t call,
                                              std::chrono::milliseconds limit);

  /// Publishes the reason why this rank leaves.
  void leave(const std::string& reason, std::chrono::milliseconds limit);
  /// "; reason" for each rank that has published one, which may explain why
  /// others were lost.
  std::string reasons(std::chrono::milliseconds limit);

 private:
  class Clerk;

  Clerk& clerk();
  // The last message of each rank. Empty if the store does not answer.
  std::vector<std::string> last_words(std::chrono::milliseconds limit);

  int rank_;
  std::vector<std::string> names_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::unique_ptr<Clerk> clerk_;  // from the first call on
};

}  // namespace tally::sync::internal
