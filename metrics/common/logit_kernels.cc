#include "tally/metrics/common/logit_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/common/logit_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "tally/metrics/common/largest-inl.h"
#include "tally/metrics/common/load_wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using tally::internal::HWY_NAMESPACE::load_wide;

// A probability is made of additions, products and quotients in one order,
// whatever the vectors. This file is compiled with -ffp-contract=off, lest a
// target joins two of them.

// exp(x) within an ulp, and 1 for 0. REQUIRES: |x| <= kLargestExponent.
template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  const hn::RebindToSigned<D> di;
  // In the last bits of the sum stands x / log(2), rounded.
  const auto magic = hn::Set(d, ExpTerms::kMagic);
  const auto sum =
      hn::Add(hn::Mul(x, hn::Set(d, ExpTerms::kInverseLog2)), magic);
  const auto n = hn::Sub(sum, magic);
  const auto r = hn::Sub(hn::Sub(x, hn::Mul(n, hn::Set(d, ExpTerms::kHigh))),
                         hn::Mul(n, hn::Set(d, ExpTerms::kLow)));
  const auto r2 = hn::Mul(r, r);
  const auto r4 = hn::Mul(r2, r2);
  const auto pair = [&](int i) {
    return hn::Add(hn::Set(d, ExpTerms::kSeries[i]),
                   hn::Mul(r, hn::Set(d, ExpTerms::kSeries[i + 1])));
  };
  const auto high =
      hn::Add(hn::Add(pair(4), hn::Mul(r2, pair(6))), hn::Mul(r4, pair(8)));
  const auto series =
      hn::Add(hn::Add(pair(0), hn::Mul(r2, pair(2))), hn::Mul(r4, high));
  const auto value = hn::Add(hn::Set(d, 1.0), hn::Add(r, hn::Mul(r2, series)));
  const auto power = hn::ShiftLeft<52>(hn::BitCast(di, sum));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, value), power));
}

// exp(x) of logarithms of probabilities, 0 where it is next to nothing. NaN
// stays NaN.
template <class D, class V>
HWY_INLINE V power_of(D d, V x) {
  const auto lowest = hn::Set(d, -ExpTerms::kLargestExponent);
  const auto value =
      hn::IfThenZeroElse(hn::Lt(x, lowest), exp_of(d, hn::Max(x, lowest)));
  return hn::IfThenElse(hn::IsNaN(x), x, value);
}

// The logarithm of 1 + x within an ulp. REQUIRES: x >= 0, or NaN.
template <class D, class V>
HWY_INLINE V log_of_more(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const auto one = hn::Set(d, 1.0);
  const auto sum = hn::Add(one, x);
  const auto lost =
      hn::IfThenElse(hn::Lt(x, one), hn::Sub(x, hn::Sub(sum, one)),
                     hn::Sub(one, hn::Sub(sum, x)));
  // sum = mantissa * 2^exponent. A number that ends on the integer n, if the
  // last bit means 1, is 2^52 + n.
  const auto bits = hn::BitCast(du, sum);
  const auto last_is_one = hn::Set(du, std::uint64_t{1023 + 52} << 52);
  auto exponent =
      hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<52>(bits), last_is_one)),
              hn::Set(d, 0x1p52 + 1023));
  auto mantissa = hn::BitCast(
      d, hn::Or(hn::And(bits, hn::Set(du, (std::uint64_t{1} << 52) - 1)),
                hn::BitCast(du, one)));
  const auto high = hn::Gt(mantissa, hn::Set(d, LogTerms::kRootOf2));
  mantissa = hn::IfThenElse(high, hn::Mul(mantissa, hn::Set(d, 0.5)), mantissa);
  exponent = hn::IfThenElse(high, hn::Add(exponent, one), exponent);
  const auto f = hn::Sub(mantissa, one);
  // With s = f / (2 + f) and z = s^2:
  //     log(1 + f) = 2 artanh(s) = f - s * (f - z * (2/3 + 2/5 z + ...))
  const auto s = hn::Div(f, hn::Add(hn::Set(d, 2.0), f));
  const auto z = hn::Mul(s, s);
  const auto w = hn::Mul(z, z);
  const auto term = [&](int i) { return hn::Set(d, LogTerms::kSeries[i]); };
  auto even = term(10);
  auto odd = term(9);
  for (int i = 8; i > 0; i -= 2) {
    even = hn::Add(hn::Mul(w, even), term(i));
    odd = hn::Add(hn::Mul(w, odd), term(i - 1));
  }
  even = hn::Add(hn::Mul(w, even), term(0));
  const auto series = hn::Mul(z, hn::Add(even, hn::Mul(z, odd)));
  const auto low = hn::Add(hn::Mul(exponent, hn::Set(d, ExpTerms::kLow)),
                           hn::Div(lost, sum));
  const auto log =
      hn::Add(hn::Mul(exponent, hn::Set(d, ExpTerms::kHigh)),
              hn::Add(hn::Sub(f, hn::Mul(s, hn::Sub(f, series))), low));
  const auto largest = hn::Set(d, std::numeric_limits<double>::max());
  return hn::IfThenElse(hn::Le(x, largest), log, x);
}

