#include "tally/sync/exchange/gradient_layout.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/StringUtil.h>

#include "tally/state/outside_inference.h"
#include "tally/sync/exchange/parameter_list.h"
#include "tally/sync/fingerprint.h"

namespace tally::sync::internal {

at::ScalarType gradient_sum_dtype(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kComplexFloat:
      return at::kFloat;
    case at::kDouble:
    case at::kComplexDouble:
      return at::kDouble;
    default:
      return at::ScalarType::Undefined;
  }
}

at::Tensor reals(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return plain.is_complex() ? at::view_as_real(plain.resolve_conj()) : plain;
}

void check_gradient(const char* name, std::size_t i,
                    const at::Tensor& gradient) {
  if (!gradient.defined()) return;
  TORCH_CHECK_VALUE(gradient.layout() == at::kStrided, name,
                    ": expected dense gradients, got ", gradient.layout(),
                    " for parameter ", i);
  TORCH_CHECK_VALUE(
      gradient_sum_dtype(gradient.scalar_type()) != at::ScalarType::Undefined,
      name, ": cannot average gradients of dtype ", gradient.scalar_type(),
      ", which parameter ", i, " has");
  TORCH_CHECK_VALUE(is_writable(gradient), name,
                    ": expected gradients that can be written to, got an "
                    "inference tensor outside inference mode for parameter ",
                    i);
}

std::string no_bits(std::size_t parameters) {
  return std::string((parameters + 7) / 8, '\0');
}

void set_bit(std::string& bits, std::size_t i) {
  bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8));
}

bool has_bit(const std::string& bits, std::size_t i) {
  return (bits[i / 8] >> (i % 8) & 1) != 0;
}

void add_bits(const char* name, std::string& bits, std::string_view others) {
  TORCH_CHECK_VALUE(others.size() == bits.size(), name, ": expected ",
                    bits.size(), " bytes of each rank, got ", others.size());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = static_cast<char>(bits[i] | others[i]);
  }
}

std::uint64_t fingerprint_of(const std::vector<at::Tensor>& parameters) {
  std::string bytes;
  const auto add = [&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  for (const at::Tensor& parameter : parameters) {
    const std::int64_t kind[] = {
        static_cast<std::int64_t>(parameter.scalar_type()), parameter.dim()};
    add(kind, sizeof kind);
    add(parameter.sizes().data(), parameter.dim() * sizeof(std::int64_t));
  }
  return fingerprint(bytes);
}

at::Tensor& ensure_gradient(const at::Tensor& parameter) {
  at::Tensor& gradient = parameter.mutable_grad();
  if (!gradient.defined()) {
    const tally::internal::OutsideInference outside;
    gradient = at::empty_like(parameter.detach());
  }
  return gradient;
}

std::string list_of(const std::vector<at::Tensor>& parameters) {
  std::string text = c10::str(parameters.size(), " parameters\n");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    text += c10::str("parameter ", i, ": ", parameters[i].scalar_type(), ' ',
                     parameters[i].sizes(), '\n');
  }
  return text;
}

bool is_writable(const at::Tensor& tensor) {
  return !tensor.is_inference() || c10::InferenceMode::is_enabled();
}

}  // namespace tally::sync::internal
