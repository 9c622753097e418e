#pragma once

#include <c10/util/Exception.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/custom_class.h>

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

#include "tally/metrics/collection.h"
#include "tally/metrics/metric.h"
#include "tally/python/csrc/sync_error.h"

namespace tally::python {

/// Of an object that checks itself that one thread uses it.
struct ChecksThreads {
  struct InUse {
    explicit InUse(ChecksThreads&) {}
  };
};

/// Of others.
struct CheckedThreads {
  class InUse {
   public:
    explicit InUse(CheckedThreads& object) : flag_(object.flag) {
      TORCH_CHECK(!flag_.exchange(true, std::memory_order_acquire),
                  "expected one thread at a time to use an object, got two");
    }
    ~InUse() { flag_.store(false, std::memory_order_release); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    std::atomic<bool>& flag_;
  };

  std::atomic<bool> flag{false};
};

/// What a class of Python holds. Python lets other threads run while a method
/// does.
template <class T>
class Object final : public torch::CustomClassHolder {
 public:
  explicit Object(std::shared_ptr<T> held) : held_(std::move(held)) {}

  /// `work(held)`.
  template <class Work>
  auto use(const Work& work) -> decltype(work(std::declval<T&>())) {
    const typename Threads::InUse in_use(threads_);
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
  using Threads = std::conditional_t<std::is_base_of_v<MetricBase, T>,
                                     ChecksThreads, CheckedThreads>;

  std::shared_ptr<T> held_;
  Threads threads_;
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
