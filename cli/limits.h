#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>
#include <memory>

/// Keeps a mistyped option from exhausting memory: usage should be in
/// proportion to the files.
namespace tally::cli {

/// While an object exists, allocating a CPU tensor of more than `most` bytes
/// throws c10::Error. Only one may exist at a time.
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
