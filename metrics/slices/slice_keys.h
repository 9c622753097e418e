#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tally {

/// A value by which rows are divided into slices: an integer, a text, or
/// nothing, where the row has none. Nothing is a value like others, and not the
/// empty text.
using SliceValue = std::variant<std::monostate, std::int64_t, std::string>;

/// "-3", "north", "(missing)".
std::string to_string(const SliceValue& value);

/// Of several keys: "[["north", 3], ["south", none]]", and the reverse, which
/// throws c10::ValueError for other texts.
std::string slice_keys_text(const std::vector<std::vector<SliceValue>>& keys);
std::vector<std::vector<SliceValue>> parse_slice_keys(std::string_view text);

/// The keys of a batch: for each row, a value of one column or of several.
///
/// Errors: c10::ValueError for 2^31 rows or more. c10::TypeError for a tensor
/// that is not of integers or bool: numbers with fractions make a slice of
/// nearly every row, and are put into bins first. c10::ValueError for a tensor
/// that is not [N].
///
/// Cost: codes, and integers that are close to each other, are looked up in a
/// table; texts are hashed row by row.
///
/// Example:
///     SliceKeys hospital(std::vector<std::string>{"north", "south", "north"});
///     SliceKeys age_group(at::zeros({3}, at::kLong));
///     SliceKeys both = hospital.crossed_with(age_group);
class SliceKeys {
 public:
  /// One column of integers [N].
  explicit SliceKeys(const at::Tensor& integers);
  /// One column of texts.
  explicit SliceKeys(const std::vector<std::string>& texts);
  /// One column of any values.
  explicit SliceKeys(const std::vector<SliceValue>& values);
  /// One column of values by their places, as a dictionary has it: `codes` are
  /// integers [N], each the place of one of the values, which need not all
  /// occur and may repeat. Throws c10::ValueError for a code that is no place.
  SliceKeys(const at::Tensor& codes, const std::vector<SliceValue>& values);

  /// The columns of both, of which every combination in a row is a key. Throws
  /// c10::ValueError for different numbers of rows.
  SliceKeys crossed_with(const SliceKeys& other) const;

  std::int64_t size() const { return codes_.numel(); }
  std::int64_t columns() const { return columns_; }
  /// The distinct keys as bytes: equal if and only if keys are, and in their
  /// order (by column; nothing, integers by value, texts by byte).
  const std::vector<std::string>& keys() const { return keys_; }
  /// For each row, the place of its key in keys().
  c10::ArrayRef<std::int32_t> codes() const {
    return {codes_.const_data_ptr<std::int32_t>(),
            static_cast<std::size_t>(codes_.numel())};
  }

 private:
  SliceKeys() = default;

  std::int64_t columns_ = 1;
  std::vector<std::string> keys_;
  at::Tensor codes_;  // int32 [N]
};

namespace internal {
/// The bytes of one key, and the reverse. REQUIRES: bytes of such a key.
std::string slice_key_bytes(const std::vector<SliceValue>& key);
std::vector<SliceValue> slice_key_of(std::string_view bytes);
/// "north, 3".
std::string slice_words(const std::vector<SliceValue>& key);
/// Those of several keys. Where two are the same, as of 1 and "1", texts are in
/// quotes.
std::vector<std::string> slice_words(
    const std::vector<std::vector<SliceValue>>& keys);
/// The columns of a key with these bytes; nothing if they are not those of one.
std::optional<std::int64_t> slice_key_columns(std::string_view bytes);
}  // namespace internal

/// The names of SliceResult or ComparedSlice objects, as their name() except
/// where different keys have one name, as of 1 and "1": then texts are in
/// quotes.
template <class Slice>
std::vector<std::string> slice_names(const std::vector<Slice>& slices) {
  std::vector<std::vector<SliceValue>> keys;
  for (const Slice& slice : slices) keys.push_back(slice.key);
  std::vector<std::string> names = internal::slice_words(keys);
  for (std::size_t i = 0; i < names.size(); ++i) {
    // Of what others are folded into.
    if (keys[i].empty()) names[i] = slices[i].name();
  }
  return names;
}

}  // namespace tally
