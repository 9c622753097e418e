#include "tally/sync/communicator.h"

#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "tally/sync/base/deadline.h"
#include "tally/sync/base/transport_errors.h"
#include "tally/sync/base/turn.h"

namespace tally::sync {
namespace {

void check_tensor(const char* call, const char* name, const at::Tensor& tensor,
                  const Communicator& communicator) {
  TORCH_CHECK_VALUE(tensor.defined(), call, ": ", name, " is undefined");
  const auto accelerator = communicator.accelerator();
  TORCH_CHECK_VALUE(tensor.device() == communicator.device() ||
                        tensor.device() == accelerator,
                    call, ": expected ", name, " on ", communicator.device(),
                    accelerator ? " or " + accelerator->str() : std::string(),
                    ", got ", tensor.device());
  TORCH_CHECK_VALUE(tensor.is_contiguous(), call, ": expected a contiguous ",
                    name, ", got strides ", tensor.strides());
  TORCH_CHECK_VALUE(!tensor.requires_grad(), call, ": expected ", name,
                    " without a graph; detach it first");
}

void check_pair(const char* call, const char* input_name,
                const at::Tensor& input, const char* output_name,
                const at::Tensor& output, const Communicator& communicator) {
  check_tensor(call, input_name, input, communicator);
  check_tensor(call, output_name, output, communicator);
  TORCH_CHECK_VALUE(input.device() == output.device(), call, ": expected ",
                    output_name, " on ", input.device(), " like ", input_name,
                    ", got ", output.device());
}

void check_gather(const at::Tensor& input, const at::Tensor& output,
                  const Communicator& communicator) {
  const int size = communicator.size();
  check_pair("all_gather", "input", input, "output", output, communicator);
  TORCH_CHECK_VALUE(input.scalar_type() == output.scalar_type(),
                    "all_gather: expected output of the input's dtype ",
                    input.scalar_type(), ", got ", output.scalar_type());
  TORCH_CHECK_VALUE(output.numel() == size * input.numel(),
                    "all_gather: expected output of ", size, " x ",
                    input.numel(), " elements, got ", output.numel());
}

void check_counts(const char* name, const at::Tensor& tensor,
                  const std::vector<std::int64_t>& counts, int size) {
  std::int64_t sum = 0;
  bool valid = counts.size() == static_cast<size_t>(size);
  for (std::int64_t count : counts) {
    valid = valid && count >= 0;
    sum += count;
  }
  TORCH_CHECK_VALUE(valid && sum == tensor.numel(), "all_to_all: expected ",
                    size, " counts that add up to ", tensor.numel(), " for ",
                    name, ", got ", c10::IntArrayRef(counts));
}

bool can_reduce(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
    case at::kDouble:
    case at::kHalf:
    case at::kBFloat16:
    case at::kInt:
    case at::kLong:
    case at::kByte:
    case at::kChar:
      return true;
    default:
      return false;
  }
}

/// Whether nothing more can be sent after such an error.
bool breaks_group(SyncErrorCode code) {
  return code == SyncErrorCode::kPeerLost || code == SyncErrorCode::kTimeout ||
         code == SyncErrorCode::kTransport;
}

std::string range_name(const char* operation, const std::string& asker) {
  std::string name = std::string("tally::") + operation;
  if (!asker.empty()) name += " for " + asker;
  return name;
}

/// Empty for an error that the other ranks throw, too.
std::string reason_to_give_up(const std::exception_ptr& error, int rank) {
  try {
    std::rethrow_exception(error);
  } catch (const SyncError& known) {
    // Of what did not arrive as it was sent the transport knows nothing.
    if (known.code() == SyncErrorCode::kTransport) return known.message();
    if (known.code() != SyncErrorCode::kInvalidUse) return "";
  } catch (...) {
  }
  return "rank " + std::to_string(rank) +
         " could not go on: " + sync::describe(error);
}

struct ProcessDefault {
  std::mutex mutex;
  std::shared_ptr<Communicator> communicator;
};

// Never destroyed: a group that is torn down among the destructors of statics
// would have to wait for its threads while the process ends.
ProcessDefault& process_default() {
  static auto& value = *new ProcessDefault;
  return value;
}

std::shared_ptr<Communicator>& thread_default() {
  thread_local std::shared_ptr<Communicator> value;
  return value;
}

}  // namespace

