#include "tally/testing/internal/memory_group.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tally/sync/transport/duplicable.h"

namespace tally::testkit {

using std::chrono::milliseconds;
using sync::Communicator;
using sync::ReduceOp;
using sync::SyncError;
using sync::SyncErrorCode;

namespace {

sync::SyncErrorDetails details(int rank, const char* call,
                               const std::set<int>& peers = {}) {
  sync::SyncErrorDetails result;
  result.rank = rank;
  result.peers.assign(peers.begin(), peers.end());
  result.phase = call;
  return result;
}

}  // namespace

/// A collective is two meetings: one at which all offers are there to be read,
/// and one after which nobody reads them any more.
class MemoryGroup::Meetings {
 public:
  /// What a rank brings to a collective.
  struct Offer {
    std::string call;  // name, options, size, dtype: equal on every rank
    at::Tensor tensor;
  };

  explicit Meetings(int ranks) : offers_(ranks) { expect_everyone(); }

  void offer(int rank, Offer offer) {
    std::lock_guard<std::mutex> lock(mutex_);
    offers_[rank] = std::move(offer);
  }
  // Nobody writes between two meetings.
  const std::vector<Offer>& offers() const { return offers_; }

  void meet(int rank, const char* call, milliseconds limit) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto number = number_;
    missing_.erase(rank);
    if (missing_.empty() && lost_.empty()) {
      ++number_;
      expect_everyone();
      changed_.notify_all();
      return;
    }
    const bool in_time = changed_.wait_for(
        lock, limit, [&] { return number_ != number || !lost_.empty(); });
    if (number_ != number) return;
    if (!in_time) {
      lose(rank);
      throw SyncError(SyncErrorCode::kTimeout,
                      std::string(call) + " timed out after " +
                          std::to_string(limit.count()) + " ms",
                      details(rank, call, missing_));
    }
    throw SyncError(SyncErrorCode::kPeerLost,
                    std::string(call) + ": a rank left the group" + reason_,
                    details(rank, call, lost_));
  }

  void leave(int rank, const std::string& reason) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (reason_.empty() && !reason.empty()) reason_ = " (" + reason + ")";
    lose(rank);
  }

  /// The rank leaves what was made of these, too.
  void leave_all(int rank) {
    leave(rank, "");
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [number, copy] : copies_) copy->leave_all(rank);
  }

  /// The same ranks again, for each number once.
  std::shared_ptr<Meetings> copy(std::int64_t number) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& copy = copies_[number];
    if (!copy) {
      copy = std::make_shared<Meetings>(static_cast<int>(offers_.size()));
    }
    return copy;
  }

 private:
  void expect_everyone() {
    for (int r = 0; r < static_cast<int>(offers_.size()); ++r) {
      missing_.insert(r);
    }
  }

  void lose(int rank) {
    lost_.insert(rank);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Offer> offers_;
  std::set<int> missing_;  // from the next meeting
  std::set<int> lost_;
  std::string reason_;
  int number_ = 0;
  std::map<std::int64_t, std::shared_ptr<Meetings>> copies_;
};

