#include "tally/sync/transport/backend_communicator.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <functional>
#include <new>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "tally/port/guards.h"
#include "tally/sync/base/rendezvous.h"
#include "tally/sync/base/transport_errors.h"
#include "tally/sync/transport/duplicable.h"
#include "tally/sync/transport/gloo_connections.h"
#include "tally/sync/transport/watch.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;

constexpr int kSendReceiveTag = 7;
constexpr int kProbeTag = 8;
// How long a collective may take before its peers are probed, and the longest
// time between two probes.
constexpr milliseconds kFirstProbe{250};
constexpr milliseconds kProbes{2000};
// After a failure: how long finding out who was late or why a rank left may
// take, and letting the others know why this one leaves.
constexpr milliseconds kToAskTheStore{250};
constexpr milliseconds kToTellTheStore{1000};

/// The elements as one row, in a dtype that every backend can move: those that
/// Gloo or NCCL refuse travel as bytes.
at::Tensor movable(const at::Tensor& tensor) {
  at::Tensor row = tensor.dim() == 1 ? tensor : tensor.view(-1);
  switch (tensor.scalar_type()) {
    case at::kByte:
    case at::kChar:
    case at::kInt:
    case at::kLong:
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kDouble:
      return row;
    default:
      return row.view(at::kByte);
  }
}

c10d::ReduceOp c10d_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return c10d::ReduceOp::SUM;
    case ReduceOp::kMin:
      return c10d::ReduceOp::MIN;
    case ReduceOp::kMax:
      return c10d::ReduceOp::MAX;
  }
  TORCH_CHECK_VALUE(false, "unknown ReduceOp ", static_cast<int>(op));
}

c10::Device device_of(const c10d::Backend& backend) {
  if (backend.getBackendName() != "nccl") return at::kCPU;
  return port::Devices(at::kCUDA).getDevice();
}

