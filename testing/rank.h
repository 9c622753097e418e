#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tally/sync/communicator.h"
#include "tally/testing/fault.h"

namespace c10d {
class ProcessGroup;
class Store;
}  // namespace c10d

namespace tally::testkit {

namespace internal {
class Host;
class RankState;
}  // namespace internal

/// Options for starting the ranks of a test. To change them, a fixture of
/// RANKS_TEST_F and similar macros defines a member
///
///     static tally::testkit::RanksOptions ranks_options();
struct RanksOptions {
  /// Whether the ranks are connected before the test starts. If not, group()
  /// throws: for code that connects ranks itself, through the environment
  /// (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, and TALLY_STORE, the path
  /// of a FileStore), or store().
  bool connect = true;
  /// The timeout of group() and process_group(): no collective waits longer.
  std::chrono::milliseconds timeout{20'000};
  /// When unfinished ranks are ended, and the test fails. Overridden by
  /// --tally_deadline=SECONDS; never later than 10 % before the time limit of
  /// the whole program (TEST_TIMEOUT, in seconds, set by Bazel).
  std::chrono::seconds deadline{60};
  /// Changes to the environment of a rank's process: "NAME=value" sets a
  /// variable, "NAME" removes it. Not supported for threads.
  std::function<std::vector<std::string>(int rank)> environment = {};
};

/// One rank of a test: `self` in the body of RANKS_TEST. Must be used by the
/// thread that runs the body, unless stated otherwise.
class Rank {
 public:
  explicit Rank(std::shared_ptr<internal::RankState> state);

  int rank() const noexcept;
  int size() const noexcept;

  /// The group of all ranks of the test, connected by Gloo over loopback, or in
  /// memory for threads; also the default communicator of the body's thread.
  const std::shared_ptr<sync::Communicator>& group() const;
  /// A c10d group of all ranks over Gloo: created by the first call, which
  /// every rank must make; later calls return the same one. Include
  /// <torch/csrc/distributed/c10d/ProcessGroup.hpp> for it.
  c10::intrusive_ptr<c10d::ProcessGroup> process_group() const;
  /// A store for the ranks of this test, empty when the test starts.
  c10::intrusive_ptr<c10d::Store> store() const;

  /// A folder for the files of this test: empty when it starts, removed when it
  /// ends. The same on every rank.
  std::string folder() const;

  /// Waits until every rank has arrived, or has been killed or stopped by a
  /// fault. Uses the test's runner instead of the group, which may be broken.
  /// Throws std::runtime_error if a rank ends before it arrives.
  void barrier() const;

  /// Injects a fault into `rank` when it enters a collective of group(): the
  /// one with this number, where 0 is the next. Must be called in the same way
  /// on every rank. If the rank finishes its body without reaching that
  /// collective, the test fails. For other communicators see
  /// faulty_communicator.h.
  ///
  ///     self.inject(Fault::kill(), /*rank=*/1, /*call=*/0);
  ///     metric.update(preds, target);
  ///     EXPECT_SYNC_ERROR(metric.compute(), SyncErrorCode::kPeerLost);
  void inject(const Fault& fault, int rank, std::int64_t call) const;
  /// Immediate Fault::kill(), Fault::exit() and Fault::stop() of this rank. In
  /// a process, any thread may call them, at any point of the body.
  [[noreturn]] void die(int signal = SIGKILL) const;
  [[noreturn]] void exit(int code = 0) const;
  void stop() const;
  /// Resumes a stopped rank.
  void resume(int rank) const;
  /// Waits until another rank's process has ended, or its body on a thread.
  void wait_for_end(int rank) const;
  /// Waits until another rank is stopped. Throws std::runtime_error if it ends.
  void wait_for_stop(int rank) const;

 private:
  std::shared_ptr<internal::RankState> state_;
};

}  // namespace tally::testkit