Communicator::Communicator(int rank, int size, c10::Device device,
                           std::chrono::milliseconds timeout,
                           std::optional<c10::Device> accelerator)
    : rank_(rank),
      size_(size),
      device_(device),
      accelerator_(accelerator),
      timeout_(timeout),
      turn_(std::make_unique<internal::Turn>()) {
  TORCH_CHECK_VALUE(size > 0, "expected a positive world size, got ", size);
  TORCH_CHECK_VALUE(rank >= 0 && rank < size, "expected a rank below ", size,
                    ", got ", rank);
  set_timeout(timeout);
}

Communicator::~Communicator() = default;

void Communicator::set_timeout(std::chrono::milliseconds timeout) {
  timeout_ = *Timeout(timeout);
}

internal::CommunicatorHook& Communicator::hook(
    std::unique_ptr<internal::CommunicatorHook> (*make)()) {
  std::call_once(hook_made_, [&] {
    hook_owner_ = make();
    hook_ = hook_owner_.get();
  });
  return *hook_owner_;
}

Transfer& Transfer::operator=(Transfer&& other) noexcept {
  std::swap(wait_, other.wait_);
  return *this;
}

Transfer::~Transfer() {
  try {
    wait();
  } catch (...) {
    // Nobody asks for the results any more; the communicator knows the reason.
  }
}

void Transfer::wait() {
  if (const auto wait = std::exchange(wait_, nullptr)) wait();
}

void Communicator::give_up(const std::exception_ptr& error) noexcept {
  if (size_ == 1 || !broken_reason_.empty() || error == known_) return;
  try {
    broken_reason_ = reason_to_give_up(error, rank_);
    if (broken_reason_.empty()) return;
    broken_asker_ = AskedBy::current();
  } catch (...) {
    broken_reason_ = "out of memory";
  }
  try {
    do_give_up(broken_reason_);
  } catch (...) {
    // The others find out by their timeout.
  }
}

template <class Call>
void Communicator::run(const char* name, const Timeout& timeout,
                       const at::Tensor& sent, const Call& call) {
  run(name, timeout,
      Booking{AskedBy::current(), 1, static_cast<std::int64_t>(sent.nbytes())},
      call);
}

template <class Call>
void Communicator::run(const char* name, const Timeout& timeout,
                       const Booking& booking, const Call& call) {
  auto details = [&] {
    SyncErrorDetails d;
    d.metric = booking.asker;
    d.rank = rank_;
    d.phase = name;
    return d;
  };
  if (internal::CommunicatorHook* hook = hook_.load()) hook->before_call();
  // What was begun may end when another thread is through with its own.
  const bool begins = booking.calls > 0;
  if (!(begins ? turn_->try_enter() : turn_->enter())) {
    throw SyncError(SyncErrorCode::kInvalidUse,
                    "another thread is inside a collective of this "
                    "communicator (" +
                        describe() + ")",
                    details());
  }
  struct Release {
    internal::Turn& turn;
    ~Release() { turn.leave(); }
  } release{*turn_};
  if (!broken_reason_.empty()) {
    const std::string of = broken_asker_.empty() ? "" : " of " + broken_asker_;
    throw SyncError(SyncErrorCode::kGroupBroken,
                    "the group can no longer be used since a call" + of + ": " +
                        broken_reason_,
                    details());
  }
  struct Entry {
    CommunicationAccount& account;
    const char* name;
    const Booking& booking;
    std::chrono::steady_clock::time_point start;
    ~Entry() {
      try {
        account.add(name, booking.asker, booking.calls, booking.bytes,
                    std::chrono::steady_clock::now() - start);
      } catch (...) {
        // Without memory for an entry there is none.
      }
    }
  } entry{account_, name, booking, std::chrono::steady_clock::now()};
  try {
    collectives_ += booking.calls;
    at::RecordFunction range(at::RecordScope::USER_SCOPE);
    if (range.isActive()) range.before(range_name(name, booking.asker));
    call(internal::bounded(timeout.value_or(timeout_)));
  } catch (const SyncError& error) {
    if (breaks_group(error.code())) {
      broken_reason_ = error.message();
      broken_asker_ = booking.asker;
    }
    if (booking.asker.empty() || !error.details().metric.empty()) throw;
    SyncErrorDetails known = error.details();
    known.metric = booking.asker;
    throw SyncError(error.code(), error.message(), std::move(known));
  } catch (...) {
    const std::string text =
        internal::without_advice(sync::describe(std::current_exception()));
    broken_reason_ =
        std::string(name) + " failed on " + describe() + ": " + text;
    broken_asker_ = booking.asker;
    const SyncErrorCode code = internal::classify_transport_message(text);
    // The others may know nothing of it.
    if (code == SyncErrorCode::kTransport) do_give_up(broken_reason_);
    throw SyncError(code, broken_reason_, details());
  }
}

