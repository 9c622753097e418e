#include "tally/tests/storm/rank.h"

#include <ATen/ops/ones.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tally/sync/collectives.h"
#include "tally/sync/fingerprint.h"
#include "tally/sync/gather.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/storm/calls.h"

namespace tally::storm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using sync::Communicator;
using sync::SyncError;
using sync::SyncErrorCode;
using testkit::Rank;

constexpr milliseconds kLateness{300};

/// Closes what this process holds of connections over TCP.
void cut_connections() {
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    // Those that listen have no peer.
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) ==
            0 &&
        (address.ss_family == AF_INET || address.ss_family == AF_INET6)) {
      shutdown(descriptor, SHUT_RDWR);
    }
  }
}

void strike(Fault fault, const Rank& self) {
  switch (fault) {
    case Fault::kKill:
      self.die();
    case Fault::kExit:
      self.exit();
    case Fault::kStop:
      self.stop();
      break;
    case Fault::kCut:
      cut_connections();
      break;
    case Fault::kLate:
      std::this_thread::sleep_for(kLateness);
      break;
    default:
      break;
  }
}

/// What a rank does instead of the step in which it fails alone.
void fail(Fault fault) {
  if (fault == Fault::kThrow) {
    sync::gather_all_tensors(at::ones({2}).to_sparse());
  } else {
    sync::all_reduce(at::ones({7, 5, 3}));
  }
}

bool fails_alone(Fault fault) {
  return fault == Fault::kThrow || fault == Fault::kOther;
}

/// One step of the victim, in which the fault happens. Faults of the moment
/// kCollective are the communicator's.
std::string step_with_fault(const Plan& plan, const Step& step,
                            const Rank& self) {
  if (fails_alone(plan.fault)) {
    fail(plan.fault);
    return "";
  }
  if (plan.moment == Moment::kBefore) strike(plan.fault, self);
  std::thread timer;
  if (plan.moment == Moment::kTime) {
    timer = std::thread([&] {
      std::this_thread::sleep_for(microseconds(plan.delay));
      strike(plan.fault, self);
    });
  }
  struct Join {
    std::thread& thread;
    ~Join() {
      if (thread.joinable()) thread.join();
    }
  } join{timer};
  return all_calls()[step.call].run(step.seed);
}

Outcome outcome_of(const std::function<std::string()>& call) {
  Outcome outcome;
  const auto start = steady_clock::now();
  try {
    outcome.value = sync::fingerprint(call());
    outcome.code = "value";
  } catch (const SyncError& error) {
    outcome.code = sync::to_string(error.code());
    outcome.peers = error.details().peers.size();
    outcome.text = sync::describe(error);
  } catch (const c10::ValueError& error) {
    outcome.code = "threw";
    outcome.text = sync::describe(error);
  }
  outcome.milliseconds =
      std::chrono::duration_cast<milliseconds>(steady_clock::now() - start)
          .count();
  return outcome;
}

std::string file_of(const std::string& folder, int rank) {
  return folder + "/" + std::to_string(rank);
}

/// The victim of a stop goes on when all others are through.
void resume_victim(const Plan& plan, const Rank& self) {
  const int last = plan.victim == 0 ? 1 : 0;
  if (plan.fault != Fault::kStop || self.rank() != last) return;
  for (int rank = 0; rank < self.size(); ++rank) {
    if (rank != last && rank != plan.victim) self.wait_for_end(rank);
  }
  try {
    self.wait_for_stop(plan.victim);
    self.resume(plan.victim);
  } catch (const std::runtime_error&) {
    // It has ended without so many collectives in that step.
  }
}

}  // namespace

void run_rank(const Plan& plan, const Rank& self, const std::string& folder) {
  std::shared_ptr<Communicator> group = self.group();
  const bool is_victim = self.rank() == plan.victim;
  std::size_t current = 0;
  std::int64_t entered = 0;  // collectives of the current step
  if (is_victim && plan.moment == Moment::kCollective) {
    group = std::make_shared<testkit::FaultyCommunicator>(
        std::move(group), [&](std::int64_t) {
          if (current == plan.step && entered++ == plan.delay) {
            strike(plan.fault, self);
          }
        });
  }
  const sync::CommunicatorGuard guard(group);
  std::ofstream file(file_of(folder, self.rank()));
  bool finished = false;
  for (; current < plan.steps.size() && !finished; ++current) {
    finished = !group->broken_reason().empty();
    const Step& step = plan.steps[current];
    const Outcome outcome = outcome_of([&] {
      return is_victim && current == plan.step
                 ? step_with_fault(plan, step, self)
                 : all_calls()[step.call].run(step.seed);
    });
    file << current << " " << outcome.code << " " << outcome.value << " "
         << outcome.milliseconds << " " << outcome.peers << " " << outcome.text
         << std::endl;
  }
  resume_victim(plan, self);
}

Outcomes read_outcomes(const std::string& folder, int rank) {
  Outcomes outcomes;
  std::ifstream lines(file_of(folder, rank));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::size_t step = 0;
    Outcome outcome;
    words >> step >> outcome.code >> outcome.value >> outcome.milliseconds >>
        outcome.peers;
    std::getline(words, outcome.text);
    outcomes[step] = outcome;
  }
  return outcomes;
}

std::vector<Outcomes> expected_outcomes(const Plan& plan) {
  std::vector<Outcomes> expected(plan.ranks);
  // Over the same transport, which sums what is long in an order of its own.
  testkit::ThreadRanksOptions options;
  options.transport = testkit::ThreadTransport::kGloo;
  testkit::run_thread_ranks(
      plan.ranks,
      [&](const std::shared_ptr<Communicator>& group) {
        for (std::size_t i = 0; i < plan.steps.size(); ++i) {
          if (i == plan.step && fails_alone(plan.fault)) continue;
          const Step& step = plan.steps[i];
          expected[group->rank()][i] =
              outcome_of([&] { return all_calls()[step.call].run(step.seed); });
        }
      },
      options);
  return expected;
}

}  // namespace tally::storm
