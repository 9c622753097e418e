#include "tally/metrics/regression/kernels/row_kernels.h"

#include <algorithm>
#include <cstddef>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/regression/kernels/row_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h, both.
#include <hwy/highway.h>

#include "tally/metrics/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::regression::HWY_NAMESPACE {

HWY_INLINE std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(Double()));
}

struct TwoSums {
  double a, b;
};

// The sums of all lanes of both, in little more than the steps that one takes.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE TwoSums totals(const Vector a, const Vector b) {
  return {total(a), total(b)};
}
#else
template <class D>
HWY_INLINE TwoSums fold(const D d, const hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) > 2) {
    const hn::Half<D> half;
    return fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    return {hn::ExtractLane(v, 0), hn::ExtractLane(v, 1)};
  }
}
HWY_INLINE TwoSums totals(const Vector a, const Vector b) {
  const Double d;
  return fold(
      d, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
}
#endif

// The rows of one input. A row's last vector reads on into the next row, but
// never past the end.
template <class T>
struct RowReader {
  const T* begin;
  const T* end;
  std::int64_t size;
  Mask rest;  // of the last vector; all of it if rows are whole vectors

  RowReader(const T* data, std::int64_t rows, std::int64_t row_size)
      : begin(data), end(data + rows * row_size), size(row_size) {
    const std::int64_t left = row_size % lanes();
    rest = hn::FirstN(Double(),
                      static_cast<std::size_t>(left == 0 ? lanes() : left));
  }

  HWY_INLINE Vector last(const T* from) const {
    const Double d;
    if (from + lanes() <= end) return hn::IfThenElseZero(rest, load(from));
    T part[hn::MaxLanes(d)] = {};
    std::copy(from, end, part);
    return hn::IfThenElseZero(rest, load(part));
  }
};

// Calls visit(vector of a, vector of b, index) for all of a row, filled up with
// zeros.
template <class T, class Visit>
HWY_INLINE void for_each_vector(const RowReader<T>& a, const RowReader<T>& b,
                                std::int64_t row, const Visit& visit) {
  const T* const from_a = a.begin + row * a.size;
  const T* const from_b = b.begin + row * a.size;
  std::int64_t i = 0;
  for (; i + lanes() < a.size; i += lanes()) {
    visit(load(from_a + i), load(from_b + i), i);
  }
  visit(a.last(from_a + i), b.last(from_b + i), i);
}

// Scores are sums over shares p and q, which are 1 at most. `add` takes those
// of at least kLeastShare; `alone` is what those add of which `lacks` holds.
struct KL {
  static constexpr double kLeastShare = kLeast;

  // Equal shares add 0.
  static HWY_INLINE Vector add(const Vector p, const Vector q,
                               const Vector sum) {
    return hn::MulAdd(p, log_ratio(p, q), sum);
  }
  static HWY_INLINE Mask lacks(const Vector p, const Vector) {
    return hn::Eq(p, hn::Zero(Double()));
  }
  static HWY_INLINE Vector alone(const Vector, const Vector) {
    return hn::Zero(Double());
  }
};

// p log(2 p / (p + q)) + q log(2 q / (p + q)), halved, is a quarter of
// (p + q) log(4 p q / (p + q)^2) + (p - q) log(p / q): what is of first order
// in p - q does not have to cancel.
struct JensenShannon {
  // Products of both must be in range.
  static constexpr double kLeastShare = 0x1p-240;

  static HWY_INLINE Vector add(const Vector p, const Vector q,
                               const Vector sum) {
    const Vector both = hn::Add(p, q);
    const Vector difference = hn::Sub(p, q);
    const Vector log =
        log_ratio(hn::Mul(hn::Mul(set(4.0), p), q), hn::Mul(both, both),
                  hn::Neg(hn::Mul(difference, difference)));
    const Vector quadruple =
        hn::MulAdd(difference, log_ratio(p, q), hn::Mul(both, log));
    return hn::MulAdd(quadruple, set(0.25), sum);
  }
  static HWY_INLINE Mask lacks(const Vector p, const Vector q) {
    const Vector zero = hn::Zero(Double());
    return hn::Or(hn::Eq(p, zero), hn::Eq(q, zero));
  }
  static HWY_INLINE Vector alone(const Vector p, const Vector q) {
    return hn::Mul(hn::Add(p, q), set(6.93147180559945286227e-01 / 2));
  }
};

struct Terms {
  Vector sum;
  Mask usable;

  template <class Score>
  HWY_INLINE void add(const Vector p, const Vector q) {
    const Vector least = set(Score::kLeastShare);
    const auto all_there = [&](const Vector a, const Vector b) HWY_ATTR {
      return hn::And(hn::Ge(a, least), hn::Ge(b, least));
    };
    if (HWY_LIKELY(hn::AllTrue(Double(), all_there(p, q)))) {
      sum = Score::add(p, q, sum);
      return;
    }
    const Mask lacks = Score::lacks(p, q);
    const Vector a = hn::IfThenElse(lacks, set(1.0), p);
    const Vector b = hn::IfThenElse(lacks, set(1.0), q);
    usable = hn::And(usable, all_there(a, b));
    sum = hn::Add(Score::add(a, b, sum),
                  hn::IfThenElseZero(lacks, Score::alone(p, q)));
  }
};

// Shares are written one after another, row after row, so that vectors are full
// however short rows are.
struct Shares {
  static constexpr std::int64_t kSize = 512;
  // What is behind the last vector that began before kSize, and its filling.
  static constexpr std::int64_t kExtra = 3 * hn::MaxLanes(Double());

  HWY_INLINE void push(const Vector a, const Vector b, std::int64_t count) {
    hn::StoreU(a, Double(), p + filled);
    hn::StoreU(b, Double(), q + filled);
    filled += count;
  }

  std::int64_t filled;
  double p[kSize + kExtra];
  double q[kSize + kExtra];
};

template <class Score>
HWY_NOINLINE void add_terms(Shares& shares, Terms& terms) {
  const Double d;
  const std::int64_t count = shares.filled;
  shares.push(set(1.0), set(1.0), 0);
  Terms added = terms;
  for (std::int64_t i = 0; i < count; i += lanes()) {
    added.add<Score>(hn::LoadU(d, shares.p + i), hn::LoadU(d, shares.q + i));
  }
  terms = added;
  shares.filled = 0;
}

template <class Score, class T>
std::optional<double> share_scores(const T* a, const T* b, std::int64_t rows,
                                   std::int64_t size, double* scores) {
  const Vector zero = hn::Zero(Double());
  const RowReader<T> reader_a(a, rows, size);
  const RowReader<T> reader_b(b, rows, size);
  Shares shares;
  shares.filled = 0;
  Terms terms{zero, all_lanes()};
  double least = kLeast;
  double most = kMost;
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const from_a = a + row * size;
    const T* const from_b = b + row * size;
    // All there is of short rows.
    const bool one_vector = size <= lanes();
    const Vector a0 = one_vector ? reader_a.last(from_a) : load(from_a);
    const Vector b0 = one_vector ? reader_b.last(from_b) : load(from_b);
    Vector a1 = zero, b1 = zero;
    Vector sums_a = a0, sums_b = b0;
    if (!one_vector) {
      std::int64_t i = lanes();
      for (; i + lanes() < size; i += lanes()) {
        sums_a = hn::Add(sums_a, load(from_a + i));
        sums_b = hn::Add(sums_b, load(from_b + i));
      }
      a1 = reader_a.last(from_a + i);
      b1 = reader_b.last(from_b + i);
      sums_a = hn::Add(sums_a, a1);
      sums_b = hn::Add(sums_b, b1);
    }
    // Of a NaN, shares are NaN.
    const TwoSums sums = totals(sums_a, sums_b);
    least = std::min(least, std::min(sums.a, sums.b));
    most = std::max(most, std::max(sums.a, sums.b));
    const Vector scale_a = set(1 / sums.a);
    const Vector scale_b = set(1 / sums.b);
    shares.push(hn::Mul(a0, scale_a), hn::Mul(b0, scale_b),
                std::min(lanes(), size));
    if (!one_vector) {
      std::int64_t i = lanes();
      for (; i + lanes() < size; i += lanes()) {
        if (shares.filled >= Shares::kSize) add_terms<Score>(shares, terms);
        shares.push(hn::Mul(load(from_a + i), scale_a),
                    hn::Mul(load(from_b + i), scale_b), lanes());
      }
      shares.push(hn::Mul(a1, scale_a), hn::Mul(b1, scale_b), size - i);
    }
    if (shares.filled >= Shares::kSize) add_terms<Score>(shares, terms);
    if (scores != nullptr) {
      add_terms<Score>(shares, terms);
      scores[row] = total(terms.sum);
      sum += scores[row];
      terms.sum = zero;
    }
  }
  add_terms<Score>(shares, terms);
  if (least < kLeast || most > kMost || !hn::AllTrue(Double(), terms.usable)) {
    return std::nullopt;
  }
  return sum + total(terms.sum);
}

