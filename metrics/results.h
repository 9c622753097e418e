#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/dimension.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

/// Collects the parts of a result that has several, and what their dimensions
/// are. Where a part says nothing, what its metric says of the result holds
/// (see MetricOf).
///
///     struct RocCurve {
///       at::Tensor fpr, tpr;
///       void visit(ResultParts& parts) {
///         const Dimensions curve{Dimension::kClass, Dimension::kPoint};
///         parts("fpr", fpr, curve)("tpr", tpr, curve);
///       }
///     };
class ResultParts {
 public:
  struct Part {
    std::string name;
    at::Tensor* value;
    Dimensions dimensions;
  };

  ResultParts& operator()(const std::string& name, at::Tensor& part,
                          Dimensions dimensions = {}) {
    parts_.push_back({name, &part, std::move(dimensions)});
    return *this;
  }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

 private:
  std::vector<Part> parts_;
};

namespace internal {
/// Throws c10::ValueError unless the tensor has one element; `name` is for the
/// message.
double number_of(const std::string& name, const at::Tensor& value);
}  // namespace internal

/// Named tensors in a stable order: what a collection's compute() returns. A
/// plain tensor of the metric "roc" is named "roc", the parts of a composite
/// result "roc.fpr", "roc.tpr". operator<< prints them with to_table(), and
/// to_json() converts them to JSON.
class Results {
 public:
  using value_type = std::pair<std::string, at::Tensor>;

  /// Throws c10::ValueError if the name already exists. Of more dimensions than
  /// the value has, the last ones are the value's: {kSample, kClass} says what
  /// [N, C] and [C] are. Of fewer, they are its first.
  void add(std::string name, at::Tensor value, Dimensions dimensions = {});
  /// Reserves space for `count` results.
  void reserve(std::size_t count) { values_.reserve(count); }
  /// Throws c10::IndexError, listing the existing names.
  const at::Tensor& at(const std::string& name) const;
  const at::Tensor& operator[](const std::string& name) const {
    return at(name);
  }
  bool contains(const std::string& name) const;
  /// What each dimension of a result is. Throws like at().
  Dimensions dimensions(const std::string& name) const;
  /// The only tensor. Throws c10::IndexError if there are none or several.
  const at::Tensor& value() const;
  /// The result of that name as a number, or of several the one without a name,
  /// or the only one. Throws c10::IndexError for another name, and
  /// c10::ValueError unless it is one number.
  ///
  ///     double f1 = collection.compute().number("f1");
  double number(const std::string& name) const;
  double number() const;

  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }

  void visit(ResultParts& parts);

 private:
  // As below, without parts.
  friend void for_each_tensor(Results& results,
                              c10::function_ref<void(at::Tensor&)> visit) {
    for (value_type& result : results.values_) visit(result.second);
  }

  std::size_t place_of(const std::string& name) const;

  // A bit for each name, by its hash: most new names are told from all others
  // by it.
  std::array<std::uint64_t, 8> known_{};
  std::vector<value_type> values_;
  std::vector<Dimensions> dimensions_;  // as many, or fewer: the rest unknown
};

std::ostream& operator<<(std::ostream& out, const Results& results);

inline void result_parts(at::Tensor& result, ResultParts& parts) {
  parts("", result);
}
template <class Result>
void result_parts(Result& result, ResultParts& parts) {
  result.visit(parts);
}

/// Prints a result of several parts as Results are printed.
template <class Result, class = decltype(std::declval<Result&>().visit(
                            std::declval<ResultParts&>()))>
std::ostream& operator<<(std::ostream& out, Result result) {
  ResultParts parts;
  result.visit(parts);
  Results results;
  for (auto& [name, value, dimensions] : parts) {
    results.add(name.empty() ? "value" : name, *value, dimensions);
  }
  return out << results;
}

/// `visit(tensor)` for each tensor of a result, which it may replace.
inline void for_each_tensor(at::Tensor& result,
                            c10::function_ref<void(at::Tensor&)> visit) {
  visit(result);
}
template <class Result, class = decltype(std::declval<Result&>().visit(
                            std::declval<ResultParts&>()))>
void for_each_tensor(Result& result,
                     c10::function_ref<void(at::Tensor&)> visit) {
  ResultParts parts;
  result.visit(parts);
  for (const ResultParts::Part& part : parts) visit(*part.value);
}
template <class Result>
void for_each_tensor(std::vector<Result>& results,
                     c10::function_ref<void(at::Tensor&)> visit) {
  for (Result& result : results) for_each_tensor(result, visit);
}

/// With copied tensors.
template <class Result>
Result copy_of(Result result) {
  for_each_tensor(result, [](at::Tensor& tensor) {
    if (tensor.defined()) tensor = internal::fresh_copy(tensor);
  });
  return result;
}

namespace internal {
/// On the device. A number of the CPU gets there without a copy, for which the
/// CPU would wait.
at::Tensor moved_to(const at::Tensor& value, c10::Device device);

/// Takes a result to the device of the inputs; stays, if that is the CPU or
/// there is none.
template <class Result>
void move_result(Result& result, std::optional<c10::Device> device) {
  if (!device || device->is_cpu()) return;
  for_each_tensor(result,
                  [&](at::Tensor& part) { part = moved_to(part, *device); });
}
}  // namespace internal

}  // namespace tally
