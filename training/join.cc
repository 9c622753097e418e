#include "tally/training/join.h"

#include <cstdint>
#include <memory>
#include <string>

#include "tally/sync/agree.h"
#include "tally/sync/exchange/session.h"

namespace tally::training::internal {
namespace {

constexpr std::uint8_t kNoOther = 1;
constexpr std::uint8_t kAnother = 2;

}  // namespace

/// Tells the other ranks whether this one has a batch, and hears of theirs.
class JoinLoop::Step final : public sync::internal::Rider {
 public:
  std::uint8_t says() const noexcept override {
    return has_batch ? kAnother : kNoOther;
  }
  void hear(int rank, std::uint8_t says) noexcept override {
    heard = true;
    another = (rank > 0 && another) || says == kAnother;
  }

  bool has_batch = false;
  bool heard = false;    // whether the ranks' answers for this step are known
  bool another = false;  // whether any of them has another batch
};

JoinLoop::JoinLoop(const JoinOptions& options)
    : options_(options),
      communicator_(options.communicator() ? options.communicator()
                                           : sync::default_communicator()),
      step_(std::make_unique<Step>()) {}

JoinLoop::~JoinLoop() {
  auto& session = sync::internal::session_of(*communicator_);
  if (session.rider == step_.get()) session.rider = nullptr;
}

bool JoinLoop::begin(c10::function_ref<bool()> fetch) {
  const sync::Call call("training::join, first batch", communicator_,
                        options_.timeout());
  const sync::AskedBy asked = call.asked();
  sync::agree(call, [&] {
    auto& session = sync::internal::session_of(*communicator_);
    TORCH_CHECK(!session.rider, "training::join: expected one loop at a time ",
                "of ", communicator_->describe(), ", got a second within it; ",
                "evaluate after the loop, or with a separate communicator");
    sync::Offer offer;
    if (const auto& sampler = options_.sampler()) {
      TORCH_CHECK_VALUE(sampler->communicator() == communicator_,
                        "training::join: expected a sampler of the loop's ",
                        "ranks, ", communicator_->describe(), ", got one of ",
                        sampler->communicator()->describe());
      offer.schema = sampler->description();
    }
    step_->has_batch = fetch();
    session.rider = step_.get();
    return offer;
  });
  return step_->another;
}

void JoinLoop::begin_step(c10::function_ref<bool()> fetch) {
  step_->heard = false;
  try {
    step_->has_batch = fetch();
  } catch (...) {
    const sync::Call call("training::join, next batch", communicator_,
                          options_.timeout());
    sync::report_failure(call, std::current_exception());
    throw;
  }
}

bool JoinLoop::end_step() {
  if (!step_->heard) {
    const sync::Call call("training::join, next batch", communicator_,
                          options_.timeout());
    const sync::AskedBy asked = call.asked();
    sync::agree(call, [] { return sync::Offer(); });
  }
  return step_->another;
}

}  // namespace tally::training::internal
