#include "tally/testing/allocation_fault.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

namespace tally::testkit {
namespace {

// Above the priority that LibTorch's own has.
constexpr std::uint8_t kPriority = 200;

struct Plan {
  bool armed = false;
  std::int64_t left = 0;
  std::size_t least_bytes = 0;
};

thread_local Plan plan;

class Injector final : public c10::Allocator {
 public:
  explicit Injector(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    // There is always memory for nothing.
    const bool counts = plan.armed && bytes > 0 && bytes >= plan.least_bytes;
    if (counts && plan.left-- == 0) {
      TORCH_CHECK(false, "injected: no memory for ", bytes, " bytes");
    }
    return inner_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return inner_->raw_deleter();
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  c10::Allocator* inner_;
};

void install() {
  static Injector injector(c10::GetCPUAllocator());
  static const bool once = [] {
    c10::SetCPUAllocator(&injector, kPriority);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace

AllocationFault::AllocationFault(std::int64_t number, std::size_t least_bytes) {
  install();
  plan = {true, number, least_bytes};
}

AllocationFault::~AllocationFault() { plan = {}; }

bool AllocationFault::happened() const { return plan.left < 0; }

}  // namespace tally::testkit
