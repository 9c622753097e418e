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

/// Iterates over a list with size() and operator[].
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

/// Texts, one per row of a batch: the input type of observe() for metrics on
/// strings. It is constructed from one text or a list of texts of any type, and
/// owns nothing: the texts must outlive it.
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
  std::size_t length_ = 0;  // of a single text, for which at_ is null
  std::string_view (*at_)(const void* data, std::size_t i) = nullptr;
};

/// Several texts per row of a batch, such as the references of a translation.
/// Like TextList it owns nothing; it is constructed from a list of lists, or
/// from a list of texts, one per row.
class TextLists {
 public:
  using Iterator = internal::PlaceIterator<TextLists>;

  TextLists() = default;
  /// From std::vector<std::string> or anything else a TextList can be
  /// constructed from.
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