class MemoryGroup::Member final : public Communicator,
                                  public sync::internal::Duplicable {
 public:
  Member(std::shared_ptr<Meetings> meetings, int rank, int size,
         milliseconds timeout)
      : Communicator(rank, size, at::kCPU, timeout),
        meetings_(std::move(meetings)) {}

  std::string describe() const override {
    return "thread rank " + std::to_string(rank()) + " of " +
           std::to_string(size());
  }

  bool can_duplicate() const override { return true; }
  std::shared_ptr<Communicator> duplicate(std::int64_t number) override {
    return std::make_shared<Member>(meetings_->copy(number), rank(), size(),
                                    timeout());
  }

 protected:
  void do_all_gather(const at::Tensor& input, at::Tensor& output,
                     milliseconds limit) override {
    exchange("all_gather", "", input, limit, [&](const auto& offers) {
      if (input.nbytes() == 0) return;
      auto* to = static_cast<char*>(output.data_ptr());
      for (const Meetings::Offer& offer : offers) {
        std::memcpy(to, offer.tensor.data_ptr(), input.nbytes());
        to += input.nbytes();
      }
    });
  }

  void do_all_reduce(at::Tensor& tensor, ReduceOp op,
                     milliseconds limit) override {
    at::Tensor result;
    const std::string options = std::to_string(static_cast<int>(op));
    exchange("all_reduce", options, tensor, limit, [&](const auto& offers) {
      result = offers[0].tensor.clone();
      for (std::size_t r = 1; r < offers.size(); ++r) {
        const at::Tensor& other = offers[r].tensor;
        if (op == ReduceOp::kSum) result.add_(other);
        if (op == ReduceOp::kMin) result = result.minimum(other);
        if (op == ReduceOp::kMax) result = result.maximum(other);
      }
    });
    tensor.copy_(result);
  }

  void do_broadcast(at::Tensor& tensor, int root, milliseconds limit) override {
    at::Tensor result;
    const std::string options = std::to_string(root);
    exchange("broadcast", options, tensor, limit,
             [&](const auto& offers) { result = offers[root].tensor.clone(); });
    tensor.copy_(result);
  }

  void do_all_to_all(const at::Tensor& input,
                     const std::vector<std::int64_t>& input_counts,
                     at::Tensor& output,
                     const std::vector<std::int64_t>& output_counts,
                     milliseconds limit) override {
    // Everyone offers the place of each part as well as the data.
    at::Tensor all = at::empty({size() * (size() + 1)}, at::kLong);
    at::Tensor own = at::zeros({size() + 1}, at::kLong);
    for (int r = 0; r < size(); ++r) {
      own[r + 1] = own[r].item<std::int64_t>() + input_counts[r];
    }
    do_all_gather(own, all, limit);
    meet_with(
        {"all_to_all", input}, "all_to_all", limit, [&](const auto& offers) {
          std::int64_t at = 0;
          for (int r = 0; r < size(); ++r) {
            const auto begin =
                all[r * (size() + 1) + rank()].template item<std::int64_t>();
            output.view(-1)
                .narrow(0, at, output_counts[r])
                .copy_(offers[r].tensor.view(-1).narrow(0, begin,
                                                        output_counts[r]));
            at += output_counts[r];
          }
        });
  }

  std::function<void()> do_start_all_gather(const at::Tensor& input,
                                            at::Tensor& output,
                                            milliseconds limit) override {
    return [this, input, to = output, limit]() mutable {
      do_all_gather(input, to, limit);
    };
  }

  std::function<void()> do_start_send_receive(const at::Tensor& send, int,
                                              at::Tensor& receive, int from,
                                              milliseconds limit) override {
    return [this, send, to = receive, from, limit]() mutable {
      meet_with({"send_receive", send}, "send_receive", limit,
                [&](const auto& offers) { to.copy_(offers[from].tensor); });
    };
  }

  void do_give_up(const std::string& reason) override {
    meetings_->leave(rank(), reason);
  }

 private:
  template <class Read>
  void exchange(const char* name, const std::string& options,
                const at::Tensor& tensor, milliseconds limit,
                const Read& read) {
    const std::string call = std::string(name) + "(" + options + ") of " +
                             std::to_string(tensor.nbytes()) + " bytes " +
                             c10::toString(tensor.scalar_type());
    meet_with({call, tensor}, name, limit, read);
  }

  template <class Read>
  void meet_with(const Meetings::Offer& own, const char* name,
                 milliseconds limit, const Read& read) {
    meetings_->offer(rank(), own);
    meetings_->meet(rank(), name, limit);
    for (const Meetings::Offer& other : meetings_->offers()) {
      if (other.call == own.call) continue;
      throw SyncError(SyncErrorCode::kTransport,
                      "the ranks entered different collectives: " + own.call +
                          " here, " + other.call + " elsewhere",
                      details(rank(), name));
    }
    read(meetings_->offers());
    meetings_->meet(rank(), name, limit);
  }

  std::shared_ptr<Meetings> meetings_;
};

MemoryGroup::MemoryGroup(int ranks, milliseconds timeout)
    : meetings_(std::make_shared<Meetings>(ranks)),
      size_(ranks),
      timeout_(timeout) {}

std::shared_ptr<Communicator> MemoryGroup::communicator(int rank) const {
  return std::make_shared<Member>(meetings_, rank, size_, timeout_);
}

void MemoryGroup::leave(int rank) { meetings_->leave_all(rank); }

}  // namespace tally::testkit
