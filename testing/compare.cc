#include "tally/testing/compare.h"

#include <cmath>
#include <cstring>
#include <iomanip>

namespace tally::testkit {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

bool near(double a, double b, Tolerance tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance.atol + tolerance.rtol * std::abs(b);
}

std::string describe(const at::Tensor& tensor) {
  return tensor.defined() ? c10::str(tensor.scalar_type(), " ", tensor.sizes())
                          : "nothing";
}

// Empty if the two have the same form.
std::string difference_in_form(const at::Tensor& actual,
                               const at::Tensor& expected) {
  const bool same = actual.defined() == expected.defined() &&
                    (!actual.defined() || actual.sizes() == expected.sizes());
  return same ? "" : describe(actual) + ", expected " + describe(expected);
}

AssertionResult same_dtype(const at::Tensor& actual,
                           const at::Tensor& expected) {
  if (actual.scalar_type() == expected.scalar_type()) return AssertionSuccess();
  return AssertionFailure()
         << "got " << describe(actual) << ", expected " << describe(expected);
}

template <class Compare>
AssertionResult compare_all(const Results& actual, const Results& expected,
                            const Compare& compare) {
  std::string names[2];
  for (const auto& [name, value] : actual) names[0] += "'" + name + "' ";
  for (const auto& [name, value] : expected) names[1] += "'" + name + "' ";
  if (names[0] != names[1]) {
    return AssertionFailure()
           << "got the results " << names[0] << "expected " << names[1];
  }
  for (const auto& [name, value] : actual) {
    const AssertionResult result = compare(value, expected.at(name));
    if (!result) {
      return AssertionFailure()
             << (name.empty() ? "the result" : "'" + name + "'") << ": "
             << result.message();
    }
  }
  return AssertionSuccess();
}

}  // namespace

AssertionResult near(const at::Tensor& actual, const at::Tensor& expected,
                     Tolerance tolerance) {
  const std::string form = difference_in_form(actual, expected);
  if (!form.empty()) return AssertionFailure() << "got " << form;
  if (!actual.defined()) return AssertionSuccess();
  const at::Tensor a = actual.detach().cpu().to(at::kDouble).contiguous();
  const at::Tensor b = expected.detach().cpu().to(at::kDouble).contiguous();
  const double* x = a.const_data_ptr<double>();
  const double* y = b.const_data_ptr<double>();
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    if (near(x[i], y[i], tolerance)) continue;
    return AssertionFailure()
           << std::setprecision(17) << "got " << x[i] << ", expected " << y[i]
           << " at " << i << " of " << describe(actual) << "; off by "
           << std::setprecision(3) << x[i] - y[i];
  }
  return AssertionSuccess();
}

AssertionResult near(const Results& actual, const Results& expected,
                     Tolerance tolerance) {
  return compare_all(actual, expected,
                     [&](const at::Tensor& a, const at::Tensor& b) {
                       return near(a, b, tolerance);
                     });
}

AssertionResult same_dtypes(const Results& actual, const Results& expected) {
  return compare_all(actual, expected, same_dtype);
}

AssertionResult same_bits(const at::Tensor& actual,
                          const at::Tensor& expected) {
  const std::string form = difference_in_form(actual, expected);
  if (!form.empty()) return AssertionFailure() << "got " << form;
  if (!actual.defined()) return AssertionSuccess();
  const AssertionResult dtypes = same_dtype(actual, expected);
  if (!dtypes) return dtypes;
  const at::Tensor a = actual.detach().cpu().contiguous();
  const at::Tensor b = expected.detach().cpu().contiguous();
  if (a.numel() == 0 ||
      std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0) {
    return AssertionSuccess();
  }
  const AssertionResult values = near(a, b);
  return values ? AssertionFailure() << "the values differ in their bits"
                : values;
}

AssertionResult same_bits(const Results& actual, const Results& expected) {
  return compare_all(
      actual, expected,
      [](const at::Tensor& a, const at::Tensor& b) { return same_bits(a, b); });
}

}  // namespace tally::testkit
