#include "tally/metrics/results.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace tally {
namespace {

constexpr std::int64_t kMostPrinted = 10;

std::string number(const at::Tensor& tensor, std::int64_t index) {
  const at::Scalar value = tensor.reshape({-1})[index].item();
  std::ostringstream out;
  if (value.isFloatingPoint()) {
    // Streams would show the sign bit of a NaN.
    const double plain = value.toDouble();
    if (std::isnan(plain)) return "nan";
    out << std::setprecision(6) << plain;
  } else if (value.isBoolean()) {
    out << (value.toBool() ? "true" : "false");
  } else if (value.isComplex()) {
    out << value.toComplexDouble();
  } else {
    out << value.toLong();
  }
  return out.str();
}

// A vector in full as long as it is short; else its sizes and dtype.
std::string text(const at::Tensor& value) {
  if (!value.defined()) return "undefined";
  if (value.dim() == 0) return number(value, 0);
  std::ostringstream out;
  if (value.dim() == 1 && value.numel() <= kMostPrinted) {
    out << '[';
    for (std::int64_t i = 0; i < value.numel(); ++i) {
      out << (i == 0 ? "" : ", ") << number(value, i);
    }
    out << ']';
  } else {
    out << value.scalar_type() << ' ' << value.sizes();
  }
  return out.str();
}

std::string joined_names(const Results& results) {
  std::string names;
  for (const auto& [name, value] : results) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

void Results::add(std::string name, at::Tensor value) {
  TORCH_CHECK_VALUE(!contains(name), "expected one result of each name, got '",
                    name, "' twice");
  values_.emplace_back(std::move(name), std::move(value));
}

bool Results::contains(const std::string& name) const {
  return std::any_of(values_.begin(), values_.end(),
                     [&](const value_type& v) { return v.first == name; });
}

const at::Tensor& Results::at(const std::string& name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  TORCH_CHECK_INDEX(false, "there is no result '", name,
                    "'; there are: ", joined_names(*this));
}

const at::Tensor& Results::value() const {
  TORCH_CHECK_INDEX(size() == 1, "expected one result, got ", size(), ": ",
                    joined_names(*this));
  return values_.front().second;
}

std::ostream& operator<<(std::ostream& out, const Results& results) {
  std::size_t width = 0;
  for (const auto& [name, value] : results) {
    width = std::max(width, name.size());
  }
  for (const auto& [name, value] : results) {
    out << name << std::string(width - name.size() + 2, ' ') << text(value)
        << '\n';
  }
  return out;
}

}  // namespace tally
