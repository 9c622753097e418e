#include "tally/metrics/slices/slice_keys.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tally/metrics/core/option_text.h"
#include "tally/metrics/slices/integer_codes.h"
#include "tally/state/joined.h"
#include "tally/state/parse_number.h"

namespace tally {
namespace {

// A value begins with its kind. Integers follow with the highest byte first and
// the sign turned, so that bytes are in the order of values; texts with 0xff
// behind each 0, up to a 0 without.
constexpr char kNothing = 0;
constexpr char kInteger = 1;
constexpr char kText = 2;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

void append(std::int64_t value, std::string& bytes) {
  const std::uint64_t shifted = static_cast<std::uint64_t>(value) ^ kSign;
  bytes += kInteger;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(shifted >> shift);
  }
}

void append(const std::string& text, std::string& bytes) {
  bytes += kText;
  for (const char c : text) {
    bytes += c;
    if (c == 0) bytes += '\xff';
  }
  bytes += '\0';
}

void append(std::monostate, std::string& bytes) { bytes += kNothing; }

SliceValue take(std::string_view& bytes) {
  const char kind = bytes.front();
  bytes.remove_prefix(1);
  if (kind == kNothing) return {};
  if (kind == kInteger) {
    std::uint64_t shifted = 0;
    for (int i = 0; i < 8; ++i) {
      shifted = shifted << 8 | static_cast<std::uint8_t>(bytes[i]);
    }
    bytes.remove_prefix(8);
    return static_cast<std::int64_t>(shifted ^ kSign);
  }
  std::string text;
  std::size_t next = 0;
  for (;; ++next) {
    if (bytes[next] != 0) {
      text += bytes[next];
    } else if (next + 1 < bytes.size() && bytes[next + 1] == '\xff') {
      text += bytes[next++];
    } else {
      break;
    }
  }
  bytes.remove_prefix(next + 1);
  return text;
}

/// Numbers values in the order of their first occurrence.
template <class Value>
class Codes {
 public:
  std::pair<std::int32_t, bool> of(const Value& value) {
    const auto [found, is_new] =
        codes_.emplace(value, static_cast<std::int32_t>(codes_.size()));
    return {found->second, is_new};
  }

 private:
  std::unordered_map<Value, std::int32_t> codes_;
};

at::Tensor codes_for(std::size_t rows) {
  TORCH_CHECK_VALUE(rows <= std::numeric_limits<std::int32_t>::max(),
                    "slices: expected batches of fewer than 2^31 rows, got ",
                    rows);
  return at::empty({static_cast<std::int64_t>(rows)}, at::kInt);
}

template <class T, class Add>
at::Tensor encode(const T* begin, const T* end, const Add& add) {
  const auto rows = static_cast<std::size_t>(end - begin);
  at::Tensor codes = codes_for(rows);
  internal::IntegerCodes(rows).encode(
      begin, end, codes.mutable_data_ptr<std::int32_t>(), add);
  return codes;
}

/// Calls use(begin, end) with the integers of a column [N].
template <class Use>
void use_integers(const at::Tensor& integers, const Use& use) {
  TORCH_CHECK_VALUE(
      integers.defined() && integers.dim() == 1,
      "slices: expected keys of sizes [N], got ",
      integers.defined() ? c10::str(integers.sizes()) : "an undefined tensor");
  TORCH_CHECK_TYPE(at::isIntegralType(integers.scalar_type(), true),
                   "slices: expected integers or texts as keys, got ",
                   integers.scalar_type(),
                   "; put numbers into bins, and pass the bins");
  const auto use_as = [&](auto like, at::ScalarType dtype) {
    const at::Tensor column = integers.to(at::kCPU, dtype).contiguous();
    const auto* const begin = column.const_data_ptr<decltype(like)>();
    use(begin, begin + column.numel());
  };
  switch (integers.scalar_type()) {
    case at::kByte:
      return use_as(std::uint8_t(), at::kByte);
    case at::kInt:
      return use_as(std::int32_t(), at::kInt);
    default:
      return use_as(std::int64_t(), at::kLong);
  }
}

}  // namespace

std::string to_string(const SliceValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*integer);
  }
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : "(missing)";
}

namespace {

std::string value_text(const SliceValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return internal::in_quotes(*text);
  }
  const auto* number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? std::to_string(*number) : "none";
}

SliceValue parse_value(std::string_view text) {
  if (text == "none") return {};
  if (text.size() > 1 && text.front() == '"')
    return internal::unquote_text(text);
  const auto number = internal::parse_number<std::int64_t>(std::string(text));
  TORCH_CHECK_VALUE(number, "keys: expected none, an integer or \"text\" in ",
                    "quotes, got ", text);
  return *number;
}

std::vector<std::string_view> parse_list(std::string_view text) {
  const auto is_list = [&] {
    return text.size() > 1 && text.front() == '[' && text.back() == ']';
  };
  TORCH_CHECK_VALUE(is_list(), "keys: expected a list such as ",
                    "[[\"north\", 3]], got ", text);
  const auto parts =
      internal::split_outside(text.substr(1, text.size() - 2), ',');
  TORCH_CHECK_VALUE(parts.ok(), "keys: ", parts.status().message(), " in ",
                    text);
  return *parts;
}

}  // namespace

std::string slice_keys_text(const std::vector<std::vector<SliceValue>>& keys) {
  return "[" +
         internal::joined(
             ", ", keys,
             [](const std::vector<SliceValue>& key) {
               return "[" + internal::joined(", ", key, value_text) + "]";
             }) +
         "]";
}

