#include "tally/cli/limits.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

namespace tally::cli {
namespace {

class LimitedAllocator final : public c10::Allocator {
 public:
  LimitedAllocator(c10::Allocator& allocator, std::int64_t most)
      : allocator_(allocator), most_(most) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    TORCH_CHECK(bytes <= static_cast<std::size_t>(most_),
                "expected a tensor of at most ", most_ >> 20,
                " MB for files of this size, got one of ", bytes >> 20,
                " MB: check the options of the metrics");
    return allocator_.allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return allocator_.raw_deleter();
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    allocator_.copy_data(to, from, bytes);
  }

 private:
  c10::Allocator& allocator_;
  std::int64_t most_;
};

}  // namespace

TensorLimit::TensorLimit(std::int64_t most)
    : previous_(c10::GetCPUAllocator()),
      limited_(std::make_unique<LimitedAllocator>(*previous_, most)) {
  c10::SetCPUAllocator(limited_.get());
}

TensorLimit::~TensorLimit() { c10::SetCPUAllocator(previous_); }

}  // namespace tally::cli
