#include "tally/metrics/checks.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <tuple>

#include "tally/metrics/plain_values.h"

namespace tally::internal {

void check_defined(const char* input, const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.defined(), "expected a tensor as ", input,
                    ", got an undefined one");
}

void check_floating(const char* input, const at::Tensor& tensor) {
  check_defined(input, tensor);
  TORCH_CHECK_TYPE(at::isFloatingType(tensor.scalar_type()), "expected ", input,
                   " of a floating-point dtype, got ", tensor.scalar_type());
}

void check_integral(const char* input, const at::Tensor& tensor) {
  check_defined(input, tensor);
  TORCH_CHECK_TYPE(
      at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true),
      "expected ", input, " of an integer dtype, got ", tensor.scalar_type(),
      at::isFloatingType(tensor.scalar_type())
          ? c10::str("; for whole numbers pass ", input, ".to(at::kLong)")
          : "");
}

void check_real(const char* input, const at::Tensor& tensor) {
  check_defined(input, tensor);
  const at::ScalarType dtype = tensor.scalar_type();
  TORCH_CHECK_TYPE(at::isFloatingType(dtype) || at::isIntegralType(dtype, true),
                   "expected ", input, " of a real dtype, got ", dtype);
  TORCH_CHECK_TYPE(tensor.layout() == at::kStrided, "expected ", input,
                   " to be a dense tensor, got one of layout ",
                   tensor.layout());
}

void check_same_shape(const char* a_input, const at::Tensor& a,
                      const char* b_input, const at::Tensor& b) {
  check_same_device(a_input, a, b_input, b);
  TORCH_CHECK_VALUE(a.sizes() == b.sizes(), "expected ", a_input, " and ",
                    b_input, " of the same shape, got ", a.sizes(), " and ",
                    b.sizes(),
                    shape_hint(a_input, a.sizes(), b_input, b.sizes()));
}

std::string shape_hint(const char* a_input, at::IntArrayRef a,
                       const char* b_input, at::IntArrayRef b) {
  if (a.empty() || b.empty()) return "";
  if (a[0] != b[0]) {
    return c10::str("; these are ", a[0], " rows and ", b[0]);
  }
  const auto is_column_of = [](at::IntArrayRef column, at::IntArrayRef vector) {
    return vector.size() == 1 && column.size() == 2 && column[1] == 1;
  };
  for (const auto& [name, column, vector] :
       {std::tuple(a_input, a, b), std::tuple(b_input, b, a)}) {
    if (is_column_of(column, vector)) {
      return c10::str("; did you mean ", name, ".squeeze(1)?");
    }
  }
  return "";
}

void check_same_device(const char* a_input, const at::Tensor& a,
                       const char* b_input, const at::Tensor& b) {
  check_defined(a_input, a);
  check_defined(b_input, b);
  TORCH_CHECK_VALUE(a.device() == b.device(), "expected ", a_input, " and ",
                    b_input, " on the same device, got ", a.device(), " and ",
                    b.device());
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.layout() == at::kStrided &&
         tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg() &&
         !(tensor.requires_grad() && at::GradMode::is_enabled());
}

bool has_nan(const at::Tensor& tensor) {
  if (!at::isFloatingType(tensor.scalar_type())) return false;
  const at::Tensor values = tensor.requires_grad() ? tensor.detach() : tensor;
  if (!is_plain(values)) return values.isnan().any().item().toBool();
  return visit_values(values, [&](const auto* data) {
    bool found = false;
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      found |= data[i] != data[i];
    }
    return found;
  });
}

}  // namespace tally::internal
