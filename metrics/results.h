#pragma once

#include <ATen/core/Tensor.h>

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace tally {

/// Collects the parts of a result with more than one:
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
/// plain tensor of the metric "roc" is called "roc", the parts of a larger
/// result "roc.fpr", "roc.tpr". They print themselves as to_table() has it, and
/// to_json() makes them JSON.
class Results {
 public:
  using value_type = std::pair<std::string, at::Tensor>;

  /// Throws c10::ValueError if the name is there already.
  void add(std::string name, at::Tensor value);
  /// Makes room for so many.
  void reserve(std::size_t count) { values_.reserve(count); }
  /// Throws c10::IndexError, listing the names there are.
  const at::Tensor& at(const std::string& name) const;
  const at::Tensor& operator[](const std::string& name) const {
    return at(name);
  }
  bool contains(const std::string& name) const;
  /// The one tensor there is. Throws c10::IndexError for none or several.
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

/// With tensors of its own.
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
