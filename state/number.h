#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace tally {

namespace internal {
/// 0-dim tensors on the CPU, of kDouble and kLong: at::scalar_tensor, which
/// goes through the dispatcher, takes half as long again.
at::Tensor scalar_tensor(double value);
at::Tensor scalar_tensor(std::int64_t value);
}  // namespace internal

/// A float64 scalar of a state: a plain double while it can be, a 0-dim
/// float64 tensor when it carries a graph or lives on a GPU. Arithmetic on
/// plain ones is arithmetic on doubles; as soon as one side is a tensor the
/// result is one, and autograd follows.
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
  /// A tensor of one element. On the CPU and without a graph it is read at
  /// once; else it is kept, as float64. Throws c10::ValueError for any other
  /// number of elements.
  explicit Number(const at::Tensor& tensor);

  bool is_plain() const noexcept { return !tensor_.defined(); }
  bool requires_grad() const {
    return tensor_.defined() && tensor_.requires_grad();
  }
  /// The value; waits for the device where there is one.
  double value() const { return is_plain() ? value_ : read(tensor_); }
  /// A 0-dim float64 tensor, on the device of `tensor()`'s origin.
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
