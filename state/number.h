#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally {

namespace internal {
/// 0-dim CPU tensors of kDouble and kLong. at::scalar_tensor, which goes
/// through the dispatcher, takes longer.
at::Tensor scalar_tensor(double value);
at::Tensor scalar_tensor(std::int64_t value);
}  // namespace internal

/// A float64 scalar of a state: a plain double if possible, a 0-dim float64
/// tensor if it carries a graph or is on a GPU. Arithmetic on plain values is
/// arithmetic on doubles; if either operand is a tensor, the result is a
/// tensor, recorded by autograd.
///
/// Example:
///     Number sum(preds.sum());  // a double, unless preds carries a graph
///     at::Tensor mean = sum / Number(preds.numel());
class Number {
 public:
  Number() = default;
  /// Any arithmetic value; int64 beyond 2^53 rounds.
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Number(T value) : value_(static_cast<double>(value)) {}
  /// A tensor with one element. On the CPU and without a graph its value is
  /// read immediately; otherwise the tensor is kept, as float64. Throws
  /// c10::ValueError for any other number of elements.
  explicit Number(const at::Tensor& tensor);

  bool is_plain() const noexcept { return !tensor_.defined(); }
  bool requires_grad() const {
    return tensor_.defined() && tensor_.requires_grad();
  }
  /// The value; synchronizes with the device if it is not on the CPU.
  double value() const { return is_plain() ? value_ : read(tensor_); }
  /// A 0-dim float64 tensor, on the device of the original tensor.
  at::Tensor tensor() const;
  operator at::Tensor() const { return tensor(); }

  /// Drops the graph; a CPU value becomes plain.
  Number detach() const {
    return is_plain() ? *this : Number(tensor_.detach());
  }

  Number& operator+=(const Number& other) { return *this = *this + other; }

  friend Number operator+(const Number& a, const Number& b) {
    return both_plain(a, b) ? Number(a.value_ + b.value_) : add(a, b);
  }
  friend Number operator-(const Number& a, const Number& b) {
    return both_plain(a, b) ? Number(a.value_ - b.value_) : subtract(a, b);
  }
  friend Number operator*(const Number& a, const Number& b) {
    return both_plain(a, b) ? Number(a.value_ * b.value_) : multiply(a, b);
  }
  friend Number operator/(const Number& a, const Number& b) {
    return both_plain(a, b) ? Number(a.value_ / b.value_) : divide(a, b);
  }
  Number operator-() const { return Number(0.0) - *this; }

  /// NaN on either side gives NaN.
  friend Number min(const Number& a, const Number& b);
  friend Number max(const Number& a, const Number& b);
  friend Number sqrt(const Number& a);

 private:
  static bool both_plain(const Number& a, const Number& b) {
    return a.is_plain() && b.is_plain();
  }
  static double read(const at::Tensor& tensor);
  static Number add(const Number& a, const Number& b);
  static Number subtract(const Number& a, const Number& b);
  static Number multiply(const Number& a, const Number& b);
  static Number divide(const Number& a, const Number& b);

  double value_ = 0;
  at::Tensor tensor_;
};

}  // namespace tally