// The three sums of so many rows are taken before the quotients.
constexpr std::int64_t kCosines = 64;

template <class T>
double cosine_scores(const T* a, const T* b, std::int64_t rows,
                     std::int64_t size, double* scores) {
  const Double d;
  const Vector zero = hn::Zero(d);
  const RowReader<T> reader_a(a, rows, size);
  const RowReader<T> reader_b(b, rows, size);
  double aa[kCosines], bb[kCosines], ab[kCosines];
  Vector sum = zero;
  for (std::int64_t begin = 0; begin < rows; begin += kCosines) {
    const std::int64_t count = std::min(kCosines, rows - begin);
    for (std::int64_t row = 0; row < count; ++row) {
      Vector squares_a = zero, squares_b = zero, products = zero;
      for_each_vector(reader_a, reader_b, begin + row,
                      [&](const Vector p, const Vector q, std::int64_t)
                          HWY_ATTR {
                            squares_a = hn::MulAdd(p, p, squares_a);
                            squares_b = hn::MulAdd(q, q, squares_b);
                            products = hn::MulAdd(p, q, products);
                          });
      const TwoSums squares = totals(squares_a, squares_b);
      aa[row] = squares.a;
      bb[row] = squares.b;
      ab[row] = total(products);
    }
    for (std::int64_t row = count; row % lanes() != 0; ++row) aa[row] = 0;
    for (std::int64_t row = 0; row < count; row += lanes()) {
      const Vector p = hn::LoadU(d, aa + row);
      const Vector q = hn::LoadU(d, bb + row);
      const Mask none = hn::Or(hn::Eq(p, zero), hn::Eq(q, zero));
      const Vector cosines = hn::IfThenZeroElse(
          none,
          hn::Div(hn::LoadU(d, ab + row), hn::Mul(hn::Sqrt(p), hn::Sqrt(q))));
      sum = hn::Add(sum, cosines);
      hn::StoreU(cosines, d, ab + row);
    }
    if (scores != nullptr) std::copy(ab, ab + count, scores + begin);
  }
  return total(sum);
}

