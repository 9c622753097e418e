#include "tally/sync/paired.h"

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tally/sync/communicator.h"
#include "tally/sync/transport/duplicable.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;

class SingleProcessCommunicator final : public Communicator {
 public:
  SingleProcessCommunicator() : Communicator(0, 1, at::kCPU, kDefaultTimeout) {}
  std::string describe() const override { return "single process"; }

 protected:
  void do_all_gather(const at::Tensor& input, at::Tensor& output,
                     milliseconds) override {
    output.view(-1).copy_(input.view(-1));
  }
  void do_all_reduce(at::Tensor&, ReduceOp, milliseconds) override {}
  void do_broadcast(at::Tensor&, int, milliseconds) override {}
  void do_all_to_all(const at::Tensor& input, const std::vector<std::int64_t>&,
                     at::Tensor& output, const std::vector<std::int64_t>&,
                     milliseconds) override {
    output.view(-1).copy_(input.view(-1));
  }
  std::function<void()> do_start_all_gather(const at::Tensor& input,
                                            at::Tensor& output,
                                            milliseconds) override {
    output.view(-1).copy_(input.view(-1));
    return [] {};
  }
  std::function<void()> do_start_send_receive(const at::Tensor& send, int,
                                              at::Tensor& receive, int,
                                              milliseconds) override {
    receive.copy_(send);
    return [] {};
  }
};

}  // namespace

std::shared_ptr<Communicator> single_process_communicator() {
  return std::make_shared<SingleProcessCommunicator>();
}

namespace {

class PairedCommunicator final : public Communicator,
                                 public internal::Duplicable {
 public:
  PairedCommunicator(std::shared_ptr<Communicator> main,
                     std::shared_ptr<Communicator> accelerator)
      : Communicator(main->rank(), main->size(), main->device(),
                     main->timeout(), accelerator->device()),
        main_(std::move(main)),
        accelerator_(std::move(accelerator)) {}

  std::string describe() const override {
    return main_->describe() + ", beside " + accelerator_->describe();
  }
  // Of the main group alone.
  bool can_duplicate() const override {
    const auto* const main = dynamic_cast<internal::Duplicable*>(main_.get());
    return main != nullptr && main->can_duplicate();
  }
  std::shared_ptr<Communicator> duplicate(std::int64_t number) override {
    return dynamic_cast<internal::Duplicable&>(*main_).duplicate(number);
  }

 protected:
  void do_all_gather(const at::Tensor& input, at::Tensor& output,
                     milliseconds timeout) override {
    of(input).all_gather(input, output, timeout);
  }
  void do_all_reduce(at::Tensor& tensor, ReduceOp op,
                     milliseconds timeout) override {
    of(tensor).all_reduce(tensor, op, timeout);
  }
  void do_broadcast(at::Tensor& tensor, int root,
                    milliseconds timeout) override {
    of(tensor).broadcast(tensor, root, timeout);
  }
  void do_all_to_all(const at::Tensor& input,
                     const std::vector<std::int64_t>& input_counts,
                     at::Tensor& output,
                     const std::vector<std::int64_t>& output_counts,
                     milliseconds timeout) override {
    of(input).all_to_all(input, input_counts, output, output_counts, timeout);
  }
  std::function<void()> do_start_all_gather(const at::Tensor& input,
                                            at::Tensor& output,
                                            milliseconds timeout) override {
    return waiting(of(input).start_all_gather(input, output, timeout));
  }
  std::function<void()> do_start_send_receive(const at::Tensor& send, int to,
                                              at::Tensor& receive, int from,
                                              milliseconds timeout) override {
    return waiting(
        of(send).start_send_receive(send, to, receive, from, timeout));
  }

  void do_give_up(const std::string& reason) override {
    const auto error = std::make_exception_ptr(std::runtime_error(reason));
    main_->give_up(error);
    accelerator_->give_up(error);
  }

 private:
  Communicator& of(const at::Tensor& tensor) const {
    return tensor.device() == accelerator_->device() ? *accelerator_ : *main_;
  }

  // A std::function has to be copyable.
  static std::function<void()> waiting(Transfer transfer) {
    const auto shared = std::make_shared<Transfer>(std::move(transfer));
    return [shared] { shared->wait(); };
  }

  std::shared_ptr<Communicator> main_;
  std::shared_ptr<Communicator> accelerator_;
};

}  // namespace

std::shared_ptr<Communicator> pair_communicators(
    std::shared_ptr<Communicator> main,
    std::shared_ptr<Communicator> accelerator) {
  TORCH_CHECK_VALUE(main && accelerator,
                    "expected two communicators, got null for one");
  TORCH_CHECK_VALUE(main->rank() == accelerator->rank() &&
                        main->size() == accelerator->size(),
                    "expected communicators over the same ranks, got rank ",
                    main->rank(), " of ", main->size(), " and ",
                    accelerator->rank(), " of ", accelerator->size());
  TORCH_CHECK_VALUE(main->device() != accelerator->device(),
                    "expected communicators for two devices, got ",
                    main->device(), " twice");
  return std::make_shared<PairedCommunicator>(std::move(main),
                                              std::move(accelerator));
}

}  // namespace tally::sync
