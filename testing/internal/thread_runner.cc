#include "tally/testing/internal/thread_runner.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <utility>
#include <vector>

#include "tally/testing/internal/flags.h"
#include "tally/testing/internal/folder.h"
#include "tally/testing/internal/memory_group.h"
#include "tally/testing/internal/rank_state.h"

namespace tally::testkit::internal {
namespace {

using ::testing::TestPartResult;

thread_local bool is_rank = false;

// Ends RUN_ALL_TESTS() of a rank before it changes anything: GoogleTest cannot
// run tests on several threads at once.
class NestedTests final : public ::testing::EmptyTestEventListener {
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    if (is_rank) {
      throw std::logic_error(
          "RUN_ALL_TESTS() within the body of a test over ranks");
    }
  }
};

void refuse_nested_tests() {
  [[maybe_unused]] static const bool once = [] {
    ::testing::UnitTest::GetInstance()->listeners().Append(new NestedTests);
    return true;
  }();
}

// Takes a rank that a fault has ended out of its body. Where something catches
// it on the way, nobody hears any more of what the body does.
struct Ended {};

/// What a rank does, as the others and the runner see it.
struct Seat {
  bool ended = false;
  bool by_fault = false;
  bool stopped = false;
  bool at_barrier = false;
};

class Room {
 public:
  explicit Room(int ranks) : seats_(ranks) {}

  const std::string& folder() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!folder_) folder_.emplace();
    return folder_->path();
  }

  void barrier(int rank) {
    std::unique_lock<std::mutex> lock(mutex_);
    const int meeting = meetings_;
    seats_[rank].at_barrier = true;
    meet();
    int gone = -1;
    changed_.wait(lock, [&] {
      if (meetings_ == meeting) gone = ended_by_itself();
      return meetings_ != meeting || gone >= 0;
    });
    if (meetings_ != meeting) return;
    seats_[rank].at_barrier = false;
    refuse(gone, "reach the barrier");
  }

  /// Whether it has been resumed, and not left as the last one.
  bool stop(int rank) {
    std::unique_lock<std::mutex> lock(mutex_);
    seats_[rank].stopped = true;
    meet();
    changed_.wait(lock, [&] { return !seats_[rank].stopped || all_rest(); });
    return !seats_[rank].stopped;
  }
  void resume(int rank) {
    std::lock_guard<std::mutex> lock(mutex_);
    seats_[rank].stopped = false;
    changed_.notify_all();
  }
  void wait_for_end(int rank) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return seats_[rank].ended; });
  }
  void wait_for_stop(int rank) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock,
                  [&] { return seats_[rank].stopped || seats_[rank].ended; });
    if (!seats_[rank].stopped) refuse(rank, "stand still");
  }
  void end(int rank, bool by_fault) {
    std::lock_guard<std::mutex> lock(mutex_);
    seats_[rank].ended = true;
    seats_[rank].by_fault = by_fault;
    meet();
  }

  /// Waits until all have ended; the ranks that have not by then.
  std::vector<int> wait_for_all(std::chrono::seconds limit, bool for_ever) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto all = [&] {
      for (const Seat& seat : seats_) {
        if (!seat.ended) return false;
      }
      return true;
    };
    if (for_ever) {
      changed_.wait(lock, all);
    } else {
      changed_.wait_for(lock, limit, all);
    }
    std::vector<int> left;
    for (std::size_t r = 0; r < seats_.size(); ++r) {
      if (!seats_[r].ended) left.push_back(static_cast<int>(r));
    }
    return left;
  }

 private:
  void meet() {
    bool all = true;
    for (const Seat& seat : seats_) {
      all = all && (seat.at_barrier || seat.stopped || seat.by_fault);
    }
    if (all) {
      ++meetings_;
      for (Seat& seat : seats_) seat.at_barrier = false;
    }
    changed_.notify_all();
  }
  int ended_by_itself() const {
    for (std::size_t r = 0; r < seats_.size(); ++r) {
      if (seats_[r].ended && !seats_[r].by_fault) return static_cast<int>(r);
    }
    return -1;
  }
  bool all_rest() const {
    for (const Seat& seat : seats_) {
      if (!seat.ended && !seat.stopped) return false;
    }
    return true;
  }
  [[noreturn]] static void refuse(int rank, const char* what) {
    throw std::runtime_error("rank " + std::to_string(rank) +
                             " has ended, and will not " + what);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat> seats_;
  std::optional<Folder> folder_;
  int meetings_ = 0;
};

