#include "tally/metrics/regression/kernels/row_slopes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/regression/kernels/row_slopes.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h, both.
#include <hwy/highway.h>

#include "tally/metrics/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::regression::HWY_NAMESPACE {

// Rows as shares of their sums, and what becomes of them, each filled up with
// ones to whole vectors.
class RowShares {
 public:
  explicit RowShares(std::int64_t size) : size_(size) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(Double()));
    const auto whole =
        static_cast<std::size_t>((size + lanes - 1) / lanes * lanes);
    for (auto* row : {&p_, &q_, &log_p_, &log_q_}) row->assign(whole, 1.0);
  }

  template <class T>
  void normalize(const T* p, const T* q) {
    sum_p_ = share(p, p_.data());
    sum_q_ = share(q, q_.data());
  }

  // log(p / q), and false for extreme shares.
  bool divergence() {
    return logarithms([&](const Vector p, const Vector q, std::size_t i) {
      hn::StoreU(log_ratio(p, q), Double(), log_p_.data() + i);
    });
  }
  // log(p / m) and log(q / m), of the mean of both.
  bool from_mean() {
    return logarithms([&](const Vector p, const Vector q, std::size_t i) {
      const Vector mean = hn::Mul(hn::Add(p, q), set(0.5));
      hn::StoreU(log_ratio(p, mean), Double(), log_p_.data() + i);
      hn::StoreU(log_ratio(q, mean), Double(), log_q_.data() + i);
    });
  }

  template <class T>
  void write_divergence(double factor, T* of_p, T* of_q) const {
    write_logs(p_, log_p_, factor / sum_p_, of_p);
    if (of_q == nullptr) return;
    const double by_sum = factor / sum_q_;
    for (std::int64_t i = 0; i < size_; ++i) {
      of_q[i] = static_cast<T>(by_sum * (1 - p_[i] / q_[i]));
    }
  }
  template <class T>
  void write_from_mean(double factor, T* of_p, T* of_q) const {
    write_logs(p_, log_p_, factor / 2 / sum_p_, of_p);
    write_logs(q_, log_q_, factor / 2 / sum_q_, of_q);
  }

 private:
  template <class T>
  double share(const T* row, double* to) const {
    double sum = 0;
    for (std::int64_t i = 0; i < size_; ++i) sum += static_cast<double>(row[i]);
    for (std::int64_t i = 0; i < size_; ++i) {
      to[i] = static_cast<double>(row[i]) / sum;
    }
    return sum;
  }

  template <class Visit>
  bool logarithms(const Visit& visit) {
    const Double d;
    Mask usable = all_lanes();
    for (std::size_t i = 0; i < p_.size(); i += hn::Lanes(d)) {
      const Vector p = hn::LoadU(d, p_.data() + i);
      const Vector q = hn::LoadU(d, q_.data() + i);
      usable = hn::And(usable, hn::And(in_range(p), in_range(q)));
      visit(p, q, i);
    }
    return hn::AllTrue(d, usable);
  }

  // Of sum_i p_i log_i, whose terms of the logarithm add up to nothing.
  template <class T>
  void write_logs(const std::vector<double>& p, const std::vector<double>& log,
                  double factor, T* to) const {
    if (to == nullptr) return;
    double mean = 0;
    for (std::int64_t i = 0; i < size_; ++i) mean += p[i] * log[i];
    for (std::int64_t i = 0; i < size_; ++i) {
      to[i] = static_cast<T>(factor * (log[i] - mean));
    }
  }

  std::int64_t size_;
  double sum_p_ = 0;
  double sum_q_ = 0;
  std::vector<double> p_, q_, log_p_, log_q_;
};

template <class T>
void cosine_slopes(const T* a, const T* b, std::int64_t size, double factor,
                   T* of_a, T* of_b) {
  double aa = 0, bb = 0, ab = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto x = static_cast<double>(a[i]);
    const auto y = static_cast<double>(b[i]);
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  const bool none = aa == 0 || bb == 0;
  const double by_norms = none ? 0 : factor / (std::sqrt(aa) * std::sqrt(bb));
  const auto write = [=](const T* own, const T* other, double squares, T* to) {
    if (to == nullptr) return;
    const double along = none ? 0 : by_norms * ab / squares;
    for (std::int64_t i = 0; i < size; ++i) {
      to[i] = static_cast<T>(by_norms * static_cast<double>(other[i]) -
                             along * static_cast<double>(own[i]));
    }
  };
  write(a, b, aa, of_a);
  write(b, a, bb, of_b);
}

template <class T>
bool slopes_of_rows(RowKind kind, const T* a, const T* b, std::int64_t rows,
                    std::int64_t size, const double* factors, bool one_factor,
                    T* of_a, T* of_b) {
  RowShares shares(size);
  for (std::int64_t row = 0; row < rows; ++row) {
    const double factor = factors[one_factor ? 0 : row];
    const std::int64_t at = row * size;
    T* const to_a = of_a == nullptr ? nullptr : of_a + at;
    T* const to_b = of_b == nullptr ? nullptr : of_b + at;
    if (kind == RowKind::kCosine) {
      cosine_slopes(a + at, b + at, size, factor, to_a, to_b);
      continue;
    }
    shares.normalize(a + at, b + at);
    const bool is_mean = kind == RowKind::kJensenShannon;
    if (is_mean ? !shares.from_mean() : !shares.divergence()) return false;
    if (is_mean) {
      shares.write_from_mean(factor, to_a, to_b);
    } else {
      shares.write_divergence(factor, to_a, to_b);
    }
  }
  return true;
}

bool float_row_slopes(RowKind kind, const float* a, const float* b,
                      std::int64_t rows, std::int64_t size,
                      const double* factors, bool one_factor, float* of_a,
                      float* of_b) {
  return slopes_of_rows(kind, a, b, rows, size, factors, one_factor, of_a,
                        of_b);
}
bool double_row_slopes(RowKind kind, const double* a, const double* b,
                       std::int64_t rows, std::int64_t size,
                       const double* factors, bool one_factor, double* of_a,
                       double* of_b) {
  return slopes_of_rows(kind, a, b, rows, size, factors, one_factor, of_a,
                        of_b);
}

}  // namespace tally::internal::regression::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::regression {

HWY_EXPORT(float_row_slopes);
HWY_EXPORT(double_row_slopes);

bool row_slopes(RowKind kind, const float* a, const float* b, std::int64_t rows,
                std::int64_t size, const double* factors, bool one_factor,
                float* of_a, float* of_b) {
  return HWY_DYNAMIC_DISPATCH(float_row_slopes)(kind, a, b, rows, size, factors,
                                                one_factor, of_a, of_b);
}
bool row_slopes(RowKind kind, const double* a, const double* b,
                std::int64_t rows, std::int64_t size, const double* factors,
                bool one_factor, double* of_a, double* of_b) {
  return HWY_DYNAMIC_DISPATCH(double_row_slopes)(
      kind, a, b, rows, size, factors, one_factor, of_a, of_b);
}

}  // namespace tally::internal::regression
#endif