// As many rows at a time as there are lanes.
template <class T>
double ensembles(const T* preds, const T* target, std::int64_t rows,
                 std::int64_t members) {
  const Double d;
  const Vector zero = hn::Zero(d);
  double errors[kFewMembers * hn::MaxLanes(d)];
  const auto size = static_cast<double>(members);
  Vector absolute = zero, spread = zero;
  for (std::int64_t begin = 0; begin < rows; begin += lanes()) {
    const std::int64_t count = std::min(lanes(), rows - begin);
    if (count < lanes()) std::fill_n(errors, members * lanes(), 0.0);
    for (std::int64_t row = 0; row < count; ++row) {
      const T* const from = preds + (begin + row) * members;
      const auto t = static_cast<double>(target[begin + row]);
      for (std::int64_t i = 0; i < members; ++i) {
        errors[i * lanes() + row] = static_cast<double>(from[i]) - t;
      }
    }
    const auto error = [&](std::int64_t i) HWY_ATTR {
      return hn::LoadU(d, errors + i * lanes());
    };
    // Two of the members are compared with all before them.
    Vector first = zero, second = zero;
    std::int64_t i = members % 2;
    if (i == 1) absolute = hn::Add(absolute, hn::Abs(error(0)));
    for (; i < members; i += 2) {
      const Vector a = error(i);
      const Vector b = error(i + 1);
      absolute = hn::Add(absolute, hn::Add(hn::Abs(a), hn::Abs(b)));
      for (std::int64_t j = 0; j < i; ++j) {
        const Vector other = error(j);
        first = hn::Add(first, hn::Abs(hn::Sub(a, other)));
        second = hn::Add(second, hn::Abs(hn::Sub(b, other)));
      }
      first = hn::Add(first, hn::Abs(hn::Sub(a, b)));
    }
    spread = hn::Add(spread, hn::Add(first, second));
  }
  return total(absolute) / size - total(spread) / (size * size);
}