void Communicator::all_gather(const at::Tensor& input, at::Tensor& output,
                              Timeout timeout) {
  check_gather(input, output, *this);
  run("all_gather", timeout, input, [&](std::chrono::milliseconds limit) {
    do_all_gather(input, output, limit);
  });
}

void Communicator::all_reduce(at::Tensor& tensor, ReduceOp op,
                              Timeout timeout) {
  check_tensor("all_reduce", "tensor", tensor, *this);
  TORCH_CHECK_VALUE(can_reduce(tensor.scalar_type()),
                    "all_reduce: cannot reduce dtype ", tensor.scalar_type(),
                    "; convert it to a floating dtype, int32, int64, int8 or "
                    "uint8 first");
  run("all_reduce", timeout, tensor, [&](std::chrono::milliseconds limit) {
    do_all_reduce(tensor, op, limit);
  });
}

void Communicator::broadcast(at::Tensor& tensor, int root, Timeout timeout) {
  check_tensor("broadcast", "tensor", tensor, *this);
  TORCH_CHECK_VALUE(root >= 0 && root < size_,
                    "broadcast: expected a root below ", size_, ", got ", root);
  run("broadcast", timeout, tensor, [&](std::chrono::milliseconds limit) {
    do_broadcast(tensor, root, limit);
  });
}

void Communicator::all_to_all(const at::Tensor& input,
                              const std::vector<std::int64_t>& input_counts,
                              at::Tensor& output,
                              const std::vector<std::int64_t>& output_counts,
                              Timeout timeout) {
  check_pair("all_to_all", "input", input, "output", output, *this);
  TORCH_CHECK_VALUE(input.scalar_type() == output.scalar_type(),
                    "all_to_all: expected output of the input's dtype ",
                    input.scalar_type(), ", got ", output.scalar_type());
  check_counts("input", input, input_counts, size_);
  check_counts("output", output, output_counts, size_);
  run("all_to_all", timeout, input, [&](std::chrono::milliseconds limit) {
    do_all_to_all(input, input_counts, output, output_counts, limit);
  });
}

Transfer Communicator::start(
    const char* name, const Timeout& timeout, const at::Tensor& sent,
    c10::function_ref<std::function<void()>(std::chrono::milliseconds)> begin) {
  std::function<void()> finish;
  run(name, timeout, sent,
      [&](std::chrono::milliseconds limit) { finish = begin(limit); });
  return Transfer([this, name, finish, asker = AskedBy::current()] {
    run(name, {}, Booking{asker, 0, 0},
        [&](std::chrono::milliseconds) { finish(); });
  });
}

Transfer Communicator::start_all_gather(const at::Tensor& input,
                                        at::Tensor& output, Timeout timeout) {
  check_gather(input, output, *this);
  return start("all_gather", timeout, input,
               [&](std::chrono::milliseconds limit) {
                 return do_start_all_gather(input, output, limit);
               });
}

Transfer Communicator::start_send_receive(const at::Tensor& send, int to,
                                          at::Tensor& receive, int from,
                                          Timeout timeout) {
  check_pair("send_receive", "send", send, "receive", receive, *this);
  TORCH_CHECK_VALUE(to >= 0 && to < size_ && from >= 0 && from < size_,
                    "send_receive: expected ranks below ", size_, ", got ", to,
                    " and ", from);
  return start("send_receive", timeout, send,
               [&](std::chrono::milliseconds limit) {
                 return do_start_send_receive(send, to, receive, from, limit);
               });
}

std::shared_ptr<Communicator> default_communicator() {
  if (const auto& own = thread_default()) return own;
  {
    ProcessDefault& process = process_default();
    std::lock_guard<std::mutex> lock(process.mutex);
    if (process.communicator) return process.communicator;
  }
  // One for each thread: threads with metrics of their own, which is all that
  // there is without a group, do not exclude each other.
  thread_local const auto alone = single_process_communicator();
  return alone;
}

void set_default_communicator(std::shared_ptr<Communicator> communicator) {
  ProcessDefault& process = process_default();
  std::lock_guard<std::mutex> lock(process.mutex);
  process.communicator.swap(communicator);
}

CommunicatorGuard::CommunicatorGuard(std::shared_ptr<Communicator> communicator)
    : previous_(std::exchange(thread_default(), std::move(communicator))) {}

bool CommunicatorGuard::is_active() { return thread_default() != nullptr; }

CommunicatorGuard::~CommunicatorGuard() {
  thread_default() = std::move(previous_);
}

}  // namespace tally::sync
