#include "tally/testing/faulty_communicator.h"

#include <c10/util/Exception.h>

#include <exception>
#include <stdexcept>
#include <utility>

namespace tally::testkit {

FaultyCommunicator::FaultyCommunicator(
    std::shared_ptr<sync::Communicator> inner, Hook before, Alter alter)
    : Communicator(inner->rank(), inner->size(), inner->device(),
                   inner->timeout()),
      inner_(std::move(inner)),
      before_(std::move(before)),
      alter_(std::move(alter)) {}

std::string FaultyCommunicator::describe() const {
  return "faulty " + inner_->describe();
}

at::Tensor FaultyCommunicator::altered(const at::Tensor& sent) const {
  if (!alter_) return sent;
  at::Tensor copy = sent.clone();
  alter_(call(), copy);
  return copy;
}

void FaultyCommunicator::do_all_gather(const at::Tensor& input,
                                       at::Tensor& output,
                                       std::chrono::milliseconds timeout) {
  before_(call());
  inner_->all_gather(altered(input), output, timeout);
}

void FaultyCommunicator::do_all_reduce(at::Tensor& tensor, sync::ReduceOp op,
                                       std::chrono::milliseconds timeout) {
  before_(call());
  if (alter_) alter_(call(), tensor);
  inner_->all_reduce(tensor, op, timeout);
}

void FaultyCommunicator::do_broadcast(at::Tensor& tensor, int root,
                                      std::chrono::milliseconds timeout) {
  before_(call());
  if (alter_) alter_(call(), tensor);
  inner_->broadcast(tensor, root, timeout);
}

void FaultyCommunicator::do_all_to_all(
    const at::Tensor& input, const std::vector<std::int64_t>& input_counts,
    at::Tensor& output, const std::vector<std::int64_t>& output_counts,
    std::chrono::milliseconds timeout) {
  before_(call());
  inner_->all_to_all(altered(input), input_counts, output, output_counts,
                     timeout);
}

std::function<void()> FaultyCommunicator::do_start_all_gather(
    const at::Tensor& input, at::Tensor& output,
    std::chrono::milliseconds timeout) {
  before_(call());
  const at::Tensor sent = altered(input);
  auto transfer = std::make_shared<sync::Transfer>(
      inner_->start_all_gather(sent, output, timeout));
  return [transfer, sent] { transfer->wait(); };
}

std::function<void()> FaultyCommunicator::do_start_send_receive(
    const at::Tensor& send, int to, at::Tensor& receive, int from,
    std::chrono::milliseconds timeout) {
  before_(call());
  const at::Tensor sent = altered(send);
  auto transfer = std::make_shared<sync::Transfer>(
      inner_->start_send_receive(sent, to, receive, from, timeout));
  return [transfer, sent] { transfer->wait(); };
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