class BackendCommunicator final : public Communicator,
                                  public internal::Duplicable {
 public:
  BackendCommunicator(c10::intrusive_ptr<c10d::Backend> backend,
                      milliseconds timeout,
                      std::unique_ptr<internal::Roster> roster,
                      internal::Reconnect reconnect)
      : Communicator(backend->getRank(), backend->getSize(),
                     device_of(*backend), timeout),
        backend_(std::move(backend)),
        probes_(backend_->getBackendName() == "gloo"),
        probe_(probes_ ? at::empty({1}, at::kByte) : at::Tensor()),
        roster_(std::move(roster)),
        reconnect_(std::move(reconnect)) {}
  // An operation that lost its peer would be waited for until its timeout.
  ~BackendCommunicator() override {
    if (abandoned_) static_cast<void>(backend_.release());
  }

  std::string describe() const override {
    return backend_->getBackendName() + " rank " + std::to_string(rank()) +
           " of " + std::to_string(size());
  }

  bool can_duplicate() const override { return reconnect_ != nullptr; }
  std::shared_ptr<Communicator> duplicate(std::int64_t number) override {
    return reconnect_(number);
  }

 protected:
  void do_all_gather(const at::Tensor& input, at::Tensor& output,
                     milliseconds timeout) override {
    at::Tensor from = movable(input);
    at::Tensor to = movable(output);
    c10d::AllgatherOptions options;
    options.timeout = timeout;
    const Pending call = enter("all_gather", timeout);
    wait(call, *backend_->_allgather_base(to, from, options));
  }

  void do_all_reduce(at::Tensor& tensor, ReduceOp op,
                     milliseconds timeout) override {
    c10d::AllreduceOptions options;
    options.reduceOp = c10d_op(op);
    options.timeout = timeout;
    std::vector<at::Tensor> tensors{tensor};
    const Pending call = enter("all_reduce", timeout);
    wait(call, *backend_->allreduce(tensors, options));
  }

  void do_broadcast(at::Tensor& tensor, int root,
                    milliseconds timeout) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    options.timeout = timeout;
    std::vector<at::Tensor> tensors{movable(tensor)};
    const Pending call = enter("broadcast", timeout);
    wait(call, *backend_->broadcast(tensors, options));
  }

  void do_all_to_all(const at::Tensor& input,
                     const std::vector<std::int64_t>& input_counts,
                     at::Tensor& output,
                     const std::vector<std::int64_t>& output_counts,
                     milliseconds timeout) override {
    at::Tensor from = movable(input);
    at::Tensor to = movable(output);
    // In elements of what is moved; c10d takes the vectors' contents away.
    auto scaled = [](std::vector<std::int64_t> counts, std::int64_t moved,
                     std::int64_t elements) {
      for (std::int64_t& n : counts) n *= elements > 0 ? moved / elements : 1;
      return counts;
    };
    auto sent = scaled(input_counts, from.numel(), input.numel());
    auto received = scaled(output_counts, to.numel(), output.numel());
    c10d::AllToAllOptions options;
    options.timeout = timeout;
    const Pending call = enter("all_to_all", timeout);
    wait(call, *backend_->alltoall_base(to, from, received, sent, options));
  }

  std::function<void()> do_start_all_gather(const at::Tensor& input,
                                            at::Tensor& output,
                                            milliseconds timeout) override {
    at::Tensor from = movable(input);
    at::Tensor to = movable(output);
    c10d::AllgatherOptions options;
    options.timeout = timeout;
    const Pending call = enter("all_gather", timeout);
    auto work = backend_->_allgather_base(to, from, options);
    return [this, call, work, from, to] { wait(call, *work); };
  }

  std::function<void()> do_start_send_receive(const at::Tensor& send, int to,
                                              at::Tensor& receive, int from,
                                              milliseconds timeout) override {
    if (to == rank() && from == rank()) {
      receive.copy_(send);
      return [] {};
    }
    std::vector<at::Tensor> out{movable(send)};
    std::vector<at::Tensor> in{movable(receive)};
    const Pending call = enter("send_receive", timeout);
    c10::intrusive_ptr<c10d::Work> received, sent;
    explained(call, [&] {
      // NCCL would block in the one until its peer is in the other.
      if (!probes_) backend_->startCoalescing();
      received = backend_->recv(in, from, kSendReceiveTag);
      sent = backend_->send(out, to, kSendReceiveTag);
      if (probes_) return;
      received = backend_->endCoalescing();
      sent = nullptr;
    });
    return [this, call, received, sent, in, out, from, to] {
      wait_for_message(call.with(from), *received);
      if (sent) wait_for_message(call.with(to), *sent);
    };
  }

  void do_give_up(const std::string& reason) override {
    abandoned_ = true;
    if (roster_) roster_->leave(reason, kToTellTheStore);
    internal::close_connections(*backend_);
  }

 private:
  struct Pending {
    const char* name;
    std::int64_t number;  // among those of this communicator
    milliseconds timeout;
    int partner = -1;        // -1: all others
    bool announced = false;  // whether the roster knows that it takes long

    Pending with(int rank) const { return {name, number, timeout, rank}; }
  };

  Pending enter(const char* name, milliseconds timeout) {
    return {name, ++calls_, timeout};
  }

  // Gloo forgets a message that is on its way when its peer is lost, and waits
  // for it until the timeout; but it refuses the next one to that peer. So when
  // it takes long, each gets one, which nobody reads.
  void wait(Pending call, c10d::Work& work) {
    if (!probes_) {
      explained(call, [&] { work.wait(call.timeout); });
      return;
    }
    explained(call, [&] {
      for (milliseconds limit = std::min(kFirstProbe, call.timeout / 2);;
           limit = std::clamp(2 * limit, kFirstProbe, kProbes)) {
        try {
          work.wait(std::max(limit, milliseconds(1)));
          return;
        } catch (const std::exception&) {
          if (work.isCompleted()) break;
        }
        if (roster_ && !std::exchange(call.announced, true)) {
          roster_->wait_in(call.number);
        }
        const Lost lost = lost_peers();
        if (lost.peers.empty()) continue;
        abandoned_ = true;
        refuse(call, SyncErrorCode::kPeerLost, lost.peers, lost.reason);
      }
      work.wait();
    });
  }

  // The same for a message to or from one rank. Gloo closes all connections
  // when the wait for one times out, so it is asked once, and the watch probes.
  void wait_for_message(const Pending& call, c10d::Work& work) {
    if (!probes_) {
      explained(call, [&] { work.wait(call.timeout); });
      return;
    }
    Lost lost;
    bool arrived = true;
    explained(call, [&] {
      const internal::Watch::Wait watched(watch_, [&] {
        lost = lost_peers();
        if (!lost.peers.empty()) work.abort();
      });
      arrived = work.wait(call.timeout);
    });
    if (arrived || lost.peers.empty()) return;
    abandoned_ = true;
    refuse(call, SyncErrorCode::kPeerLost, lost.peers, lost.reason);
  }

  // Says which ranks it is about when the transport does not.
  template <class Wait>
  void explained(const Pending& call, const Wait& wait) {
    try {
      wait();
    } catch (const SyncError&) {
      throw;
    } catch (const std::exception& error) {
      const std::string reason =
          internal::without_advice(sync::describe(error));
      const SyncErrorCode code = internal::classify_transport_message(reason);
      std::vector<int> peers;
      if (code == SyncErrorCode::kPeerLost && probes_) {
        peers = lost_peers().peers;
      } else if (code == SyncErrorCode::kTimeout) {
        peers = late_peers(call);
      }
      if (peers.empty()) throw;
      refuse(call, code, std::move(peers), reason);
    }
  }

  std::vector<int> late_peers(const Pending& call) {
    if (call.partner >= 0) return {call.partner};
    if (!roster_) return {};
    return roster_->absent_from(call.number, kToAskTheStore)
        .value_or(std::vector<int>());
  }

  // A lost rank may have left because of one that did not come.
  std::string absent(const Pending& call, const std::vector<int>& lost) {
    if (!call.announced) return "";
    std::vector<int> others;
    for (const int rank : late_peers(call)) {
      if (std::count(lost.begin(), lost.end(), rank) == 0) {
        others.push_back(rank);
      }
    }
    if (others.empty()) return "";
    return ", while " + roster_->names(others) + " had not arrived";
  }

  std::string last_words() {
    return roster_ ? roster_->reasons(kToAskTheStore) : "";
  }

  struct Lost {
    std::vector<int> peers;
    std::string reason;
  };
  Lost lost_peers() {
    Lost lost;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      try {
        std::vector<at::Tensor> message{probe_};
        backend_->send(message, peer, kProbeTag);
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception& error) {
        lost.peers.push_back(peer);
        lost.reason = internal::without_advice(sync::describe(error));
      }
    }
    return lost;
  }

  [[noreturn]] void refuse(const Pending& call, SyncErrorCode code,
                           std::vector<int> peers, const std::string& reason) {
    SyncErrorDetails details;
    details.rank = rank();
    details.phase = call.name;
    const std::string who =
        roster_ ? roster_->names(peers) : internal::listed(peers);
    details.peers = std::move(peers);
    const bool lost = code == SyncErrorCode::kPeerLost;
    throw SyncError(code,
                    std::string(call.name) + " on " + this->describe() +
                        (lost ? " lost " : " waited for ") + who + ": " +
                        reason + (lost ? absent(call, details.peers) : "") +
                        (lost ? last_words() : ""),
                    details);
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  bool probes_;
  at::Tensor probe_;  // from the start: without memory, no peer is lost
  bool abandoned_ = false;
  std::unique_ptr<internal::Roster> roster_;
  internal::Reconnect reconnect_;
  std::int64_t calls_ = 0;
  internal::Watch watch_{kFirstProbe, kProbes};
};

}  // namespace

void internal::check_membership(int rank, int size) {
  if (rank >= 0 && rank < size) return;
  throw SyncError(SyncErrorCode::kInvalidUse,
                  "this process is not a member of the group: rank " +
                      std::to_string(rank) + " of " + std::to_string(size),
                  {});
}

std::shared_ptr<Communicator> internal::make_communicator(
    c10::intrusive_ptr<c10d::Backend> backend, milliseconds timeout,
    std::unique_ptr<Roster> roster, Reconnect reconnect) {
  TORCH_CHECK_VALUE(backend, "expected a c10d backend, got null");
  check_membership(backend->getRank(), backend->getSize());
  internal::survive_broken_pipes();
  return std::make_shared<BackendCommunicator>(
      std::move(backend), timeout, std::move(roster), std::move(reconnect));
}

}  // namespace tally::sync