class ThreadHost final : public Host, public CallWatch {
 public:
  ThreadHost(Room& room, MemoryGroup& group, int rank,
             c10::intrusive_ptr<c10d::Store> store)
      : room_(room), group_(group), rank_(rank), store_(std::move(store)) {}

  void set_results(const ::testing::TestPartResultArray* results) {
    results_ = results;
  }
  /// How many results the rank had when a fault ended it.
  std::optional<int> results_at_end() const { return at_end_; }

  c10::intrusive_ptr<c10d::Store> store() override { return store_; }
  std::string folder() override { return room_.folder(); }
  void barrier() override { room_.barrier(rank_); }
  [[noreturn]] void die(int) override {
    if (!at_end_) {
      at_end_ = results_->size();
      group_.leave(rank_);
      room_.end(rank_, true);
    }
    throw Ended();
  }
  [[noreturn]] void exit(int) override { die(0); }
  void stop() override {
    if (!room_.stop(rank_)) die(0);
  }
  void resume(int rank) override { room_.resume(rank); }
  void wait_for_end(int rank) override { room_.wait_for_end(rank); }
  void wait_for_stop(int rank) override { room_.wait_for_stop(rank); }

  void enter(const char* collective, std::int64_t call) noexcept override {
    std::lock_guard<std::mutex> lock(mutex_);
    collective_ = collective;
    call_ = call;
  }
  void leave() noexcept override {
    std::lock_guard<std::mutex> lock(mutex_);
    collective_ = nullptr;
  }
  std::string doing() const {
    std::lock_guard<std::mutex> lock(mutex_);
    if (collective_ == nullptr) return "is in no collective of its group";
    return std::string("waits in ") + collective_ + ", collective " +
           std::to_string(call_) + " of its group, counted from 0";
  }

 private:
  Room& room_;
  MemoryGroup& group_;
  const int rank_;
  const ::testing::TestPartResultArray* results_ = nullptr;
  std::optional<int> at_end_;
  const c10::intrusive_ptr<c10d::Store> store_;
  mutable std::mutex mutex_;
  const char* collective_ = nullptr;
  std::int64_t call_ = 0;
};

std::vector<Report> reports_of(const ::testing::TestPartResultArray& results,
                               int count, int rank) {
  std::vector<Report> reports;
  for (int i = 0; i < count; ++i) {
    const TestPartResult& result = results.GetTestPartResult(i);
    if (result.passed()) continue;
    reports.push_back({rank,
                       result.skipped()          ? Report::Kind::kSkip
                       : result.fatally_failed() ? Report::Kind::kFatal
                                                 : Report::Kind::kFailure,
                       Weight::kCause,
                       result.file_name() == nullptr ? "" : result.file_name(),
                       result.line_number(), result.message()});
  }
  return reports;
}

bool goes_on(const ::testing::TestPartResultArray& results) {
  for (int i = 0; i < results.size(); ++i) {
    const TestPartResult& result = results.GetTestPartResult(i);
    if (result.fatally_failed() || result.skipped()) return false;
  }
  return true;
}

