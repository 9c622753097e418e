#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/port/libtorch_version.h"
#include "tally/sync/account.h"
#include "tally/sync/errors.h"
#include "tally/sync/timeout.h"

namespace tally::sync {

namespace internal {

class Turn;

/// What a layer above keeps with a communicator between its collectives.
class CommunicatorHook {
 public:
  virtual ~CommunicatorHook() = default;
  /// Before another collective is entered: at the same point of every rank's
  /// program, so that it may enter collectives itself.
  virtual void before_call() = 0;
};

}  // namespace internal

enum class ReduceOp { kSum, kMin, kMax };

inline constexpr std::chrono::milliseconds kDefaultTimeout{60'000};

/// A pending collective or transfer. It owns its tensors until wait() has
/// returned; the destructor waits, ignoring errors.
class Transfer {
 public:
  Transfer() = default;
  Transfer(Transfer&& other) noexcept
      : wait_(std::exchange(other.wait_, nullptr)) {}
  Transfer& operator=(Transfer&& other) noexcept;
  ~Transfer();

  /// Returns when the results are available; throws SyncError on failure. Later
  /// calls do nothing.
  void wait();
  bool pending() const noexcept { return wait_ != nullptr; }

 private:
  friend class Communicator;
  explicit Transfer(std::function<void()> wait) : wait_(std::move(wait)) {}

  std::function<void()> wait_;
};

/// A group of ranks with the collectives that Tally needs.
///
/// All collectives block, must be entered by every rank in the same order, and
/// take contiguous tensors without a graph, on `device()` or the
/// `accelerator()`, the same on every rank, with the same number of bytes:
/// callers must have agreed on sizes before (docs/sync_protocol.md). Arguments
/// that violate this are a c10::ValueError before anything is sent; every other
/// failure is a SyncError. After kPeerLost, kTimeout or kTransport the group is
/// unusable: each later call immediately throws kGroupBroken, repeating the
/// reason.
///
/// Thread-safety: rank(), size(), device() from any thread. Collectives from
/// one thread at a time; a concurrent call gets kInvalidUse. Waiting for a
/// Transfer, or destroying it, blocks until it is its turn.
class Communicator {
 public:
  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// The device of the tensors of collectives: the CPU, except for NCCL without
  /// Gloo.
  c10::Device device() const noexcept { return device_; }
  /// A second device whose tensors collectives accept: the GPU of a group with
  /// both NCCL and Gloo.
  std::optional<c10::Device> accelerator() const noexcept {
    return accelerator_;
  }

  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  void set_timeout(std::chrono::milliseconds timeout);

  /// Fills `output` with the concatenated inputs of all ranks: it has size() *
  /// input.numel() elements of the input's dtype.
  void all_gather(const at::Tensor& input, at::Tensor& output,
                  Timeout timeout = {});
  /// Reduces `tensor` over the ranks, in place; bit-identical on every rank.
  /// Dtypes: float16 to float64, bfloat16, int8, uint8, int32, int64; the other
  /// collectives accept any dtype.
  void all_reduce(at::Tensor& tensor, ReduceOp op, Timeout timeout = {});
  /// Overwrites `tensor` with the root's.
  void broadcast(at::Tensor& tensor, int root, Timeout timeout = {});

  /// Splits `input` into pieces of `input_counts` elements, one per rank, and
  /// fills `output` with the ranks' pieces for this one, of `output_counts`
  /// elements. Ranks must have agreed on counts: rank r sends as many elements
  /// to q as q expects from r.
  void all_to_all(const at::Tensor& input,
                  const std::vector<std::int64_t>& input_counts,
                  at::Tensor& output,
                  const std::vector<std::int64_t>& output_counts,
                  Timeout timeout = {});

  /// Asynchronous all_gather. Other collectives may be entered before it has
  /// been waited for, in the same order on every rank; the communicator must
  /// outlive it.
  Transfer start_all_gather(const at::Tensor& input, at::Tensor& output,
                            Timeout timeout = {});
  /// Sends one tensor to rank `to` and receives another from rank `from`; every
  /// rank takes part, as in a ring. Asynchronous; at most one may be pending.
  Transfer start_send_receive(const at::Tensor& send, int to,
                              at::Tensor& receive, int from,
                              Timeout timeout = {});

  /// Number of collectives entered so far, for tests and diagnostics.
  std::int64_t collectives() const noexcept { return collectives_; }
  /// Their operations, callers and costs since the last clear_account. Must not
  /// be called while another thread is in a collective.
  const CommunicationAccount& account() const noexcept { return account_; }
  void clear_account() { account_ = {}; }
  /// The reason why the group is unusable; empty if it is usable.
  const std::string& broken_reason() const noexcept { return broken_reason_; }
  /// Makes the group unusable on all ranks immediately: because of `error`,
  /// this rank cannot do what the others rely on, or received corrupted data
  /// (kTransport). Does nothing for an error that the other ranks also throw,
  /// or know of.
  void give_up(const std::exception_ptr& error) noexcept;
  /// Records that the other ranks know of an error that is only thrown here.
  void others_know(const std::exception_ptr& error) noexcept { known_ = error; }
  /// For messages: for example "gloo rank 1 of 4".
  virtual std::string describe() const = 0;

  /// The only hook, which the first call makes.
  internal::CommunicatorHook& hook(
      std::unique_ptr<internal::CommunicatorHook> (*make)());

 protected:
  Communicator(int rank, int size, c10::Device device,
               std::chrono::milliseconds timeout,
               std::optional<c10::Device> accelerator = {});

  virtual void do_all_gather(const at::Tensor& input, at::Tensor& output,
                             std::chrono::milliseconds timeout) = 0;
  virtual void do_all_reduce(at::Tensor& tensor, ReduceOp op,
                             std::chrono::milliseconds timeout) = 0;
  virtual void do_broadcast(at::Tensor& tensor, int root,
                            std::chrono::milliseconds timeout) = 0;
  virtual void do_all_to_all(const at::Tensor& input,
                             const std::vector<std::int64_t>& input_counts,
                             at::Tensor& output,
                             const std::vector<std::int64_t>& output_counts,
                             std::chrono::milliseconds timeout) = 0;
  /// Each returns the function that wait() calls. A transport without
  /// asynchronous operations does all the work there.
  virtual std::function<void()> do_start_all_gather(
      const at::Tensor& input, at::Tensor& output,
      std::chrono::milliseconds timeout) = 0;
  virtual std::function<void()> do_start_send_receive(
      const at::Tensor& send, int to, at::Tensor& receive, int from,
      std::chrono::milliseconds timeout) = 0;
  /// Closes this rank's connections, and tells the others why if possible.
  /// Default: does nothing; the others time out.
  virtual void do_give_up(const std::string& /*reason*/) {}

 private:
  /// An entry of a call in the account.
  struct Booking {
    const std::string& asker;
    std::int64_t calls;  ///< 0: the end of one that was booked
    std::int64_t bytes;
  };
  template <class Call>
  void run(const char* name, const Timeout& timeout, const Booking& booking,
           const Call& call);
  template <class Call>
  void run(const char* name, const Timeout& timeout, const at::Tensor& sent,
           const Call& call);
  Transfer start(
      const char* name, const Timeout& timeout, const at::Tensor& sent,
      c10::function_ref<std::function<void()>(std::chrono::milliseconds)>
          begin);

  int rank_;
  int size_;
  c10::Device device_;
  std::optional<c10::Device> accelerator_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<internal::Turn> turn_;
  std::int64_t collectives_ = 0;
  CommunicationAccount account_;
  std::string broken_reason_;
  std::string broken_asker_;  // of the call that broke it
  std::exception_ptr known_;

  std::once_flag hook_made_;
  std::unique_ptr<internal::CommunicatorHook> hook_owner_;
  std::atomic<internal::CommunicatorHook*> hook_{nullptr};
};

/// Calls `work()`, which the other ranks rely on: an exception that occurs on
/// this rank only, without the others' knowledge, immediately makes the group
/// unusable for all ranks, so that none waits. See Communicator::give_up.
template <class Work>
auto or_give_up(Communicator& communicator, const Work& work)
    -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    communicator.give_up(std::current_exception());
    throw;
  }
}

/// A single process: collectives are copies.
std::shared_ptr<Communicator> single_process_communicator();

/// The default communicator of metrics and losses: that of the calling thread's
/// CommunicatorGuard, otherwise the one set for the process by
/// set_default_communicator (or init_from_env), otherwise a single process.
std::shared_ptr<Communicator> default_communicator();
/// Null resets to a single process.
void set_default_communicator(std::shared_ptr<Communicator> communicator);

/// Sets the calling thread's default communicator for its lifetime.
class CommunicatorGuard {
 public:
  explicit CommunicatorGuard(std::shared_ptr<Communicator> communicator);
  ~CommunicatorGuard();
  CommunicatorGuard(const CommunicatorGuard&) = delete;
  CommunicatorGuard& operator=(const CommunicatorGuard&) = delete;

  /// Whether there is one on this thread.
  static bool is_active();

 private:
  std::shared_ptr<Communicator> previous_;
};

}  // namespace tally::sync
