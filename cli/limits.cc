#include "tally/cli/limits.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "tally/metrics/registry/spec.h"

namespace tally::cli {
namespace {

// Names of integers that stand for themselves.
constexpr std::string_view kNoCounts[] = {"ignore_index", "seed"};

class LimitedAllocator final : public c10::Allocator {
 public:
  LimitedAllocator(c10::Allocator& allocator, std::int64_t most)
      : allocator_(allocator), most_(most) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    TORCH_CHECK(bytes <= static_cast<std::size_t>(most_),
                "expected a tensor of at most ", most_ >> 20,
                " MB for files of this size, got one of ", bytes >> 20,
                " MB: are the options of the metrics as meant?");
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

void check_counts(std::string_view metric, std::int64_t most) {
  const MetricSpec spec = parse_metric_spec(metric);
  for (const auto& [option, text] : spec.options) {
    if (std::find(std::begin(kNoCounts), std::end(kNoCounts), option) !=
        std::end(kNoCounts)) {
      continue;
    }
    std::int64_t count = 0;
    const auto parsed =
        std::from_chars(text.data(), text.data() + text.size(), count);
    const bool is_integer = parsed.ptr == text.data() + text.size();
    TORCH_CHECK_VALUE(!is_integer || count <= most, spec.name, ": option '",
                      option, "': expected at most ", most,
                      " for files of this size, got ", count);
    if (is_integer || text.find('(') == text.npos) continue;
    for (const auto& [name, inner] : parse_items(text)) {
      check_counts(inner, most);
    }
  }
}

TensorLimit::TensorLimit(std::int64_t most)
    : previous_(c10::GetCPUAllocator()),
      limited_(std::make_unique<LimitedAllocator>(*previous_, most)) {
  c10::SetCPUAllocator(limited_.get());
}

TensorLimit::~TensorLimit() { c10::SetCPUAllocator(previous_); }

}  // namespace tally::cli
