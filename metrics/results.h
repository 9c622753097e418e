#pragma once

#include <ATen/core/Tensor.h>

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace tally {

/// Collects the parts of a result that has several:
///
///     struct RocCurve {
///       at::Tensor fpr, tpr;
///       void visit(ResultParts& parts) { parts("fpr", fpr)("tpr", tpr); }
///     };
class ResultParts {
 public:
  ResultParts& operator()(const std::string& name, at::Tensor& part) {
    parts_.emplace_back(name, &part);
    return *this;
  }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

 private:
  std::vector<std::pair<std::string, at::Tensor*>> parts_;
};

/// Named tensors in a stable order: what a collection's compute() returns. A
/// plain tensor of the metric "roc" is named "roc", the parts of a composite
/// result "roc.fpr", "roc.tpr". operator<< prints them with to_table(), and
/// to_json() converts them to JSON.
class Results {
 public:
  using value_type = std::pair<std::string, at::Tensor>;

  /// Throws c10::ValueError if the name already exists.
  void add(std::string name, at::Tensor value);
  /// Reserves space for `count` results.
  void reserve(std::size_t count) { values_.reserve(count); }
  /// Throws c10::IndexError, listing the existing names.
  const at::Tensor& at(const std::string& name) const;
  const at::Tensor& operator[](const std::string& name) const {
    return at(name);
  }
  bool contains(const std::string& name) const;
  /// The only tensor. Throws c10::IndexError if there are none or several.
  const at::Tensor& value() const;

  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }

  void visit(ResultParts& parts) {
    for (auto& [name, value] : values_) parts(name, value);
  }

 private:
  std::vector<value_type> values_;
};

std::ostream& operator<<(std::ostream& out, const Results& results);

inline void result_parts(at::Tensor& result, ResultParts& parts) {
  parts("", result);
}
template <class Result>
void result_parts(Result& result, ResultParts& parts) {
  result.visit(parts);
}

/// With copied tensors.
template <class Result>
Result copy_of(Result result) {
  ResultParts parts;
  result_parts(result, parts);
  for (const auto& [name, part] : parts) {
    if (part->defined()) *part = part->clone();
  }
  return result;
}

}  // namespace tally
