#pragma once

#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tally/metrics/inputs.h"
#include "tally/metrics/results.h"
#include "tally/python/csrc/images.h"

namespace tally::python {

using TensorDict = c10::Dict<std::string, at::Tensor>;
using Strings = std::vector<std::string>;

/// Inputs of any kinds as Python hands them over: flat lists, since a method of
/// a torch::class_ takes no others. `kinds` has for each input
///   0                      the next of `tensors`
///   1                      one that is omitted
///   2, n                   the next n of `texts`
///   3, rows, n_1, n_2, ..  for each row so many of `texts`
///   4, n                   n names of tasks of `texts`, and as many tensors
///   5, n, ...              n images, each as read_image_objects() has them
///   6, ...                 joined images: the same of all, and a tensor of the
///                          objects of each
struct FlatInputs {
  Strings names;  ///< of the inputs; empty: they are by position
  std::vector<std::int64_t> kinds;
  std::vector<at::Tensor> tensors;
  Strings texts;
};

/// What metrics take of them.
class ReadInputs final : private InputSource {
 public:
  explicit ReadInputs(FlatInputs flat);
  ReadInputs(const ReadInputs&) = delete;
  ReadInputs& operator=(const ReadInputs&) = delete;

  bool by_name() const { return !flat_.names.empty(); }
  Inputs inputs() const { return refs_; }
  NamedInputs named() const { return named_; }

 private:
  std::int64_t next_kind() override;
  std::string next_text() override;
  const at::Tensor& next_tensor() override;
  InputRef read();

  const FlatInputs flat_;
  std::size_t kind_ = 0, text_ = 0, tensor_ = 0;
  // Where what refs_ refer to stays.
  std::deque<Strings> texts_;
  std::deque<std::vector<Strings>> lists_;
  std::deque<std::map<std::string, at::Tensor>> tasks_;
  std::deque<std::vector<ImageObjects>> images_;
  std::deque<FlatImageObjects> joined_;
  std::vector<InputRef> refs_;
  std::vector<NamedInput> named_;
};

TensorDict dict_of(const Results& results);
/// One tensor without a name as itself, others as a Dict, in which that is
/// "value".
c10::IValue value_of(const Results& results);

}  // namespace tally::python
