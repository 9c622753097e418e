#include "tally/training/join.h"

#include <string>

#include "tally/sync/agree.h"
#include "tally/sync/exchange/session.h"

namespace tally::training::internal {
namespace {

using sync::internal::BatchLoop;

std::uint8_t in_words(bool has_batch) {
  return has_batch ? BatchLoop::kAnother : BatchLoop::kNoOther;
}

}  // namespace

JoinLoop::JoinLoop(const JoinOptions& options)
    : options_(options),
      communicator_(options.communicator() ? options.communicator()
                                           : sync::default_communicator()) {}

JoinLoop::~JoinLoop() {
  if (begun_) communicator_->exchange_session().batch_loop = {};
}

bool JoinLoop::begin(c10::function_ref<bool()> fetch) {
  BatchLoop& loop = communicator_->exchange_session().batch_loop;
  const sync::Call call("training::join, first batch", communicator_,
                        options_.sync_timeout());
  const sync::AskedBy asked = call.asked();
  sync::agree(call, [&] {
    TORCH_CHECK(loop.says == 0, "training::join: expected one loop at a time ",
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
    loop = {};
    loop.says = in_words(fetch());
    begun_ = true;
    return offer;
  });
  return loop.another;
}

void JoinLoop::begin_step(c10::function_ref<bool()> fetch) {
  BatchLoop& loop = communicator_->exchange_session().batch_loop;
  loop.heard = false;
  try {
    loop.says = in_words(fetch());
  } catch (...) {
    const sync::Call call("training::join, next batch", communicator_,
                          options_.sync_timeout());
    sync::report_failure(call, std::current_exception());
    throw;
  }
}

bool JoinLoop::end_step() {
  BatchLoop& loop = communicator_->exchange_session().batch_loop;
  if (!loop.heard) {
    const sync::Call call("training::join, next batch", communicator_,
                          options_.sync_timeout());
    const sync::AskedBy asked = call.asked();
    sync::agree(call, [] { return sync::Offer(); });
  }
  return loop.another;
}

}  // namespace tally::training::internal
