#include "tally/testing/faulty_communicator.h"

#include <c10/util/Exception.h>

#include <exception>
#include <stdexcept>
#include <utility>

namespace tally::testkit {

namespace {

/// While it lives, the rank is in a collective.
class Watched {
 public:
  Watched(CallWatch* watch, const char* collective, std::int64_t call)
      : watch_(watch) {
    if (watch_ != nullptr) watch_->enter(collective, call);
  }
  ~Watched() {
    if (watch_ != nullptr) watch_->leave();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  CallWatch* watch_;
};

}  // namespace

FaultyCommunicator::FaultyCommunicator(
    std::shared_ptr<sync::Communicator> inner, Hook before, Alter alter,
    CallWatch* watch)
    : Communicator(inner->rank(), inner->size(), inner->device(),
                   inner->timeout(), inner->accelerator()),
      inner_(std::move(inner)),
      before_(std::move(before)),
      alter_(std::move(alter)),
      watch_(watch) {}

std::string FaultyCommunicator::describe() const { return inner_->describe(); }

bool FaultyCommunicator::can_duplicate() const {
  const auto* inner = dynamic_cast<const Duplicable*>(inner_.get());
  return inner != nullptr && inner->can_duplicate();
}

std::shared_ptr<sync::Communicator> FaultyCommunicator::duplicate(
    std::int64_t number) {
  return dynamic_cast<Duplicable&>(*inner_).duplicate(number);
}

at::Tensor FaultyCommunicator::altered(const at::Tensor& sent) const {
  if (!alter_) return sent;
  at::Tensor copy = sent.clone();
  alter_(call(), copy);
  return copy;
}

template <class Pass>
void FaultyCommunicator::pass(const char* collective, const Pass& on) {
  const Watched watched(watch_, collective, call());
  before_(call());
  on();
}

std::function<void()> FaultyCommunicator::in_background(
    const char* collective, const at::Tensor& sent,
    const std::function<sync::Transfer(const at::Tensor& sent)>& start) {
  const std::int64_t number = call();
  std::shared_ptr<sync::Transfer> transfer;
  const at::Tensor kept = altered(sent);
  pass(collective,
       [&] { transfer = std::make_shared<sync::Transfer>(start(kept)); });
  return [this, collective, number, transfer, kept] {
    const Watched watched(watch_, collective, number);
    transfer->wait();
  };
}

void FaultyCommunicator::do_all_gather(const at::Tensor& input,
                                       at::Tensor& output,
                                       std::chrono::milliseconds timeout) {
  pass("all_gather",
       [&] { inner_->all_gather(altered(input), output, timeout); });
}

void FaultyCommunicator::do_all_reduce(at::Tensor& tensor, sync::ReduceOp op,
                                       std::chrono::milliseconds timeout) {
  pass("all_reduce", [&] {
    if (alter_) alter_(call(), tensor);
    inner_->all_reduce(tensor, op, timeout);
  });
}

void FaultyCommunicator::do_broadcast(at::Tensor& tensor, int root,
                                      std::chrono::milliseconds timeout) {
  pass("broadcast", [&] {
    if (alter_) alter_(call(), tensor);
    inner_->broadcast(tensor, root, timeout);
  });
}

void FaultyCommunicator::do_all_to_all(
    const at::Tensor& input, const std::vector<std::int64_t>& input_counts,
    at::Tensor& output, const std::vector<std::int64_t>& output_counts,
    std::chrono::milliseconds timeout) {
  pass("all_to_all", [&] {
    inner_->all_to_all(altered(input), input_counts, output, output_counts,
                       timeout);
  });
}

std::function<void()> FaultyCommunicator::do_start_all_gather(
    const at::Tensor& input, at::Tensor& output,
    std::chrono::milliseconds timeout) {
  return in_background("all_gather", input, [&](const at::Tensor& sent) {
    return inner_->start_all_gather(sent, output, timeout);
  });
}

std::function<void()> FaultyCommunicator::do_start_send_receive(
    const at::Tensor& send, int to, at::Tensor& receive, int from,
    std::chrono::milliseconds timeout) {
  return in_background("send_receive", send, [&](const at::Tensor& sent) {
    return inner_->start_send_receive(sent, to, receive, from, timeout);
  });
}

void FaultyCommunicator::do_give_up(const std::string& reason) {
  inner_->give_up(std::make_exception_ptr(std::runtime_error(reason)));
}

FaultyCommunicator::Hook fail_at(std::int64_t call, sync::SyncErrorCode code) {
  return [=](std::int64_t current) {
    if (current != call) return;
    throw sync::SyncError(
        code, "injected into collective " + std::to_string(call), {});
  };
}

std::shared_ptr<sync::Communicator> flip_bit(
    std::shared_ptr<sync::Communicator> inner, std::int64_t call,
    std::int64_t bit) {
  return std::make_shared<FaultyCommunicator>(
      std::move(inner), [](std::int64_t) {},
      [=](std::int64_t current, at::Tensor& sent) {
        if (current != call) return;
        TORCH_CHECK_INDEX(bit < 8 * static_cast<std::int64_t>(sent.nbytes()),
                          "expected a bit of ", sent.nbytes(), " bytes, got ",
                          bit);
        static_cast<char*>(sent.mutable_data_ptr())[bit / 8] ^=
            static_cast<char>(1 << bit % 8);
      });
}

}  // namespace tally::testkit
