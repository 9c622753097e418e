#include "tally/metrics/keys.h"

#include <c10/util/Exception.h>

#include "tally/metrics/common/text_key.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

Keys::Keys(const TextList& texts)
    : tensor_(internal::fresh_tensor({static_cast<std::int64_t>(texts.size())},
                                     at::kLong)),
      are_texts_(true) {
  add(texts, tensor_.mutable_data_ptr<std::int64_t>());
}

Keys::Keys(const TextLists& rows) : are_texts_(true) {
  const std::size_t columns = rows.empty() ? 0 : rows[0].size();
  tensor_ = internal::fresh_tensor({static_cast<std::int64_t>(rows.size()),
                                    static_cast<std::int64_t>(columns)},
                                   at::kLong);
  auto* key = tensor_.mutable_data_ptr<std::int64_t>();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    TORCH_CHECK_VALUE(rows[row].size() == columns,
                      "expected as many texts in each row, got ", columns,
                      " in row 0 and ", rows[row].size(), " in row ", row);
    key = add(rows[row], key);
  }
}

std::int64_t* Keys::add(const TextList& texts, std::int64_t* key) {
  for (const std::string_view text : texts) {
    *key++ = internal::text_key(text);
    if (!hashed_ && !internal::integer_of_text(text)) hashed_ = text;
  }
  return key;
}

at::Tensor Keys::beside(const at::Tensor& other) const {
  return are_texts_ && other.defined() ? tensor_.to(other.device()) : tensor_;
}

void Keys::check_numbers(const char* input, std::int64_t count) const {
  TORCH_CHECK_VALUE(!hashed_, "expected ", input, " in [0, ", count,
                    "), got the text '", *hashed_,
                    "'; pass the number of each text, the same on every rank");
}

std::pair<at::Tensor, at::Tensor> internal::key_pair(
    const Keys& preds, const Keys& target,
    const std::optional<std::int64_t>& num_classes) {
  if (num_classes) {
    preds.check_numbers("preds", *num_classes);
    target.check_numbers("target", *num_classes);
  }
  return {preds.beside(target.tensor()), target.beside(preds.tensor())};
}

std::optional<Keys> internal::InputConversion<Keys>::of(const InputRef& input) {
  if (const auto* tensor = input.as<at::Tensor>()) return Keys(*tensor);
  if (const auto texts = InputConversion<TextList>::of(input)) {
    return Keys(*texts);
  }
  if (const auto rows = InputConversion<TextLists>::of(input)) {
    return Keys(*rows);
  }
  return std::nullopt;
}

}  // namespace tally
