#include "tally/metrics/sync_together.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <c10/util/Exception.h>
#include <c10/util/FunctionRef.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/state/joined.h"
#include "tally/sync/exchange/state_sync.h"

namespace tally::internal {
namespace {

constexpr const char* kSyncTogether = "sync_together";

struct MeanState {
  at::Tensor sum;
  Number count;
  void fields(Fields& f) { f("sum", sum)("count", count); }
};

/// What the ranks must have in common of tensor `i`.
sync::internal::SyncItem item_of(const SyncPart& part, std::size_t i) {
  const at::Tensor& mean = part.mean();
  TORCH_CHECK_VALUE(mean.defined(), kSyncTogether, ": tensor ", i,
                    " is undefined");
  TORCH_CHECK_VALUE(at::isFloatingType(mean.scalar_type()), kSyncTogether,
                    ": expected a floating-point dtype, got ",
                    mean.scalar_type(), " of tensor ", i);
  TORCH_CHECK_VALUE(std::isfinite(part.count()) && part.count() >= 0,
                    kSyncTogether,
                    ": expected a count that is finite and not negative, got ",
                    part.count(), " for tensor ", i);
  MeanState state;
  state.count = part.count();
  if (part.count() > 0) {
    state.sum = mean.detach().to(at::kDouble).mul(part.count());
  }
  return {c10::str("tensor ", i),
          StateKey(c10::str("mean of ", mean.scalar_type(), " ", mean.sizes()),
                   typeid(MeanState)),
          AnyState::of(std::move(state)), AnyState::of(MeanState())};
}

at::Tensor number_in(const AnyState& merged, const at::Tensor& own) {
  const MeanState& state = merged.get<MeanState>();
  if (!state.sum.defined()) {
    return at::full_like(own.detach(), kNaN);
  }
  return state.sum.div(state.count.value()).to(own.options());
}

class Together {
 public:
  explicit Together(std::initializer_list<SyncPart> parts) : parts_(parts) {
    std::size_t tensors = 0;
    label_ = joined(", ", parts_, [&](const SyncPart& part) {
      return part.accumulation() ? part.accumulation()->label()
                                 : c10::str("tensor ", tensors++);
    });
    for (const SyncPart& part : parts_) {
      const Accumulation* const accumulation = part.accumulation();
      if (!accumulation) continue;
      if (!communicator_) communicator_ = accumulation->communicator();
      const sync::Timeout timeout = accumulation->options().timeout();
      if (timeout && (!options_.timeout || *timeout < *options_.timeout)) {
        options_.timeout = timeout;
      }
    }
    if (!communicator_) communicator_ = sync::default_communicator();
    options_.call = sync::internal::MetricCall::kSyncTogether;
  }

  void run() {
    const OutsideInference outside;
    const at::NoGradGuard no_grad;
    or_report([&] { prepare(); });
    const bool is_alone = communicator_->size() <= 1;
    if (!is_alone && !metrics_.empty()) {
      auto keys = Accumulation::all_keys(options_.call,
                                         {metrics_.data(), metrics_.size()},
                                         communicator_, options_.timeout);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        shapes_.push_back(metrics_[i]->shape_of(std::move(keys[i])));
      }
    } else {
      for (const Accumulation* each : metrics_) {
        shapes_.push_back(each->shape_of(each->own_keys()));
      }
    }
    std::vector<sync::internal::SyncItem> items;
    or_report([&] { items = take_items(); });
    sync::internal::SyncResult merged;
    if (!is_alone) {
      options_.label = label_;
      merged = sync::internal::sync_states(items, communicator_, options_);
    } else {
      for (const auto& item : items) {
        merged.states.push_back(item.state.defined() ? item.state
                                                     : item.identity);
        merged.update_counts.push_back(item.update_count);
        merged.devices.push_back(item.device);
      }
    }
    finish(merged);
  }

 private:
  void or_report(c10::function_ref<void()> work) {
    try {
      work();
    } catch (...) {
      if (communicator_->size() > 1) {
        sync::internal::report_failure(label_, std::current_exception(),
                                       *communicator_, options_.timeout);
      }
      throw;
    }
  }

  void prepare() {
    for (const SyncPart& part : parts_) {
      Accumulation* const accumulation = part.accumulation();
      if (!accumulation) continue;
      TORCH_CHECK_VALUE(std::find(metrics_.begin(), metrics_.end(),
                                  accumulation) == metrics_.end(),
                        kSyncTogether, ": expected each metric once, got ",
                        accumulation->label(), " twice");
      in_use_.emplace_back(*accumulation);
      accumulation->require_one_sync();
      TORCH_CHECK_VALUE(accumulation->communicator() == communicator_,
                        kSyncTogether,
                        ": expected metrics of one communicator, got that of ",
                        accumulation->label(), " besides another");
      if (!options_.history) options_.history = accumulation->history();
      metrics_.push_back(accumulation);
    }
  }

  std::vector<sync::internal::SyncItem> take_items() const {
    std::vector<sync::internal::SyncItem> items;
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      for (auto& item :
           metrics_[i]->items(shapes_[i].keys, /*with_identity_only=*/false)) {
        items.push_back(std::move(item));
      }
    }
    // Behind the metrics, of which the first one stands for all in a history.
    std::size_t tensors = 0;
    for (const SyncPart& part : parts_) {
      if (!part.accumulation()) items.push_back(item_of(part, tensors++));
    }
    return items;
  }

  void finish(sync::internal::SyncResult& merged) {
    std::size_t next = 0;
    std::vector<StoredRows> rows;
    for (const Accumulation::Shape& shape : shapes_) {
      rows.push_back(shape.merged(merged, next));
    }
    std::vector<at::Tensor> means;
    for (const SyncPart& part : parts_) {
      if (part.accumulation()) continue;
      means.push_back(number_in(merged.states[next++], part.mean()));
    }
    std::size_t placed = 0;
    try {
      for (; placed < rows.size(); ++placed) {
        metrics_[placed]->make_place_for(rows[placed]);
      }
    } catch (...) {
      while (placed > 0) metrics_[--placed]->give_up_place();
      throw;
    }
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      metrics_[i]->take_synced(std::move(rows[i]));
    }
    auto mean = means.begin();
    for (const SyncPart& part : parts_) {
      if (!part.accumulation()) part.mean() = std::move(*mean++);
    }
  }

  std::initializer_list<SyncPart> parts_;
  std::shared_ptr<sync::Communicator> communicator_;
  std::string label_;
  sync::internal::SyncOptions options_;
  std::deque<Accumulation::Use> in_use_;
  std::vector<Accumulation*> metrics_;
  std::vector<Accumulation::Shape> shapes_;
};

}  // namespace

void sync_parts(std::initializer_list<SyncPart> parts) {
  Together(parts).run();
}

}  // namespace tally::internal
