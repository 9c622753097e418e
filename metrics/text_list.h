#pragma once

#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tally {

namespace internal {

template <class T>
inline constexpr bool kIsText =
    std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view> ||
    std::is_same_v<T, const char*>;

/// Goes through a list with size() and operator[].
template <class List>
class PlaceIterator {
 public:
  PlaceIterator(const List* list, std::size_t place)
      : list_(list), place_(place) {}
  auto operator*() const { return (*list_)[place_]; }
  PlaceIterator& operator++() {
    ++place_;
    return *this;
  }
  bool operator!=(const PlaceIterator& other) const {
    return place_ != other.place_;
  }

 private:
  const List* list_;
  std::size_t place_;
};

}  // namespace internal

/// Texts, one for each row of a batch: what observe() of a metric of strings
/// takes. It is made from one text or a list of them, whatever their type, and
/// owns nothing: it must not outlive what it was made of.
///
///     State observe(const TextList& preds, const TextList& target) const;
///
///     metric.update(std::vector<std::string>{"a b", "c"}, target);
///     metric.update("a b", "a c");  // a batch of one row
class TextList {
 public:
  using Iterator = internal::PlaceIterator<TextList>;

  TextList() = default;
  TextList(std::string_view text)
      : data_(text.data()), size_(1), length_(text.size()) {}
  TextList(const std::string& text) : TextList(std::string_view(text)) {}
  TextList(const char* text) : TextList(std::string_view(text)) {}
  template <class Text, std::enable_if_t<internal::kIsText<Text>, int> = 0>
  TextList(c10::ArrayRef<Text> texts)
      : data_(texts.data()),
        size_(texts.size()),
        at_([](const void* data, std::size_t i) {
          return std::string_view(static_cast<const Text*>(data)[i]);
        }) {}
  template <class Text, std::enable_if_t<internal::kIsText<Text>, int> = 0>
  TextList(const std::vector<Text>& texts)
      : TextList(c10::ArrayRef<Text>(texts)) {}
  TextList(std::initializer_list<const char*> texts)
      : TextList(c10::ArrayRef<const char*>(texts)) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view operator[](std::size_t i) const {
    return at_ ? at_(data_, i)
               : std::string_view(static_cast<const char*>(data_), length_);
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  const void* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t length_ = 0;  // of a single text, which has no at_
  std::string_view (*at_)(const void* data, std::size_t i) = nullptr;
};

/// Several texts for each row of a batch, such as the references of a
/// translation. Like TextList it owns nothing; it is made from a list of lists,
/// and from a list of texts, which is one for each row.
class TextLists {
 public:
  using Iterator = internal::PlaceIterator<TextLists>;

  TextLists() = default;
  /// Of std::vector<std::string> or whatever else a TextList is made from.
  template <
      class List,
      std::enable_if_t<std::is_constructible_v<TextList, const List&>, int> = 0>
  TextLists(const std::vector<List>& lists)
      : data_(lists.data()),
        size_(lists.size()),
        at_([](const void* data, std::size_t i) {
          return TextList(static_cast<const List*>(data)[i]);
        }) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  TextList operator[](std::size_t i) const { return at_(data_, i); }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  const void* data_ = nullptr;
  std::size_t size_ = 0;
  TextList (*at_)(const void* data, std::size_t i) = nullptr;
};

}  // namespace tally
