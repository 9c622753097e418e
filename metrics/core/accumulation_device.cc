#include <c10/util/Exception.h>

#include "tally/metrics/core/accumulation.h"

namespace tally::internal {

void Accumulation::refuse_device(c10::Device inputs) const {
  TORCH_CHECK_VALUE(false, label(), ": expected inputs on ", *device_,
                    ", where its state is, got them on ", inputs,
                    "; to(device) moves the state");
}

void Accumulation::move_column(std::size_t column, AnyState& state,
                               c10::Device device) const {
  if (state.defined() && !columns_[column].on_cpu) {
    move_to(state.fields(), device);
  }
}

void Accumulation::to(c10::Device device) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const std::size_t column = i % columns_.size();
    move_column(column, cells_[i].local, device);
    move_column(column, cells_[i].synced, device);
  }
  device_ = device;
  given_device_ = device;
  if (synced_) synced_device_ = device;
  invalidate_value();
}

}  // namespace tally::internal
