#include "tally/testing/internal/cpp_text.h"

#include <ATen/ops/view_as_real.h>
#include <c10/util/StringUtil.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tally/state/joined.h"

namespace tally::testkit::internal {
namespace {

template <class List, class Text>
std::string braced(const List& list, const Text& text) {
  return "{" + tally::internal::joined(", ", list, text) + "}";
}

std::string cpp_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (code < 0x20 || code >= 0x7f) {
      // Three digits end an octal escape, whatever follows.
      char escape[5];
      std::snprintf(escape, sizeof(escape), "\\%03o", code);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

// The shortest digits that give the number again.
template <class T>
std::string number(T value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  char text[32];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, double{value});
    if (static_cast<T>(std::strtod(text, nullptr)) == value) break;
  }
  std::string result = text;
  if (result.find_first_of(".e") == result.npos) result += ".0";
  return result;
}

template <>
std::string number(std::int64_t value) {
  // The least one has no literal.
  return value == INT64_MIN ? "INT64_MIN" : std::to_string(value) + "L";
}

template <class T>
std::string values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  const T* values = flat.const_data_ptr<T>();
  return braced(std::vector<T>(values, values + flat.numel()),
                [](T value) { return number(value); });
}

std::string dtype_of(const at::Tensor& tensor) {
  return c10::str("at::k", c10::toString(tensor.scalar_type()));
}

std::string text_of(const at::Tensor& given) {
  if (!given.defined()) return "at::Tensor()";
  const at::Tensor tensor = given.detach().cpu();
  const std::string sizes = braced(
      tensor.sizes(), [](std::int64_t size) { return std::to_string(size); });
  if (tensor.numel() == 0) {
    return c10::str("at::empty(", sizes, ", ", dtype_of(tensor), ")");
  }
  if (tensor.is_complex()) {
    return c10::str("at::view_as_complex(",
                    text_of(at::view_as_real(tensor.to(at::kComplexDouble))),
                    ").to(", dtype_of(tensor), ")");
  }
  at::ScalarType wide = at::kDouble;
  std::string values;
  if (at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true)) {
    wide = at::kLong;
    values = values_of<std::int64_t>(tensor.to(wide));
  } else if (tensor.scalar_type() == at::kFloat) {
    wide = at::kFloat;
    values = values_of<float>(tensor);
  } else {
    values = values_of<double>(tensor.to(wide));
  }
  std::string text =
      c10::str("at::tensor(", values, ", at::k", c10::toString(wide), ")");
  if (tensor.dim() != 1) text += ".reshape(" + sizes + ")";
  if (tensor.scalar_type() != wide) text += ".to(" + dtype_of(tensor) + ")";
  return text;
}

std::string text_of(const std::string& text) { return cpp_string(text); }

std::string text_of(const BatchInput::Texts& texts) {
  return braced(texts, cpp_string);
}

std::string text_of(const RaggedRow& row) {
  return braced(row, [](const auto& named) {
    return "{" + cpp_string(named.first) + ", " + text_of(named.second) + "}";
  });
}

std::string text_of(const BatchInput& input) {
  const auto list = [](const auto& rows) {
    return braced(rows, [](const auto& row) { return text_of(row); });
  };
  const auto& content = input.content();
  if (input.is_tensor()) return text_of(input.tensor());
  if (const auto* texts = std::get_if<BatchInput::Texts>(&content)) {
    return "BatchInput::Texts" + list(*texts);
  }
  if (const auto* lists = std::get_if<BatchInput::TextLists>(&content)) {
    return "BatchInput::TextLists" + list(*lists);
  }
  return "BatchInput(BatchInput::Ragged" +
         list(std::get<BatchInput::Ragged>(content)) + ", convert)";
}

}  // namespace

std::string cpp_of(const Batch& batch) {
  std::string text = "{";
  for (std::size_t i = 0; i < batch.size(); ++i) {
    text += (i == 0 ? "\n      " : ",\n      ") + text_of(batch[i]);
  }
  return text + "}";
}

}  // namespace tally::testkit::internal