class ThreadRun {
 public:
  ThreadRun(const std::vector<ThreadBody>& bodies, const RanksOptions& options)
      : bodies_(bodies),
        options_(options),
        room_(size()),
        group_(size(), options.timeout),
        reports_(bodies.size()) {
    const auto store = c10::make_intrusive<c10d::HashStore>();
    for (int rank = 0; rank < size(); ++rank) {
      hosts_.push_back(
          std::make_unique<ThreadHost>(room_, group_, rank, store));
    }
  }

  /// Sets `ended` to the ranks that came to the end of the body.
  std::vector<Report> run(std::vector<int>& ended) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank) {
      threads.emplace_back([this, rank] { run_rank(rank); });
    }
    const auto late =
        room_.wait_for_all(flags().deadline.value_or(options_.deadline),
                           flags().hold_rank.has_value());
    if (!late.empty()) end_program(late);
    for (std::thread& thread : threads) thread.join();
    std::vector<Report> all;
    for (int rank = 0; rank < size(); ++rank) {
      all.insert(all.end(), reports_[rank].begin(), reports_[rank].end());
      if (!hosts_[rank]->results_at_end()) ended.push_back(rank);
    }
    return all;
  }

 private:
  int size() const { return static_cast<int>(bodies_.size()); }

  void run_rank(int rank) {
    is_rank = true;
    ThreadHost& host = *hosts_[rank];
    ::testing::TestPartResultArray results;
    host.set_results(&results);
    std::vector<Report> thrown;
    {
      const ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::
              INTERCEPT_ONLY_CURRENT_THREAD,
          &results);
      const auto state =
          std::make_shared<RankState>(host, rank, size(), options_.timeout);
      std::optional<sync::CommunicatorGuard> guard;
      if (options_.connect) {
        state->set_group(group_.communicator(rank), &host);
        guard.emplace(state->group());
      }
      const auto run = [&](const auto& part) {
        try {
          part();
        } catch (const Ended&) {
        } catch (...) {
          if (host.results_at_end()) return;
          thrown.push_back(report_of(std::current_exception(), rank));
        }
      };
      const ThreadBody& body = bodies_[rank];
      run(body.set_up);
      if (thrown.empty() && !host.results_at_end() && goes_on(results)) {
        run([&] {
          Rank self(state);
          body.body(self);
        });
      }
      if (!host.results_at_end()) run(body.tear_down);
      const std::string left = state->faults_left();
      if (!left.empty() && !host.results_at_end() && thrown.empty() &&
          results.size() == 0) {
        thrown.push_back(
            {rank, Report::Kind::kFatal, Weight::kCause, "", 0, left});
      }
      state->leave();
    }
    reports_[rank] = reports_of(
        results, host.results_at_end().value_or(results.size()), rank);
    reports_[rank].insert(reports_[rank].end(), thrown.begin(), thrown.end());
    if (host.results_at_end()) return;
    group_.leave(rank);
    room_.end(rank, false);
  }

  // Threads cannot be ended.
  [[noreturn]] void end_program(const std::vector<int>& late) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    for (const int rank : late) {
      std::cerr << test->test_suite_name() << '.' << test->name() << ": rank "
                << rank << " of " << size()
                << ", a thread, did not end in time and "
                << hosts_[rank]->doing() << std::endl;
    }
    std::abort();
  }

  const std::vector<ThreadBody>& bodies_;
  const RanksOptions options_;
  Room room_;
  MemoryGroup group_;
  std::vector<std::unique_ptr<ThreadHost>> hosts_;
  std::vector<std::vector<Report>> reports_;
};

}  // namespace

void run_threads(const std::vector<ThreadBody>& bodies,
                 const RanksOptions& options, const Place& test) {
  refuse_nested_tests();
  try {
    std::vector<int> ended;
    std::vector<Report> reports = ThreadRun(bodies, options).run(ended);
    tell(std::move(reports), static_cast<int>(bodies.size()), ended, test);
  } catch (const std::exception& error) {
    ADD_FAILURE_AT(test.file, test.line) << error.what();
  }
}

}  // namespace tally::testkit::internal
