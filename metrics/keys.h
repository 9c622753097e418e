#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "tally/metrics/core/input_conversion.h"
#include "tally/metrics/core/observer_checks.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/text_list.h"

namespace tally {

/// The type of an input whose values a metric only compares for equality, such
/// as queries, clusters or categories: a tensor, or texts, which become int64
/// keys as in SampleIds, the same on every rank. Parameters of observe() have
/// this type; users pass tensors or anything that converts to a TextList.
///
///     State observe(const at::Tensor& preds, const Keys& indexes) const;
///
///     metric.update(preds, std::vector<std::string>{"q1", "q1", "q2"});
class Keys {
 public:
  Keys() = default;
  Keys(at::Tensor tensor) : tensor_(std::move(tensor)) {}
  /// [N] of N texts.
  Keys(const TextList& texts);
  /// [N, V] of N lists of V texts; c10::ValueError for other numbers of them.
  Keys(const TextLists& rows);
  /// From what one of these is made of.
  template <
      class Texts,
      class List = std::conditional_t<
          std::is_constructible_v<TextList, const Texts&>, TextList, TextLists>,
      std::enable_if_t<std::is_constructible_v<List, const Texts&>, int> = 0>
  Keys(const Texts& texts) : Keys(List(texts)) {}

  /// As it was given, or int64 keys on the CPU.
  const at::Tensor& tensor() const { return tensor_; }
  /// The same; keys of texts are moved to the device of `other`.
  at::Tensor beside(const at::Tensor& other) const;
  /// Where values are numbers below `count`: throws c10::ValueError for a text
  /// that is none.
  void check_numbers(const char* input, std::int64_t count) const;

 private:
  std::int64_t* add(const TextList& texts, std::int64_t* key);

  at::Tensor tensor_;
  bool are_texts_ = false;
  std::optional<std::string> hashed_;  // the first text that is no integer
};

namespace internal {

/// Both inputs on one device, to which keys of texts are moved; with
/// num_classes, texts have to be numbers below it.
std::pair<at::Tensor, at::Tensor> key_pair(
    const Keys& preds, const Keys& target,
    const std::optional<std::int64_t>& num_classes);

template <>
struct InputConversion<Keys> {
  static std::optional<Keys> of(const InputRef& input);
};
template <>
constexpr bool is_of_kind<Keys>(InputKind kind) {
  return kind == InputKind::kKeys || kind == InputKind::kCategories;
}

}  // namespace internal
}  // namespace tally
