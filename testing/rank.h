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

/// How the ranks of a test are started. A fixture of RANKS_TEST_F and its like
/// that has other wishes has a member
///
///     static tally::testkit::RanksOptions ranks_options();
struct RanksOptions {
  /// Whether the ranks are connected before the test begins. If not, group()
  /// is refused: for code that connects ranks itself, by the environment (RANK,
  /// WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, and TALLY_STORE, the path of a
  /// FileStore), or over store().
  bool connect = true;
  /// The timeout of group() and process_group(): no collective waits longer.
  std::chrono::milliseconds timeout{20'000};
  /// When ranks that have not ended are ended, and the test fails.
  /// --tally_deadline=SECONDS takes its place; never later than a tenth before
  /// the whole program's time is up (TEST_TIMEOUT, in seconds, as Bazel sets
  /// it).
  std::chrono::seconds deadline{60};
  /// Changes to the environment of a rank's process: "NAME=value" sets, "NAME"
  /// removes. Not for threads.
  std::function<std::vector<std::string>(int rank)> environment = {};
};

/// One rank of a test: `self` in the body of RANKS_TEST. To be used by the
/// thread that runs the body, unless a member says otherwise.
class Rank {
 public:
  explicit Rank(std::shared_ptr<internal::RankState> state);

  int rank() const noexcept;
  int size() const noexcept;

  /// All ranks of the test, connected by Gloo over loopback, or in memory for
  /// threads: also the default communicator of the body's thread.
  const std::shared_ptr<sync::Communicator>& group() const;
  /// Another group of all ranks over Gloo, for code that takes c10d's: made by
  /// the first call, which every rank makes; later calls give the same one.
  /// Include <torch/csrc/distributed/c10d/ProcessGroup.hpp> for it.
  c10::intrusive_ptr<c10d::ProcessGroup> process_group() const;
  /// A store of this test's ranks alone, empty when the test begins.
  c10::intrusive_ptr<c10d::Store> store() const;

  /// For the files of this test: empty when it begins, removed when it ends.
  /// The same on every rank.
  std::string folder() const;

  /// Waits until every rank has come here, or has been killed or stopped by a
  /// fault. Goes by way of the test's runner and not of the group, which may be
  /// broken. std::runtime_error if a rank ends before it comes.
  void barrier() const;

  /// Lets this happen to `rank` when it enters a collective of group(): the one
  /// with this number, counted from 0 for the next. To be called alike on every
  /// rank. If the rank ends its body without having come to that collective,
  /// the test fails. On other communicators there are no faults:
  /// faulty_communicator.h is for those.
  ///
  ///     self.inject(Fault::kill(), /*rank=*/1, /*call=*/0);
  ///     metric.update(preds, target);
  ///     EXPECT_SYNC_ERROR(metric.compute(), SyncErrorCode::kPeerLost);
  void inject(const Fault& fault, int rank, std::int64_t call) const;
  /// Fault::kill(), Fault::exit() and Fault::stop() of this rank, now. In a
  /// process, any thread may call them: at any moment of what the body does.
  [[noreturn]] void die(int signal = SIGKILL) const;
  [[noreturn]] void exit(int code = 0) const;
  void stop() const;
  /// Lets a rank go on that stands still.
  void resume(int rank) const;
  /// Waits until another rank's process has ended, or its body on a thread.
  void wait_for_end(int rank) const;
  /// Waits until another rank stands still. std::runtime_error if it ends.
  void wait_for_stop(int rank) const;

 private:
  std::shared_ptr<internal::RankState> state_;
};

}  // namespace tally::testkit
