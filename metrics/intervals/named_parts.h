#pragma once

#include <c10/util/Exception.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tally/state/joined.h"

namespace tally {

/// Parts of a result by name, in a stable order, as Results are: the name of
/// a result of one part is empty. `Part` has kNoun, "interval".
template <class Part>
class NamedParts {
 public:
  using value_type = std::pair<std::string, Part>;

  NamedParts() = default;
  NamedParts(std::initializer_list<value_type> parts) : parts_(parts) {}

  void add(std::string name, Part part) {
    parts_.emplace_back(std::move(name), std::move(part));
  }
  /// Throws c10::IndexError, listing the existing names.
  const Part& at(const std::string& name) const {
    for (const auto& [own, part] : parts_) {
      if (own == name) return part;
    }
    TORCH_CHECK_INDEX(false, "no ", Part::kNoun, " '", name,
                      "', expected one of: ",
                      internal::joined(", ", parts_, [](const auto& each) {
                        return "'" + each.first + "'";
                      }));
  }
  const Part& operator[](const std::string& name) const { return at(name); }
  /// The only one. Throws c10::IndexError if there are none or several.
  const Part& value() const {
    TORCH_CHECK_INDEX(parts_.size() == 1, "expected one ", Part::kNoun,
                      ", got ", parts_.size());
    return parts_.front().second;
  }
  /// The number of that name, or the only one: see Part::number.
  double number(const std::string& name) const { return at(name).number(); }
  double number() const { return value().number(); }
  bool contains(const std::string& name) const {
    for (const auto& [own, part] : parts_) {
      if (own == name) return true;
    }
    return false;
  }

  /// By place. Until 0.2.0.
  const value_type& operator[](std::size_t place) const {
    return parts_.at(place);
  }

  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }
  std::size_t size() const { return parts_.size(); }
  bool empty() const { return parts_.empty(); }

  /// `visit(part)` for each of them, which it may change.
  template <class Visit>
  void for_each_part(const Visit& visit) {
    for (auto& [name, part] : parts_) visit(part);
  }

 private:
  std::vector<value_type> parts_;
};

}  // namespace tally
