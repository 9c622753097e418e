#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/sync/account.h"
#include "tally/sync/errors.h"
#include "tally/sync/timeout.h"
#include "tally/sync/transport/turn.h"

namespace tally::sync {

namespace internal {
struct ExchangeSession;
}  // namespace internal

enum class ReduceOp { kSum, kMin, kMax };

inline constexpr std::chrono::milliseconds kDefaultTimeout{60'000};

/// A collective or transfer under way. Its tensors belong to it until wait()
/// has returned; destroying it waits, and swallows an error.
class Transfer {
 public:
  Transfer() = default;
  Transfer(Transfer&& other) noexcept
      : wait_(std::exchange(other.wait_, nullptr)) {}
  Transfer& operator=(Transfer&& other) noexcept;
  ~Transfer();

  /// Returns when the results are there; SyncError if they will not be. Later
  /// calls do nothing.
  void wait();
  bool pending() const noexcept { return wait_ != nullptr; }

 private:
  friend class Communicator;
  explicit Transfer(std::function<void()> wait) : wait_(std::move(wait)) {}

  std::function<void()> wait_;
};

/// The ranks that work together, and the few collectives that Tally needs.
///
/// All collectives block, are entered by every rank in the same order, and
/// take contiguous tensors without a graph, on `device()` or the
/// `accelerator()`, the same on every rank, of the same number of bytes:
/// whoever calls them has agreed on sizes before (docs/sync_protocol.md).
/// Arguments that break this are a c10::ValueError before anything is sent;
/// every other failure is a SyncError. After kPeerLost, kTimeout or kTransport
/// the group is finished: each later call throws kGroupBroken at once and
/// repeats the reason.
///
/// Thread-safety: rank(), size(), device() from any thread. Collectives from
/// one thread at a time; a second one that enters meanwhile gets kInvalidUse.
/// One that waits for a Transfer, or drops it, waits for its turn as well.
class Communicator {
 public:
  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// Where the tensors of collectives live: the CPU, except for NCCL alone.
  c10::Device device() const noexcept { return device_; }
  /// Another device whose tensors collectives take as well: the GPU of a group
  /// that has NCCL beside Gloo.
  std::optional<c10::Device> accelerator() const noexcept {
    return accelerator_;
  }

  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  void set_timeout(std::chrono::milliseconds timeout);

  /// `output` becomes the ranks' inputs, one after the other: it holds
  /// size() * input.numel() elements of the input's dtype.
  void all_gather(const at::Tensor& input, at::Tensor& output,
                  Timeout timeout = {});
  /// Reduces `tensor` over the ranks, in place; bit-equal on every rank.
  /// Dtypes: float16 to 64, bfloat16, int8, uint8, int32, int64; the other
  /// collectives take every dtype.
  void all_reduce(at::Tensor& tensor, ReduceOp op, Timeout timeout = {});
  /// `tensor` becomes the root's, in place.
  void broadcast(at::Tensor& tensor, int root, Timeout timeout = {});

  /// Cuts `input` into pieces of `input_counts` elements, one for each rank,
  /// and fills `output` with the ranks' pieces for this one, of `output_counts`
  /// elements. Ranks have agreed on counts: what rank r gives q
  /// is what q expects of r.
  void all_to_all(const at::Tensor& input,
                  const std::vector<std::int64_t>& input_counts,
                  at::Tensor& output,
                  const std::vector<std::int64_t>& output_counts,
                  Timeout timeout = {});

  /// all_gather that goes on while the caller computes. Until it has been
  /// waited for, other collectives may be entered, in the same order on every
  /// rank; the communicator must outlive it.
  Transfer start_all_gather(const at::Tensor& input, at::Tensor& output,
                            Timeout timeout = {});
  /// Sends one tensor to rank `to` and receives another from rank `from`; every
  /// rank takes part, as in a ring. Goes on while the caller computes; at most
  /// one is under way.
  Transfer start_send_receive(const at::Tensor& send, int to,
                              at::Tensor& receive, int from,
                              Timeout timeout = {});

  /// Number of collectives entered so far, for tests and for the curious.
  std::int64_t collectives() const noexcept { return collectives_; }
  /// What they were, for whom, and what they cost; since the last
  /// clear_account. Not while another thread is in a collective.
  const CommunicationAccount& account() const noexcept { return account_; }
  void clear_account() { account_ = {}; }
  /// Why the group can no longer be used; empty while it can.
  const std::string& broken_reason() const noexcept { return broken_reason_; }
  /// Ends the group, on all ranks at once: `error` keeps this one from doing
  /// what the others count on, or says that what arrived is not what was sent
  /// (kTransport). Does nothing about an error that they throw, too, or know
  /// of.
  void give_up(const std::exception_ptr& error) noexcept;
  /// The other ranks have been told about an error that is thrown here alone.
  void others_know(const std::exception_ptr& error) noexcept { known_ = error; }
  /// For messages: for example "gloo rank 1 of 4".
  virtual std::string describe() const = 0;

  /// What exchanges keep here from one to the next (docs/sync_protocol.md).
  internal::ExchangeSession& exchange_session() noexcept { return *session_; }

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
  /// Each returns what wait() has to do. A transport that cannot work in the
  /// background does all of it then.
  virtual std::function<void()> do_start_all_gather(
      const at::Tensor& input, at::Tensor& output,
      std::chrono::milliseconds timeout) = 0;
  virtual std::function<void()> do_start_send_receive(
      const at::Tensor& send, int to, at::Tensor& receive, int from,
      std::chrono::milliseconds timeout) = 0;
  /// Closes what connects this rank with the others, and tells them why if
  /// there is a way. Default: nothing; they find out by their timeout.
  virtual void do_give_up(const std::string& /*reason*/) {}

 private:
  /// What a call is in the account.
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
  internal::Turn turn_;
  std::int64_t collectives_ = 0;
  CommunicationAccount account_;
  std::string broken_reason_;
  std::string broken_asker_;  // of the call that broke it
  std::exception_ptr known_;

  std::unique_ptr<internal::ExchangeSession> session_;
};

/// `work()`, which the other ranks count on: what it throws on this rank alone,
/// and the others know nothing of, ends the group for all of them at once, so
/// that nobody waits. See Communicator::give_up.
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

/// One process alone: collectives are copies.
std::shared_ptr<Communicator> single_process_communicator();

/// The communicator that metrics and losses use when they are given none: the
/// calling thread's CommunicatorGuard, else what set_default_communicator (or
/// init_from_env) set for the process, else a single process.
std::shared_ptr<Communicator> default_communicator();
/// Null goes back to a single process.
void set_default_communicator(std::shared_ptr<Communicator> communicator);

/// Sets the calling thread's default communicator for as long as it lives.
class CommunicatorGuard {
 public:
  explicit CommunicatorGuard(std::shared_ptr<Communicator> communicator);
  ~CommunicatorGuard();
  CommunicatorGuard(const CommunicatorGuard&) = delete;
  CommunicatorGuard& operator=(const CommunicatorGuard&) = delete;

 private:
  std::shared_ptr<Communicator> previous_;
};

}  // namespace tally::sync
