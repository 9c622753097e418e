#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tally {

/// The ids of a batch's rows: integers, or texts. A text that is an integer as
/// one writes it ("12", not "012") has that id, so that ids read from a file
/// are those of a program; the id of another one is its 64-bit hash XXH64 (seed
/// 0). The same row has the same id in every run and on every rank, for example
/// its number in the data set; never a hash of its content, since equal rows
/// would have equal ids.
///
/// Errors: c10::TypeError for a tensor that is not of integers,
/// c10::ValueError for a tensor that is not [N].
///
/// Example:
///     SampleIds numbers(at::arange(preds.size(0)));
///     SampleIds names(std::vector<std::string>{"a.png", "b.png"});
class SampleIds {
 public:
  explicit SampleIds(const at::Tensor& integers);
  explicit SampleIds(const std::vector<std::string>& texts);
  explicit SampleIds(std::vector<std::int64_t> integers);

  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  const std::vector<std::int64_t>& values() const { return ids_; }

 private:
  std::vector<std::int64_t> ids_;
};

}  // namespace tally
