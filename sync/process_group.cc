#include "tally/sync/process_group.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

#include "tally/sync/gloo_connections.h"
#include "tally/sync/paired.h"
#include "tally/sync/transport_errors.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;

constexpr int kSendReceiveTag = 7;
constexpr int kProbeTag = 8;
// How long a collective may take before its peers are probed, and the longest
// time between two probes.
constexpr milliseconds kFirstProbe{250};
constexpr milliseconds kProbes{2000};

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
  return c10::impl::VirtualGuardImpl(at::kCUDA).getDevice();
}

class BackendCommunicator final : public Communicator {
 public:
  BackendCommunicator(c10::intrusive_ptr<c10d::Backend> backend,
                      milliseconds timeout)
      : Communicator(backend->getRank(), backend->getSize(),
                     device_of(*backend), timeout),
        backend_(std::move(backend)),
        probes_(backend_->getBackendName() == "gloo") {}
  // An operation that lost its peer would be waited for until its timeout.
  ~BackendCommunicator() override {
    if (abandoned_) static_cast<void>(backend_.release());
  }

  std::string describe() const override {
    return backend_->getBackendName() + " rank " + std::to_string(rank()) +
           " of " + std::to_string(size());
  }

 protected:
  void do_all_gather(const at::Tensor& input, at::Tensor& output,
                     milliseconds timeout) override {
    at::Tensor from = movable(input);
    at::Tensor to = movable(output);
    c10d::AllgatherOptions options;
    options.timeout = timeout;
    wait("all_gather", *backend_->_allgather_base(to, from, options));
  }

  void do_all_reduce(at::Tensor& tensor, ReduceOp op,
                     milliseconds timeout) override {
    c10d::AllreduceOptions options;
    options.reduceOp = c10d_op(op);
    options.timeout = timeout;
    std::vector<at::Tensor> tensors{tensor};
    wait("all_reduce", *backend_->allreduce(tensors, options));
  }

  void do_broadcast(at::Tensor& tensor, int root,
                    milliseconds timeout) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    options.timeout = timeout;
    std::vector<at::Tensor> tensors{movable(tensor)};
    wait("broadcast", *backend_->broadcast(tensors, options));
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
    wait("all_to_all",
         *backend_->alltoall_base(to, from, received, sent, options));
  }

  std::function<void()> do_start_all_gather(const at::Tensor& input,
                                            at::Tensor& output,
                                            milliseconds timeout) override {
    at::Tensor from = movable(input);
    at::Tensor to = movable(output);
    c10d::AllgatherOptions options;
    options.timeout = timeout;
    auto work = backend_->_allgather_base(to, from, options);
    return [this, work, from, to] { wait("all_gather", *work); };
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
    auto received = backend_->recv(in, from, kSendReceiveTag);
    auto sent = backend_->send(out, to, kSendReceiveTag);
    return [received, sent, in, out, timeout] {
      received->wait(timeout);
      sent->wait(timeout);
    };
  }

  void do_give_up(const std::string&) override {
    abandoned_ = true;
    internal::close_connections(*backend_);
  }

 private:
  // Gloo forgets a message that is on its way when its peer is lost, and waits
  // for it until the timeout; but it refuses the next one to that peer. So when
  // it takes long, each gets one, which nobody reads.
  void wait(const char* call, c10d::Work& work) {
    if (!probes_) {
      work.wait();
      return;
    }
    for (milliseconds limit = kFirstProbe;;
         limit = std::min(2 * limit, kProbes)) {
      try {
        work.wait(limit);
        return;
      } catch (const std::exception&) {
        if (work.isCompleted()) break;
      }
      refuse_lost_peers(call);
    }
    work.wait();
  }

  void refuse_lost_peers(const char* call) {
    SyncErrorDetails details;
    std::string reason;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      try {
        std::vector<at::Tensor> message{at::empty({1}, at::kByte)};
        backend_->send(message, peer, kProbeTag);
      } catch (const std::exception& error) {
        details.peers.push_back(peer);
        reason = sync::describe(error);
      }
    }
    if (details.peers.empty()) return;
    abandoned_ = true;
    details.rank = rank();
    details.phase = call;
    throw SyncError(SyncErrorCode::kPeerLost,
                    this->describe() + " lost a peer: " + reason,
                    std::move(details));
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  bool probes_;
  bool abandoned_ = false;
};

void check_membership(int rank, int size) {
  if (rank >= 0 && rank < size) return;
  throw SyncError(SyncErrorCode::kInvalidUse,
                  "this process is not a member of the group: rank " +
                      std::to_string(rank) + " of " + std::to_string(size),
                  {});
}

}  // namespace

std::shared_ptr<Communicator> make_communicator(
    c10::intrusive_ptr<c10d::Backend> backend, milliseconds timeout) {
  TORCH_CHECK_VALUE(backend, "expected a c10d backend, got null");
  check_membership(backend->getRank(), backend->getSize());
  survive_broken_pipes();
  return std::make_shared<BackendCommunicator>(std::move(backend), timeout);
}

std::shared_ptr<Communicator> make_communicator(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group, milliseconds timeout) {
  TORCH_CHECK_VALUE(group, "expected a c10d process group, got null");
  check_membership(group->getRank(), group->getSize());
  const auto devices = group->getDeviceTypes();
  const auto backend_for =
      [&](c10::DeviceType device) -> c10::intrusive_ptr<c10d::Backend> {
    const bool has_one =
        std::count(devices.begin(), devices.end(), c10::Device(device)) > 0;
    return has_one ? group->getBackend(device) : nullptr;
  };
  const auto cpu = backend_for(at::kCPU);
  const auto cuda = backend_for(at::kCUDA);
  TORCH_CHECK_VALUE(cpu || cuda,
                    "expected a process group with a backend for the CPU or "
                    "CUDA, got none");
  if (!cpu) return make_communicator(cuda, timeout);
  auto main = make_communicator(cpu, timeout);
  if (!cuda || device_of(*cuda) == main->device()) return main;
  return pair_communicators(std::move(main), make_communicator(cuda, timeout));
}

}  // namespace tally::sync
