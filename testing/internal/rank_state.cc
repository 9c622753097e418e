#include "tally/testing/internal/rank_state.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <condition_variable>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "tally/port/gloo.h"
#include "tally/state/joined.h"

namespace tally::testkit {

const char* to_string(Fault::Kind kind) noexcept {
  switch (kind) {
    case Fault::Kind::kKill:
      return "Fault::kill";
    case Fault::Kind::kExit:
      return "Fault::exit";
    case Fault::Kind::kStop:
      return "Fault::stop";
    case Fault::Kind::kDelay:
      return "Fault::delay";
    case Fault::Kind::kError:
      return "Fault::error";
  }
  return "Fault";
}

}  // namespace tally::testkit

namespace tally::testkit::internal {
namespace {

// A condition that nobody makes true, so that nothing but the time ends it.
void let_pass(std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  never.wait_for(lock, time, [] { return false; });
}

}  // namespace

RankState::RankState(Host& host, int rank, int size,
                     std::chrono::milliseconds timeout)
    : host_(host), rank_(rank), size_(size), timeout_(timeout) {}

RankState::~RankState() = default;

void RankState::set_group(std::shared_ptr<sync::Communicator> group,
                          CallWatch* watch) {
  group_ = std::make_shared<FaultyCommunicator>(
      std::move(group), [this](std::int64_t call) { before(call); },
      FaultyCommunicator::Alter(), watch);
}

const std::shared_ptr<sync::Communicator>& RankState::group() const {
  if (!group_) {
    throw std::logic_error(
        "group(): this test's RanksOptions do not connect the ranks");
  }
  return group_;
}

c10::intrusive_ptr<c10d::ProcessGroup> RankState::process_group() {
  if (process_group_) return process_group_;
  auto store = c10::make_intrusive<c10d::PrefixStore>("tally_process_group",
                                                      host_.store());
  const auto backend =
      port::make_gloo_backend(store, rank_, size_, timeout_, {"127.0.0.1", ""});
  // Nobody may end while others still look up addresses.
  backend->barrier()->wait();
  process_group_ = c10::make_intrusive<c10d::ProcessGroup>(store, rank_, size_);
  process_group_->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::GLOO,
                             backend);
  process_group_->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  return process_group_;
}

void RankState::leave() {
  process_group_.reset();
  group_.reset();
}

void RankState::inject(const Fault& fault, std::int64_t call) {
  if (call < 0) {
    throw std::invalid_argument("inject: expected a call of 0 or more, got " +
                                std::to_string(call));
  }
  const std::int64_t number = group()->collectives() + call;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Planned& planned : faults_) {
    if (planned.call != number) continue;
    throw std::invalid_argument(
        "inject: call " + std::to_string(call) +
        " has a fault already: " + to_string(planned.fault.kind()));
  }
  faults_.push_back({fault, number});
}

void RankState::before(std::int64_t call) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto due =
      std::find_if(faults_.begin(), faults_.end(),
                   [&](const Planned& p) { return p.call == call; });
  if (due == faults_.end()) return;
  const Fault fault = due->fault;
  faults_.erase(due);
  lock.unlock();
  switch (fault.kind()) {
    case Fault::Kind::kKill:
      return host_.die(fault.signal());
    case Fault::Kind::kExit:
      return host_.exit(fault.code());
    case Fault::Kind::kStop:
      return host_.stop();
    case Fault::Kind::kDelay:
      return let_pass(fault.time());
    case Fault::Kind::kError:
      std::rethrow_exception(fault.exception());
  }
}

std::string RankState::faults_left() const {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string text =
      tally::internal::joined(", ", faults_, [](const Planned& planned) {
        return c10::str(to_string(planned.fault.kind()), " at collective ",
                        planned.call, " of the group");
      });
  if (text.empty()) return text;
  return "did not happen: " + text + ", of which this rank entered " +
         std::to_string(group_ ? group_->collectives() : 0);
}

void RankState::check_rank(const char* what, int rank) const {
  if (rank >= 0 && rank < size_) return;
  throw std::invalid_argument(std::string(what) + ": expected a rank below " +
                              std::to_string(size_) + ", got " +
                              std::to_string(rank));
}

}  // namespace tally::testkit::internal
