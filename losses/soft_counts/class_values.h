#pragma once

#include <c10/util/ArrayRef.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tally::losses::internal {

/// What numbers were computed from.
class Tape {
 public:
  /// A number whose derivatives by two others these are; returns its place.
  int put(int a = kNone, double by_a = 0, int b = kNone, double by_b = 0) {
    nodes_.push_back({a, b, by_a, by_b});
    return static_cast<int>(nodes_.size()) - 1;
  }

  /// Of a sum of numbers, each at its place times a factor, by every number.
  std::vector<double> derivatives(std::vector<double> factors) const {
    factors.resize(nodes_.size());
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      const Node& node = nodes_[i];
      if (factors[i] == 0) continue;  // also of what is infinite
      if (node.a != kNone) factors[node.a] += factors[i] * node.by_a;
      if (node.b != kNone) factors[node.b] += factors[i] * node.by_b;
    }
    return factors;
  }

  static constexpr int kNone = -1;

 private:
  struct Node {
    int a, b;
    double by_a, by_b;
  };
  std::vector<Node> nodes_;
};

/// A number of each class, or one of all of them, with a tape if derivatives
/// are wanted. Its functions are those of tensors [1, classes], so that one
/// formula is for both.
class ClassValues {
 public:
  ClassValues(Tape* tape, const double* numbers, std::int64_t classes)
      : tape_(tape) {
    all_.reserve(static_cast<std::size_t>(classes));
    for (std::int64_t c = 0; c < classes; ++c) {
      all_.push_back({numbers[c], tape ? tape->put() : Tape::kNone});
    }
  }

  std::int64_t size(std::int64_t = 1) const {
    return static_cast<std::int64_t>(all_.size());
  }
  double number(std::int64_t c) const { return all_[c].number; }
  int place(std::int64_t c) const { return all_[c].place; }

  ClassValues mul(const ClassValues& other) const {
    return with(other, [](double a, double b) { return Step{a * b, b, a}; });
  }
  ClassValues div(const ClassValues& other) const {
    return with(other, [](double a, double b) {
      return Step{a / b, 1 / b, -a / (b * b)};
    });
  }
  ClassValues add(const ClassValues& other, double factor = 1) const {
    return with(other, [=](double a, double b) {
      return Step{a + factor * b, 1, factor};
    });
  }
  ClassValues sub(const ClassValues& other) const { return add(other, -1); }
  ClassValues mul(double factor) const {
    return each([=](double x) { return Step{x * factor, factor}; });
  }
  ClassValues div(double divisor) const {
    return each([=](double x) { return Step{x / divisor, 1 / divisor}; });
  }
  ClassValues add(double term) const {
    return each([=](double x) { return Step{x + term, 1}; });
  }
  ClassValues neg() const { return mul(-1); }
  ClassValues square() const {
    return each([](double x) { return Step{x * x, 2 * x}; });
  }
  ClassValues sqrt() const {
    return each([](double x) {
      const double root = std::sqrt(x);
      return Step{root, 0.5 / root};
    });
  }
  ClassValues pow(double power) const {
    return each([=](double x) {
      return Step{std::pow(x, power), power * std::pow(x, power - 1)};
    });
  }
  ClassValues reciprocal() const {
    return each([](double x) { return Step{1 / x, -1 / (x * x)}; });
  }
  ClassValues clamp_min(double least) const {
    return each([=](double x) {
      return Step{x < least ? least : x, x < least ? 0.0 : 1.0};
    });
  }

  /// 0 or 1, of which nothing has a derivative.
  ClassValues gt(double other) const {
    return each([=](double x) {
             return Step{x > other ? 1.0 : 0.0, 0};
           })
        .detach();
  }
  ClassValues lt(double other) const {
    return each([=](double x) {
             return Step{x < other ? 1.0 : 0.0, 0};
           })
        .detach();
  }
  ClassValues logical_and(const ClassValues& other) const { return mul(other); }
  ClassValues detach() const {
    ClassValues result = *this;
    result.tape_ = nullptr;
    for (Value& value : result.all_) value.place = Tape::kNone;
    return result;
  }

  ClassValues narrow(std::int64_t, std::int64_t first,
                     std::int64_t count) const {
    const auto begin = all_.begin() + first;
    return ClassValues(tape_, {begin, begin + count});
  }
  ClassValues sum(c10::IntArrayRef = {}, bool = true) const {
    Value total = all_[0];
    for (std::size_t c = 1; c < all_.size(); ++c) {
      total =
          joined(tape_, total, all_[c], {total.number + all_[c].number, 1, 1});
    }
    return ClassValues(tape_, {total});
  }
  /// The largest, without derivatives.
  ClassValues amax(c10::IntArrayRef = {}, bool = true) const {
    ClassValues result = detach().narrow(1, 0, 1);
    for (const Value& value : all_) {
      if (value.number > result.all_[0].number || std::isnan(value.number)) {
        result.all_[0].number = value.number;
      }
    }
    return result;
  }

  friend ClassValues where(const ClassValues& condition, const ClassValues& a,
                           const ClassValues& b) {
    ClassValues result = a;
    if (!result.tape_) result.tape_ = b.tape_;
    for (std::int64_t c = 0; c < a.size(); ++c) {
      if (condition.all_[c].number != 0) continue;
      result.all_[c] = b.all_[b.size() == 1 ? 0 : c];
    }
    return result;
  }
  friend ClassValues ones_like(const ClassValues& values) {
    return values.detach().each([](double) { return Step{1, 0}; });
  }
  friend ClassValues zeros_like(const ClassValues& values) {
    return values.detach().each([](double) { return Step{0, 0}; });
  }

 private:
  struct Value {
    double number;
    int place;
  };
  struct Step {
    double number, by_a, by_b = 0;
  };

  ClassValues(Tape* tape, std::vector<Value> all)
      : tape_(tape), all_(std::move(all)) {}

  static Value joined(Tape* tape, const Value& a, const Value& b,
                      const Step& step) {
    const bool is_constant = a.place == Tape::kNone && b.place == Tape::kNone;
    return {step.number,
            is_constant ? Tape::kNone
                        : tape->put(a.place, step.by_a, b.place, step.by_b)};
  }

  template <class Function>
  ClassValues each(const Function& function) const {
    ClassValues result = *this;
    for (Value& value : result.all_) {
      const Step step = function(value.number);
      value = {step.number, value.place == Tape::kNone
                                ? Tape::kNone
                                : tape_->put(value.place, step.by_a)};
    }
    return result;
  }

  template <class Function>
  ClassValues with(const ClassValues& other, const Function& function) const {
    ClassValues result = size() < other.size() ? other : *this;
    result.tape_ = tape_ ? tape_ : other.tape_;
    for (std::int64_t c = 0; c < result.size(); ++c) {
      const Value& a = all_[size() == 1 ? 0 : c];
      const Value& b = other.all_[other.size() == 1 ? 0 : c];
      result.all_[c] = joined(result.tape_, a, b, function(a.number, b.number));
    }
    return result;
  }

  Tape* tape_;
  std::vector<Value> all_;
};

}  // namespace tally::losses::internal
