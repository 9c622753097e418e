#include "tally/testing/compare.h"

#include <c10/util/complex.h>

#include <cmath>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <vector>

namespace tally::testkit {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

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

bool is_integral(const at::Tensor& tensor) {
  return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
}

// Values as they lie there, one behind the other.
at::Tensor in_memory(const at::Tensor& tensor) {
  return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
}

// Distances without overflow, and without rounding of large integers.
double distance(std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  return static_cast<double>(a > b ? x - y : y - x);
}
double distance(double a, double b) { return std::abs(a - b); }
double distance(c10::complex<double> a, c10::complex<double> b) {
  return std::abs(a - b);
}
bool is_finite(std::int64_t) { return true; }
bool is_finite(double a) { return std::isfinite(a); }
bool is_finite(c10::complex<double> a) {
  return std::isfinite(a.real()) && std::isfinite(a.imag());
}
bool both_nan(std::int64_t, std::int64_t) { return false; }
bool both_nan(double a, double b) { return std::isnan(a) && std::isnan(b); }
bool both_nan(c10::complex<double> a, c10::complex<double> b) {
  return (both_nan(a.real(), b.real()) || a.real() == b.real()) &&
         (both_nan(a.imag(), b.imag()) || a.imag() == b.imag());
}

// The values of two tensors of the same sizes that are too far apart.
class Differences {
 public:
  Differences(at::IntArrayRef sizes, Tolerance tolerance)
      : sizes_(sizes), tolerance_(tolerance) {}

  template <class T>
  void compare(const at::Tensor& actual, const at::Tensor& expected) {
    const at::Tensor a = in_memory(actual);
    const at::Tensor b = in_memory(expected);
    const T* x = a.const_data_ptr<T>();
    const T* y = b.const_data_ptr<T>();
    total_ = a.numel();
    for (std::int64_t i = 0; i < total_; ++i) {
      if (x[i] == y[i] || both_nan(x[i], y[i])) continue;
      compare_one(i, x[i], y[i]);
    }
  }
  bool none() const { return count_ == 0; }
  std::string text() const {
    std::ostringstream out;
    out << std::setprecision(3);
    out << count_ << " of " << total_ << (total_ == 1 ? " value" : " values")
        << " off by more than rtol " << tolerance_.rtol << " and atol "
        << tolerance_.atol << " allow";
    if (absolute_.at >= 0) {
      out << "; largest absolute error " << absolute_.error
          << place(absolute_.at);
    }
    if (relative_.at >= 0) {
      out << ", relative " << relative_.error << place(relative_.at);
    }
    out << first_.str();
    if (count_ > kShown) out << "\n  and " << count_ - kShown << " more";
    return out.str();
  }

 private:
  static constexpr std::int64_t kShown = 5;

  struct Largest {
    double error = -1;
    std::int64_t at = -1;
    void see(double other, std::int64_t place) {
      if (other > error) *this = {other, place};
    }
  };

  template <class T>
  void compare_one(std::int64_t i, T a, T b) {
    const bool finite = is_finite(a) && is_finite(b);
    const double error = distance(a, b);
    const double size = distance(b, T(0));
    if (finite && error <= tolerance_.atol + tolerance_.rtol * size) return;
    if (finite) {
      absolute_.see(error, i);
      if (size > 0) relative_.see(error / size, i);
    }
    if (++count_ > kShown) return;
    first_ << std::setprecision(17) << "\n  got " << a << ", expected " << b
           << place(i);
    if (finite) first_ << std::setprecision(3) << "; off by " << error;
  }

  std::string place(std::int64_t i) const {
    if (sizes_.empty()) return "";
    std::vector<std::int64_t> at(sizes_.size());
    for (std::size_t d = sizes_.size(); d-- > 0; i /= sizes_[d]) {
      at[d] = i % sizes_[d];
    }
    return c10::str(" at ", c10::IntArrayRef(at));
  }

  at::IntArrayRef sizes_;
  Tolerance tolerance_;
  std::int64_t total_ = 0, count_ = 0;
  Largest absolute_, relative_;
  std::ostringstream first_;
};

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
             << (name.empty() ? "" : "'" + name + "': ") << result.message();
    }
  }
  return AssertionSuccess();
}

}  // namespace

Tolerance default_tolerance(at::ScalarType dtype) {
  switch (c10::toRealValueType(dtype)) {
    case at::kDouble:
      return {1e-7, 1e-7};
    case at::kFloat:
      return {1.3e-6, 1e-5};
    case at::kHalf:
      return {1e-3, 1e-5};
    case at::kBFloat16:
      return {1.6e-2, 1e-5};
    default:
      return {};
  }
}

AssertionResult near(const at::Tensor& actual, const at::Tensor& expected,
                     Tolerance tolerance) {
  const std::string form = difference_in_form(actual, expected);
  if (!form.empty()) return AssertionFailure() << "got " << form;
  if (!actual.defined()) return AssertionSuccess();
  Differences differences(actual.sizes(), tolerance);
  if (is_integral(actual) && is_integral(expected)) {
    differences.compare<std::int64_t>(actual.to(at::kLong),
                                      expected.to(at::kLong));
  } else if (actual.is_complex() || expected.is_complex()) {
    differences.compare<c10::complex<double>>(actual.to(at::kComplexDouble),
                                              expected.to(at::kComplexDouble));
  } else {
    differences.compare<double>(actual.to(at::kDouble),
                                expected.to(at::kDouble));
  }
  if (differences.none()) return AssertionSuccess();
  return AssertionFailure() << differences.text() << " (" << describe(actual)
                            << ", expected " << describe(expected) << ")";
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
  const at::Tensor a = in_memory(actual);
  const at::Tensor b = in_memory(expected);
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