std::vector<std::vector<SliceValue>> parse_slice_keys(std::string_view text) {
  std::vector<std::vector<SliceValue>> keys;
  for (const std::string_view row : parse_list(text)) {
    std::vector<SliceValue>& key = keys.emplace_back();
    for (const std::string_view value : parse_list(row)) {
      key.push_back(parse_value(value));
    }
  }
  return keys;
}

namespace internal {

std::string slice_key_bytes(const std::vector<SliceValue>& key) {
  std::string bytes;
  for (const SliceValue& value : key) {
    std::visit([&](const auto& each) { append(each, bytes); }, value);
  }
  return bytes;
}

std::vector<SliceValue> slice_key_of(std::string_view bytes) {
  std::vector<SliceValue> key;
  while (!bytes.empty()) key.push_back(take(bytes));
  return key;
}

std::string slice_words(const std::vector<SliceValue>& key) {
  return joined(", ", key, [](const SliceValue& v) { return to_string(v); });
}

std::vector<std::string> slice_words(
    const std::vector<std::vector<SliceValue>>& keys) {
  std::vector<std::string> words;
  std::unordered_map<std::string, std::size_t> first;
  std::unordered_set<std::string> shared;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    words.push_back(slice_words(keys[i]));
    const std::size_t same = first.emplace(words[i], i).first->second;
    if (keys[same] != keys[i]) shared.insert(words[i]);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (shared.count(words[i]) == 0) continue;
    words[i] = joined(", ", keys[i], [](const SliceValue& value) {
      const bool is_text = std::holds_alternative<std::string>(value);
      return is_text ? '"' + to_string(value) + '"' : to_string(value);
    });
  }
  return words;
}

std::optional<std::int64_t> slice_key_columns(std::string_view bytes) {
  std::size_t next = 0;
  std::int64_t columns = 0;
  for (; next < bytes.size(); ++columns) {
    const char kind = bytes[next++];
    if (kind == kInteger) {
      next += 8;
    } else if (kind == kText) {
      while (next < bytes.size() &&
             (bytes[next] != 0 ||
              (next + 1 < bytes.size() && bytes[next + 1] == '\xff'))) {
        next += bytes[next] == 0 ? 2 : 1;
      }
      ++next;
    } else if (kind != kNothing) {
      return std::nullopt;
    }
  }
  if (next > bytes.size()) return std::nullopt;
  return columns;
}

}  // namespace internal

SliceKeys::SliceKeys(const at::Tensor& integers) {
  use_integers(integers, [this](const auto* begin, const auto* end) {
    codes_ = encode(begin, end, [this](std::int64_t value) {
      append(value, keys_.emplace_back());
    });
  });
}

SliceKeys::SliceKeys(const std::vector<std::string>& texts)
    : codes_(codes_for(texts.size())) {
  Codes<std::string_view> codes;
  auto* const own = codes_.mutable_data_ptr<std::int32_t>();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto [code, is_new] = codes.of(texts[i]);
    if (is_new) append(texts[i], keys_.emplace_back());
    own[i] = code;
  }
}

SliceKeys::SliceKeys(const std::vector<SliceValue>& values)
    : codes_(codes_for(values.size())) {
  Codes<std::string> codes;
  auto* const own = codes_.mutable_data_ptr<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string key = internal::slice_key_bytes({values[i]});
    const auto [code, is_new] = codes.of(key);
    if (is_new) keys_.push_back(std::move(key));
    own[i] = code;
  }
}

SliceKeys::SliceKeys(const at::Tensor& codes,
                     const std::vector<SliceValue>& values) {
  Codes<std::string> distinct;
  std::vector<std::size_t> first;  // of equal values, by place
  std::vector<std::string> bytes;
  for (const SliceValue& value : values) {
    bytes.push_back(internal::slice_key_bytes({value}));
    first.push_back(static_cast<std::size_t>(distinct.of(bytes.back()).first));
  }
  use_integers(codes, [&](const auto* begin, const auto* end) {
    codes_ = codes_for(static_cast<std::size_t>(end - begin));
    auto* own = codes_.mutable_data_ptr<std::int32_t>();
    std::vector<std::int32_t> code_of(values.size(), -1);
    for (const auto* each = begin; each != end; ++each) {
      // Of a negative one, larger than any.
      const auto place = static_cast<std::uint64_t>(*each);
      TORCH_CHECK_VALUE(place < values.size(),
                        "slices: expected codes from 0 on that are places of ",
                        values.size(), " values, got ",
                        static_cast<std::int64_t>(*each));
      std::int32_t& code = code_of[first[place]];
      if (code < 0) {
        code = static_cast<std::int32_t>(keys_.size());
        keys_.push_back(bytes[place]);
      }
      *own++ = code;
    }
  });
}

SliceKeys SliceKeys::crossed_with(const SliceKeys& other) const {
  TORCH_CHECK_VALUE(other.size() == size(),
                    "slices: expected columns of the same number of rows, got ",
                    size(), " and ", other.size());
  SliceKeys both;
  both.columns_ = columns_ + other.columns_;
  // Each is less than the number of rows, whose square fits.
  const auto width = static_cast<std::int64_t>(other.keys_.size());
  const c10::ArrayRef<std::int32_t> own = codes();
  const c10::ArrayRef<std::int32_t> others = other.codes();
  std::vector<std::int64_t> pairs(own.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = own[i] * width + others[i];
  }
  both.codes_ =
      encode(pairs.data(), pairs.data() + pairs.size(), [&](std::int64_t pair) {
        both.keys_.push_back(
            keys_[static_cast<std::size_t>(pair / width)] +
            other.keys_[static_cast<std::size_t>(pair % width)]);
      });
  return both;
}

}  // namespace tally
