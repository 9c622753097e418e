#include "tally/tests/testing/faulty_communicator.h"

#include <exception>
#include <stdexcept>
#include <utility>

namespace tally::testing {

FaultyCommunicator::FaultyCommunicator(
    std::shared_ptr<sync::Communicator> inner, Hook before)
    : Communicator(inner->rank(), inner->size(), inner->device(),
                   inner->timeout()),
      inner_(std::move(inner)),
      before_(std::move(before)) {}

std::string FaultyCommunicator::describe() const {
  return "faulty " + inner_->describe();
}

void FaultyCommunicator::do_all_gather(const at::Tensor& input,
                                       at::Tensor& output,
                                       std::chrono::milliseconds timeout) {
  before_(collectives() - 1);
  inner_->all_gather(input, output, timeout);
}

void FaultyCommunicator::do_all_reduce(at::Tensor& tensor, sync::ReduceOp op,
                                       std::chrono::milliseconds timeout) {
  before_(collectives() - 1);
  inner_->all_reduce(tensor, op, timeout);
}

void FaultyCommunicator::do_broadcast(at::Tensor& tensor, int root,
                                      std::chrono::milliseconds timeout) {
  before_(collectives() - 1);
  inner_->broadcast(tensor, root, timeout);
}

void FaultyCommunicator::do_all_to_all(
    const at::Tensor& input, const std::vector<std::int64_t>& input_counts,
    at::Tensor& output, const std::vector<std::int64_t>& output_counts,
    std::chrono::milliseconds timeout) {
  before_(collectives() - 1);
  inner_->all_to_all(input, input_counts, output, output_counts, timeout);
}

std::function<void()> FaultyCommunicator::do_start_all_gather(
    const at::Tensor& input, at::Tensor& output,
    std::chrono::milliseconds timeout) {
  before_(collectives() - 1);
  auto transfer = std::make_shared<sync::Transfer>(
      inner_->start_all_gather(input, output, timeout));
  return [transfer] { transfer->wait(); };
}

std::function<void()> FaultyCommunicator::do_start_send_receive(
    const at::Tensor& send, int to, at::Tensor& receive, int from,
    std::chrono::milliseconds timeout) {
  before_(collectives() - 1);
  auto transfer = std::make_shared<sync::Transfer>(
      inner_->start_send_receive(send, to, receive, from, timeout));
  return [transfer] { transfer->wait(); };
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

}  // namespace tally::testing