// Sums have this many parts, whatever the vectors: a class belongs to the part
// of its number modulo kParts.
constexpr std::int64_t kParts = 8;

// The sum of exp(logit - max) over a row except one of the largest, which are
// max: with a single one it keeps what it would lose beside 1. NaN if max is
// not finite.
template <class T>
double sum_of_others(const T* logits, std::int64_t classes, double max) {
  if (!std::isfinite(max)) return std::numeric_limits<double>::quiet_NaN();
  const hn::CappedTag<double, kParts> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto top = hn::Set(d, max);
  const auto lowest = hn::Set(d, -ExpTerms::kLargestExponent);
  auto ties = hn::Zero(d);
  // There is no NaN.
  const auto power = [&](const T* some) {
    const auto x = load_wide(d, some);
    const auto is_top = hn::Eq(x, top);
    ties = hn::Add(ties, hn::IfThenElseZero(is_top, hn::Set(d, 1.0)));
    const auto z = hn::Sub(x, top);
    const auto value = exp_of(d, hn::Max(z, lowest));
    return hn::IfThenZeroElse(hn::Or(is_top, hn::Lt(z, lowest)), value);
  };
  double parts[kParts] = {};
  // Of a vector each, as many as there are in kParts.
  auto sum0 = hn::Zero(d);
  auto sum1 = sum0;
  auto sum2 = sum0;
  auto sum3 = sum0;
  const auto add = [&](const T* some) {
    if (kLanes == 1) {
      for (std::int64_t i = 0; i < kParts; ++i) {
        parts[i] += hn::GetLane(power(some + i));
      }
      return;
    }
    sum0 = hn::Add(sum0, power(some));
    if (kLanes <= kParts / 2) sum1 = hn::Add(sum1, power(some + kLanes));
    if (kLanes <= kParts / 4) {
      sum2 = hn::Add(sum2, power(some + 2 * kLanes));
      sum3 = hn::Add(sum3, power(some + 3 * kLanes));
    }
  };
  std::int64_t c = 0;
  for (; c + kParts <= classes; c += kParts) add(logits + c);
  if (c < classes) {
    T rest[kParts];
    for (std::int64_t i = 0; i < kParts; ++i) {
      rest[i] =
          c + i < classes ? logits[c + i] : -std::numeric_limits<T>::infinity();
    }
    add(rest);
  }
  if (kLanes > 1) hn::StoreU(sum0, d, parts);
  if (kLanes > 1 && kLanes <= kParts / 2) hn::StoreU(sum1, d, parts + kLanes);
  if (kLanes > 1 && kLanes <= kParts / 4) {
    hn::StoreU(sum2, d, parts + 2 * kLanes);
    hn::StoreU(sum3, d, parts + 3 * kLanes);
  }
  const double powers = ((parts[0] + parts[4]) + (parts[2] + parts[6])) +
                        ((parts[1] + parts[5]) + (parts[3] + parts[7]));
  return (hn::GetLane(hn::SumOfLanes(d, ties)) - 1) + powers;
}

constexpr std::int64_t kMostLanes = HWY_MAX_BYTES / sizeof(double);

// out[i] = function(d, values[i]).
template <class T, class Function>
HWY_INLINE void for_all(const T* values, std::int64_t size, double* out,
                        const Function& function) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    hn::StoreU(function(d, load_wide(d, values + i)), d, out + i);
  }
  if (i == size) return;
  T rest[kMostLanes] = {};
  double results[kMostLanes];
  std::copy(values + i, values + size, rest);
  hn::StoreU(function(d, load_wide(d, rest)), d, results);
  std::copy_n(results, size - i, out + i);
}

template <class T>
void sigmoids_of(const T* logits, std::int64_t size, double* probabilities) {
  for_all(logits, size, probabilities, [](auto d, auto x) {
    const auto one = hn::Set(d, 1.0);
    const auto limit = hn::Set(d, ExpTerms::kLargestExponent);
    const auto exponent = hn::Neg(x);
    // The odds against it.
    const auto odds =
        exp_of(d, hn::Max(hn::Min(exponent, limit), hn::Neg(limit)));
    const auto value = hn::IfThenZeroElse(hn::Gt(exponent, limit),
                                          hn::Div(one, hn::Add(one, odds)));
    return hn::IfThenElse(hn::IsNaN(x), x, value);
  });
}

void SigmoidsOfFloats(const float* logits, std::int64_t size,
                      double* probabilities) {
  sigmoids_of(logits, size, probabilities);
}
void SigmoidsOfDoubles(const double* logits, std::int64_t size,
                       double* probabilities) {
  sigmoids_of(logits, size, probabilities);
}

