#include "tally/metrics/core/shared_work.h"

#include <algorithm>

namespace tally::internal {
namespace {

thread_local SharedWork* current = nullptr;

bool are_same(const std::vector<at::Tensor>& a,
              const std::vector<at::Tensor>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const at::Tensor& x, const at::Tensor& y) { return x.is_same(y); });
}

}  // namespace

SharedWork::SharedWork() : is_outer_(current == nullptr) {
  if (is_outer_) current = this;
}

SharedWork::~SharedWork() {
  if (is_outer_) current = nullptr;
}

std::shared_ptr<const void> SharedWork::find(
    const std::string& key, const std::vector<at::Tensor>& inputs,
    const std::function<std::shared_ptr<const void>()>& make) {
  if (current == nullptr) return make();
  for (const Entry& entry : current->entries_) {
    if (entry.key == key && are_same(entry.inputs, inputs)) return entry.work;
  }
  auto work = make();
  current->entries_.push_back({key, inputs, work});
  return work;
}

}  // namespace tally::internal
