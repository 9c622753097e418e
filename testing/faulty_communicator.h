#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tally/sync/communicator.h"
#include "tally/sync/transport/duplicable.h"

namespace tally::testkit {

/// Is notified which collective a rank is in.
class CallWatch {
 public:
  virtual ~CallWatch() = default;
  virtual void enter(const char* collective, std::int64_t call) noexcept = 0;
  virtual void leave() noexcept = 0;
};

/// Forwards collectives to another communicator, after `before(call)`, where
/// call counts from 0. An exception of `before` replaces the collective, which
/// lets a test make the k-th one fail. To drop a rank, let it throw on one rank
/// of run_thread_ranks and leave its function. `alter(call, sent)` may modify
/// the data this rank sends, which is a copy. `watch`, if given, must outlive
/// the communicator. Groups made by sync::duplicate() have no faults.
class FaultyCommunicator final : public sync::Communicator,
                                 public sync::internal::Duplicable {
 public:
  using Hook = std::function<void(std::int64_t call)>;

  using Alter = std::function<void(std::int64_t call, at::Tensor& sent)>;

  FaultyCommunicator(std::shared_ptr<sync::Communicator> inner, Hook before,
                     Alter alter = {}, CallWatch* watch = nullptr);

  std::string describe() const override;

  /// For sync::duplicate().
  bool can_duplicate() const override;
  std::shared_ptr<sync::Communicator> duplicate(std::int64_t number) override;

 protected:
  void do_all_gather(const at::Tensor& input, at::Tensor& output,
                     std::chrono::milliseconds timeout) override;
  void do_all_reduce(at::Tensor& tensor, sync::ReduceOp op,
                     std::chrono::milliseconds timeout) override;
  void do_broadcast(at::Tensor& tensor, int root,
                    std::chrono::milliseconds timeout) override;
  void do_all_to_all(const at::Tensor& input,
                     const std::vector<std::int64_t>& input_counts,
                     at::Tensor& output,
                     const std::vector<std::int64_t>& output_counts,
                     std::chrono::milliseconds timeout) override;
  std::function<void()> do_start_all_gather(
      const at::Tensor& input, at::Tensor& output,
      std::chrono::milliseconds timeout) override;
  std::function<void()> do_start_send_receive(
      const at::Tensor& send, int to, at::Tensor& receive, int from,
      std::chrono::milliseconds timeout) override;
  void do_give_up(const std::string& reason) override;

 private:
  std::int64_t call() const { return collectives() - 1; }
  at::Tensor altered(const at::Tensor& sent) const;
  template <class Pass>
  void pass(const char* collective, const Pass& on);
  std::function<void()> in_background(
      const char* collective, const at::Tensor& sent,
      const std::function<sync::Transfer(const at::Tensor& sent)>& start);

  std::shared_ptr<sync::Communicator> inner_;
  Hook before_;
  Alter alter_;
  CallWatch* watch_;
};

/// A hook that throws at one call and lets the others pass.
FaultyCommunicator::Hook fail_at(std::int64_t call, sync::SyncErrorCode code);

/// Forwards to `inner`, but flips one bit of the data that this rank sends in
/// one call.
std::shared_ptr<sync::Communicator> flip_bit(
    std::shared_ptr<sync::Communicator> inner, std::int64_t call,
    std::int64_t bit);

}  // namespace tally::testkit
