#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>
#include <memory>

/// What keeps a mistyped option from taking the machine's memory: it should
/// take what the files justify.
namespace tally::cli {

/// As long as it lives, a tensor on the CPU that would take more than `most`
/// bytes is a c10::Error instead. One at a time.
class TensorLimit {
 public:
  explicit TensorLimit(std::int64_t most);
  ~TensorLimit();
  TensorLimit(const TensorLimit&) = delete;
  TensorLimit& operator=(const TensorLimit&) = delete;

 private:
  c10::Allocator* previous_;
  std::unique_ptr<c10::Allocator> limited_;
};

}  // namespace tally::cli
