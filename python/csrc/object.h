#pragma once

#include <c10/util/Exception.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/custom_class.h>

#include <atomic>
#include <memory>
#include <utility>

#include "tally/metrics/collection.h"
#include "tally/metrics/metric.h"
#include "tally/python/csrc/sync_error.h"

namespace tally::python {

/// What a class of Python holds. Python lets other threads run while a method
/// does, so each method marks the object as in use.
template <class T>
class Object final : public torch::CustomClassHolder {
 public:
  explicit Object(std::shared_ptr<T> held) : held_(std::move(held)) {}

  /// `work(held)`.
  template <class Work>
  auto use(const Work& work) -> decltype(work(std::declval<T&>())) {
    const InUse in_use(is_used_);
    try {
      return work(*held_);
    } catch (const sync::SyncError& error) {
      note_sync_error(error);
      throw;
    }
  }

  /// For another object that shares it.
  const std::shared_ptr<T>& held() const { return held_; }

 private:
  class InUse {
   public:
    explicit InUse(std::atomic<bool>& flag) : flag_(flag) {
      TORCH_CHECK(!flag_.exchange(true, std::memory_order_acquire),
                  "expected one thread at a time to use an object, got two; "
                  "give each thread its own and merge_state() them");
    }
    ~InUse() { flag_.store(false, std::memory_order_release); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    std::atomic<bool>& flag_;
  };

  std::shared_ptr<T> held_;
  std::atomic<bool> is_used_{false};
};

template <class T>
using ObjectPtr = c10::intrusive_ptr<Object<T>>;
using MetricObject = Object<Metric>;
using CollectionObject = Object<MetricCollection>;

template <class T>
ObjectPtr<T> make_object(std::shared_ptr<T> held) {
  return c10::make_intrusive<Object<T>>(std::move(held));
}

}  // namespace tally::python
