#pragma once

#include <ostream>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

namespace tally {

/// Identifies metrics that accumulate the same state from the same inputs: a
/// text, which is the same in every program and on every rank, and the types of
/// the observers. Two types with the same name have different keys.
///
/// The text of a composite metric contains the keys of its metrics:
///
///     StateKey key = "Running(window=5; " + metric.state_key() + ")";
class StateKey {
 public:
  StateKey() = default;
  /// Without a type.
  StateKey(std::string text) : text_(std::move(text)) {}
  StateKey(const char* text) : text_(text) {}
  StateKey(std::string text, const std::type_info& type)
      : text_(std::move(text)), types_{type} {}

  const std::string& text() const noexcept { return text_; }
  operator const std::string&() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }
  /// In the order of their names in the text.
  const std::vector<std::type_index>& types() const noexcept { return types_; }
  /// For messages: "A, B".
  std::string type_names() const;

  /// Adds the types of another key whose text is contained in this one's in
  /// another form.
  void add_types(const StateKey& other);
  StateKey& operator+=(const StateKey& other);
  friend StateKey operator+(StateKey a, const StateKey& b) { return a += b; }

  friend bool operator==(const StateKey& a, const StateKey& b) noexcept {
    return a.text_ == b.text_ && a.types_ == b.types_;
  }
  friend bool operator!=(const StateKey& a, const StateKey& b) noexcept {
    return !(a == b);
  }
  friend bool operator<(const StateKey& a, const StateKey& b) noexcept {
    return a.text_ != b.text_ ? a.text_ < b.text_ : a.types_ < b.types_;
  }
  friend std::ostream& operator<<(std::ostream& stream, const StateKey& key) {
    return stream << key.text_;
  }

 private:
  std::string text_;
  std::vector<std::type_index> types_;
};

}  // namespace tally
