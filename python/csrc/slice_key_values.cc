#include "tally/python/csrc/slice_key_values.h"

#include <c10/util/Exception.h>

#include <cstddef>
#include <utility>
#include <variant>

namespace tally::python {
namespace {

using at::Tensor;

enum ValueKind : std::int64_t { kMissing, kText, kInteger };

class KeyReader {
 public:
  KeyReader(const Kinds& kinds, const Strings& texts)
      : kinds_(kinds), texts_(texts) {}

  bool is_at_end() const { return kind_ == kinds_.size(); }

  std::int64_t next() {
    TORCH_CHECK_VALUE(kind_ < kinds_.size(), "expected more kinds, got ",
                      kinds_.size());
    return kinds_[kind_++];
  }

  std::vector<SliceValue> values(std::int64_t count) {
    std::vector<SliceValue> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(value());
    return values;
  }

 private:
  SliceValue value() {
    const std::int64_t kind = next();
    if (kind == kMissing) return std::monostate();
    if (kind == kInteger) return next();
    TORCH_CHECK_VALUE(kind == kText && text_ < texts_.size(),
                      "expected a kind from 0 to 2 and ", texts_.size(),
                      " texts at most, got ", kind);
    return texts_[text_++];
  }

  const Kinds& kinds_;
  const Strings& texts_;
  std::size_t kind_ = 0, text_ = 0;
};

SliceKeys read_column(KeyReader& reader, const Tensor& tensor) {
  const std::int64_t count = reader.next();
  if (count < 0) return SliceKeys(tensor);
  return SliceKeys(tensor, reader.values(count));
}

}  // namespace

SliceKeys read_keys(const Kinds& kinds, const std::vector<Tensor>& tensors,
                    const Strings& texts) {
  TORCH_CHECK_VALUE(!tensors.empty(), "expected a column of keys, got none");
  KeyReader reader(kinds, texts);
  SliceKeys keys = read_column(reader, tensors[0]);
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    keys = keys.crossed_with(read_column(reader, tensors[i]));
  }
  return keys;
}

std::vector<std::vector<SliceValue>> known_keys(std::int64_t columns,
                                                const Kinds& kinds,
                                                const Strings& texts) {
  KeyReader reader(kinds, texts);
  std::vector<std::vector<SliceValue>> keys;
  while (!reader.is_at_end()) keys.push_back(reader.values(columns));
  return keys;
}

std::tuple<std::int64_t, Kinds, Strings> keys_of_text(const std::string& text) {
  Kinds kinds;
  Strings texts;
  std::int64_t columns = 0;
  for (const auto& key : parse_slice_keys(text)) {
    auto [own_kinds, own_texts] = key_parts(key);
    columns = static_cast<std::int64_t>(key.size());
    kinds.insert(kinds.end(), own_kinds.begin(), own_kinds.end());
    texts.insert(texts.end(), own_texts.begin(), own_texts.end());
  }
  return {columns, std::move(kinds), std::move(texts)};
}

std::tuple<Kinds, Strings> key_parts(const std::vector<SliceValue>& key) {
  Kinds kinds;
  Strings texts;
  for (const SliceValue& value : key) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      kinds.insert(kinds.end(), {kInteger, *integer});
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      kinds.push_back(kText);
      texts.push_back(*text);
    } else {
      kinds.push_back(kMissing);
    }
  }
  return {std::move(kinds), std::move(texts)};
}

}  // namespace tally::python