void Exps(const double* logs, std::int64_t size, double* probabilities) {
  for_all(logs, size, probabilities,
          [](auto d, auto x) { return power_of(d, x); });
}

template <class T>
void terms_of_rows(const T* logits, std::int64_t rows, std::int64_t classes,
                   LogSoftmaxTerms* terms) {
  // So many logarithms are taken together.
  constexpr std::int64_t kRows = 64;
  double sums[kRows];
  for (std::int64_t begin = 0; begin < rows; begin += kRows) {
    const std::int64_t size = std::min(kRows, rows - begin);
    for (std::int64_t i = 0; i < size; ++i) {
      const T* const row = logits + (begin + i) * classes;
      terms[begin + i].max = static_cast<double>(largest(row, classes));
      sums[i] = sum_of_others(row, classes, terms[begin + i].max);
    }
    for_all(sums, size, sums, [](auto d, auto x) { return log_of_more(d, x); });
    for (std::int64_t i = 0; i < size; ++i) terms[begin + i].log_sum = sums[i];
  }
}

void TermsOfFloats(const float* logits, std::int64_t rows, std::int64_t classes,
                   LogSoftmaxTerms* terms) {
  terms_of_rows(logits, rows, classes, terms);
}
void TermsOfDoubles(const double* logits, std::int64_t rows,
                    std::int64_t classes, LogSoftmaxTerms* terms) {
  terms_of_rows(logits, rows, classes, terms);
}

template <class T>
void softmaxes_of(const T* logits, std::int64_t rows, std::int64_t classes,
                  double* probabilities) {
  constexpr std::int64_t kRows = 64;
  LogSoftmaxTerms terms[kRows];
  for (std::int64_t begin = 0; begin < rows; begin += kRows) {
    const std::int64_t size = std::min(kRows, rows - begin);
    const T* const block = logits + begin * classes;
    double* const out = probabilities + begin * classes;
    terms_of_rows(block, size, classes, terms);
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t c = i * classes; c < (i + 1) * classes; ++c) {
        out[c] = terms[i](static_cast<double>(block[c]));
      }
    }
    Exps(out, size * classes, out);
  }
}

void SoftmaxesOfFloats(const float* logits, std::int64_t rows,
                       std::int64_t classes, double* probabilities) {
  softmaxes_of(logits, rows, classes, probabilities);
}
void SoftmaxesOfDoubles(const double* logits, std::int64_t rows,
                        std::int64_t classes, double* probabilities) {
  softmaxes_of(logits, rows, classes, probabilities);
}

double Logit(double probability) {
  const double p = probability;
  const hn::CappedTag<double, 1> d;
  const auto log = [=](double more) {
    return hn::GetLane(log_of_more(d, hn::Set(d, more)));
  };
  return p < 0.5 ? -log((1 - 2 * p) / p) : log((2 * p - 1) / (1 - p));
}

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::classification {

HWY_EXPORT(SigmoidsOfFloats);
HWY_EXPORT(SigmoidsOfDoubles);
HWY_EXPORT(Exps);
HWY_EXPORT(TermsOfFloats);
HWY_EXPORT(TermsOfDoubles);
HWY_EXPORT(SoftmaxesOfFloats);
HWY_EXPORT(SoftmaxesOfDoubles);
HWY_EXPORT(Logit);

void sigmoids(const float* logits, std::int64_t size, double* probabilities) {
  HWY_DYNAMIC_DISPATCH(SigmoidsOfFloats)(logits, size, probabilities);
}
void sigmoids(const double* logits, std::int64_t size, double* probabilities) {
  HWY_DYNAMIC_DISPATCH(SigmoidsOfDoubles)(logits, size, probabilities);
}

void exps(const double* logs, std::int64_t size, double* probabilities) {
  HWY_DYNAMIC_DISPATCH(Exps)(logs, size, probabilities);
}

void log_softmax_terms(const float* logits, std::int64_t rows,
                       std::int64_t classes, LogSoftmaxTerms* terms) {
  HWY_DYNAMIC_DISPATCH(TermsOfFloats)(logits, rows, classes, terms);
}
void log_softmax_terms(const double* logits, std::int64_t rows,
                       std::int64_t classes, LogSoftmaxTerms* terms) {
  HWY_DYNAMIC_DISPATCH(TermsOfDoubles)(logits, rows, classes, terms);
}

void softmaxes(const float* logits, std::int64_t rows, std::int64_t classes,
               double* probabilities) {
  HWY_DYNAMIC_DISPATCH(SoftmaxesOfFloats)(logits, rows, classes, probabilities);
}
void softmaxes(const double* logits, std::int64_t rows, std::int64_t classes,
               double* probabilities) {
  HWY_DYNAMIC_DISPATCH(SoftmaxesOfDoubles)
  (logits, rows, classes, probabilities);
}

double logit(double probability) {
  return HWY_DYNAMIC_DISPATCH(Logit)(probability);
}

}  // namespace tally::internal::classification
#endif  // HWY_ONCE