template <class T>
std::optional<double> scores_of_kind(RowKind kind, const T* a, const T* b,
                                     std::int64_t rows, std::int64_t size,
                                     double* scores) {
  switch (kind) {
    case RowKind::kKL:
      return share_scores<KL>(a, b, rows, size, scores);
    case RowKind::kJensenShannon:
      return share_scores<JensenShannon>(a, b, rows, size, scores);
    case RowKind::kCosine:
      return cosine_scores(a, b, rows, size, scores);
  }
  return std::nullopt;
}

#define TALLY_DEFINE_ROW_KERNELS(Name, T)                                     \
  std::optional<double> scores_##Name(RowKind kind, const T* a, const T* b,   \
                                      std::int64_t rows, std::int64_t size,   \
                                      double* scores) {                       \
    return scores_of_kind(kind, a, b, rows, size, scores);                    \
  }                                                                           \
  double ensembles_##Name(const T* preds, const T* target, std::int64_t rows, \
                          std::int64_t members) {                             \
    return ensembles(preds, target, rows, members);                           \
  }
TALLY_DEFINE_ROW_KERNELS(Float, float)
TALLY_DEFINE_ROW_KERNELS(Double, double)
TALLY_DEFINE_ROW_KERNELS(Int64, std::int64_t)
#undef TALLY_DEFINE_ROW_KERNELS

}  // namespace tally::internal::regression::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::regression {

#define TALLY_EXPORT_ROW_KERNELS(Name, T)                                \
  HWY_EXPORT(scores_##Name);                                             \
  HWY_EXPORT(ensembles_##Name);                                          \
  std::optional<double> row_scores(RowKind kind, const T* a, const T* b, \
                                   std::int64_t rows, std::int64_t size, \
                                   double* scores) {                     \
    return HWY_DYNAMIC_DISPATCH(scores_##Name)(kind, a, b, rows, size,   \
                                               scores);                  \
  }                                                                      \
  double ensemble_score_sum(const T* preds, const T* target,             \
                            std::int64_t rows, std::int64_t members) {   \
    return HWY_DYNAMIC_DISPATCH(ensembles_##Name)(preds, target, rows,   \
                                                  members);              \
  }
TALLY_EXPORT_ROW_KERNELS(Float, float)
TALLY_EXPORT_ROW_KERNELS(Double, double)
TALLY_EXPORT_ROW_KERNELS(Int64, std::int64_t)
#undef TALLY_EXPORT_ROW_KERNELS

}  // namespace tally::internal::regression
#endif
