#include "tally/losses/calibration/entropy_kernels.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/calibration/entropy_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include "tally/losses/calibration/entropy_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

template <class T>
struct Sums {
  Vector<T> terms, weights;

  HWY_INLINE Sums() : terms(hn::Zero(Tag<T>())), weights(terms) {}

  HWY_INLINE void add(hn::Mask<Tag<T>> counts, Vector<T> weight, Vector<T> term,
                      Vector<T> share) {
    terms = hn::Add(terms, hn::IfThenElseZero(counts, hn::Mul(weight, term)));
    weights =
        hn::Add(weights, hn::IfThenElseZero(counts, hn::Mul(weight, share)));
  }
  HWY_INLINE void add_to(double* sums) const {
    sums[0] += static_cast<double>(sum<T>(terms));
    sums[1] += static_cast<double>(sum<T>(weights));
  }
};

// Where a position's class is all that has a term.
template <class T>
void add_of_classes(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                    Sums<T>& sums) {
  for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
    const Softmax<T> softmax(b, i, /*keeps_e=*/false);
    const Labeled<T> own(b, rule, softmax, i);
    sums.add(own.counts, own.weight,
             softmax.focal(own.score, own.e, rule.gamma).term,
             hn::Set(Tag<T>(), T(1)));
  }
}

// The gradients of `lanes` positions.
template <class T>
struct Slopes {
  Vector<T> largest, of_own;
  Vector<T> factor;  // of e, that of another class

  HWY_INLINE Slopes(const Softmax<T>& softmax, const Labeled<T>& own, T gamma,
                    T given) {
    const Vector<T> slope = hn::Mul(
        softmax.focal(own.score, own.e, gamma).slope,
        hn::Div(hn::Mul(own.weight, hn::Set(Tag<T>(), given)), softmax.total));
    largest = softmax.largest;
    of_own = hn::IfThenElseZero(
        own.counts, hn::Mul(slope, softmax.others_than(own.score, own.e)));
    factor = hn::Neg(slope);
  }
};

template <class T>
HWY_INLINE Vector<T> of_other(Vector<T> score, Vector<T> largest,
                              Vector<T> factor) {
  return hn::Mul(exp_or_nan<T>(hn::Sub(score, largest)), factor);
}

// Of the block's positions from i on, by position.
template <class T>
HWY_INLINE void put_rows(const ScoreBlock<T>& b, const Slopes<T>& slopes,
                         std::int64_t i, T* gradients, std::int64_t stride) {
  const Tag<T> d;
  HWY_ALIGN T factors[hn::MaxLanes(Tag<T>())], of_own[hn::MaxLanes(Tag<T>())];
  hn::Store(slopes.factor, d, factors);
  hn::Store(slopes.of_own, d, of_own);
  const std::int64_t count = std::min(lanes<T>(), b.count - i);
  for (std::int64_t lane = 0; lane < count; ++lane) {
    const T y = b.target[i + lane];
    T* const to = gradients + (i + lane) * stride;
    if (y < 0) {
      std::fill(to, to + b.classes, T(0));
      continue;
    }
    const T* const scores = b.scores + (i + lane) * b.score_stride;
    const Vector<T> largest = hn::Set(d, b.kept[i + lane]);
    const Vector<T> factor = hn::Set(d, factors[lane]);
    for (std::int64_t c = 0; c < b.classes; c += lanes<T>()) {
      const Vector<T> score = load<false>(scores + c, b.classes - c);
      store_in_row<T>(of_other<T>(score, largest, factor), to + c,
                      b.classes - c);
    }
    to[static_cast<std::int64_t>(y)] = of_own[lane];
  }
}

template <class T>
void gradients_of_classes(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                          T given, T* gradients, std::int64_t stride) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
    const Softmax<T> softmax(b, i);
    const Labeled<T> own(b, rule, softmax, i);
    const Slopes<T> slopes(softmax, own, rule.gamma, given);
    if (b.by_position) {
      put_rows(b, slopes, i, gradients, stride);
      continue;
    }
    for (std::int64_t c = 0; c < b.classes; ++c) {
      const Vector<T> score = hn::LoadU(d, b.scores + c * b.score_stride + i);
      const Vector<T> gradient = hn::IfThenElse(
          hn::Eq(own.y, hn::Set(d, static_cast<T>(c))), slopes.of_own,
          of_other<T>(score, slopes.largest, slopes.factor));
      hn::StoreU(hn::IfThenElseZero(own.counts, gradient), d,
                 gradients + c * stride + i);
    }
  }
}

// The target of a class, where it counts and with what factor.
template <class T>
struct ClassTarget {
  Vector<T> y, q;
  hn::Mask<Tag<T>> counts;

  HWY_INLINE ClassTarget(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                         std::int64_t c, std::int64_t i) {
    const Tag<T> d;
    y = hn::LoadU(d, b.target + (b.index ? 0 : c * b.target_stride) + i);
    counts = hn::Ge(y, hn::Zero(d));
    if (b.index) {
      y = hn::IfThenElseZero(hn::Eq(y, hn::Set(d, static_cast<T>(c))),
                             hn::Set(d, T(1)));
    }
    q = hn::MulAdd(y, hn::Set(d, rule.kept), hn::Set(d, rule.spread));
  }
};

// 0 without q, also if p is 0.
template <class T>
HWY_INLINE Vector<T> part(Vector<T> q, Vector<T> x) {
  return hn::IfThenElseZero(hn::Gt(q, hn::Zero(Tag<T>())), hn::Mul(q, x));
}

template <class T>
void add_of_softmax(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                    Sums<T>& sums) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
    const Softmax<T> softmax(b, i, /*keeps_e=*/true);
    for (std::int64_t c = 0; c < b.classes; ++c) {
      const ClassTarget<T> target(b, rule, c, i);
      const Focal<T> focal = softmax.focal(
          hn::LoadU(d, b.scores + c * b.score_stride + i),
          hn::LoadU(d, b.probabilities + c * b.size + i), rule.gamma);
      sums.add(target.counts, hn::Set(d, rule.weights[c]),
               part<T>(target.q, focal.term), target.y);
    }
  }
}

template <class T>
void gradients_of_softmax(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                          T given, T* gradients, std::int64_t stride) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
    const Softmax<T> softmax(b, i);
    Vector<T> all = hn::Zero(d);
    for (std::int64_t c = 0; c < b.classes; ++c) {
      const ClassTarget<T> target(b, rule, c, i);
      const Vector<T> score = hn::LoadU(d, b.scores + c * b.score_stride + i);
      const Vector<T> e = exp_or_nan<T>(hn::Sub(score, softmax.largest));
      hn::StoreU(e, d, b.probabilities + c * b.size + i);
      const Focal<T> focal = softmax.focal(score, e, rule.gamma);
      const Vector<T> slope = hn::Mul(hn::Set(d, rule.weights[c] * given),
                                      part<T>(target.q, focal.slope));
      all = hn::Add(all, slope);
      hn::StoreU(slope, d, gradients + c * stride + i);
    }
    all = hn::Div(all, softmax.total);
    for (std::int64_t c = 0; c < b.classes; ++c) {
      T* const to = gradients + c * stride + i;
      const Vector<T> e = hn::LoadU(d, b.probabilities + c * b.size + i);
      hn::StoreU(hn::IfThenElseZero(ClassTarget<T>(b, rule, c, i).counts,
                                    hn::NegMulAdd(e, all, hn::LoadU(d, to))),
                 d, to);
    }
  }
}

// Of a score: the terms of p and of 1 - p.
template <class T>
struct Sigmoid {
  ClassTarget<T> target;
  Vector<T> p, rest;
  Focal<T> of_1, of_0;

  struct Parts {
    Vector<T> p, rest, log_p, log_rest;

    HWY_NOINLINE explicit Parts(Vector<T> x) {
      const Tag<T> d;
      const Vector<T> one = hn::Set(d, T(1)), zero = hn::Zero(d);
      const Vector<T> e = exp_or_nan<T>(hn::Neg(hn::Abs(x)));
      const Vector<T> softplus = log1p_or_nan<T>(e);
      const Vector<T> large = hn::Div(one, hn::Add(one, e));
      const Vector<T> small = hn::Mul(e, large);
      const auto negative = hn::Lt(x, zero);
      p = hn::IfThenElse(negative, small, large);
      rest = hn::IfThenElse(negative, large, small);
      log_p = hn::Sub(hn::IfThenElseZero(negative, x), softplus);
      log_rest = hn::Sub(hn::IfThenZeroElse(negative, hn::Neg(x)), softplus);
    }
  };

  HWY_INLINE Sigmoid(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                     std::int64_t c, std::int64_t i)
      : Sigmoid(b, rule, c, i,
                Parts(hn::LoadU(Tag<T>(), b.scores + c * b.score_stride + i))) {
  }

 private:
  HWY_INLINE Sigmoid(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                     std::int64_t c, std::int64_t i, const Parts& parts)
      : target(b, rule, c, i),
        p(parts.p),
        rest(parts.rest),
        of_1(parts.log_p, parts.p, parts.rest, rule.gamma),
        of_0(parts.log_rest, parts.rest, parts.p, rule.gamma) {}
};

template <class T>
void add_of_sigmoids(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                     Sums<T>& sums) {
  const Tag<T> d;
  const Vector<T> one = hn::Set(d, T(1));
  for (std::int64_t c = 0; c < b.classes; ++c) {
    for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
      const Sigmoid<T> each(b, rule, c, i);
      const Vector<T> q = each.target.q;
      sums.add(each.target.counts, hn::Set(d, rule.weights[c]),
               hn::MulAdd(hn::Set(d, rule.of_1), part<T>(q, each.of_1.term),
                          hn::Mul(hn::Set(d, rule.of_0),
                                  part<T>(hn::Sub(one, q), each.of_0.term))),
               one);
    }
  }
}

template <class T>
void gradients_of_sigmoids(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                           T given, T* gradients, std::int64_t stride) {
  const Tag<T> d;
  const Vector<T> one = hn::Set(d, T(1));
  for (std::int64_t c = 0; c < b.classes; ++c) {
    const Vector<T> weight = hn::Set(d, rule.weights[c] * given);
    for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
      const Sigmoid<T> each(b, rule, c, i);
      const Vector<T> q = each.target.q;
      const Vector<T> of_1 =
          hn::Mul(hn::Set(d, rule.of_1), part<T>(q, each.of_1.slope));
      const Vector<T> of_0 = hn::Mul(hn::Set(d, rule.of_0),
                                     part<T>(hn::Sub(one, q), each.of_0.slope));
      const Vector<T> slope =
          hn::MulSub(of_1, each.rest, hn::Mul(of_0, each.p));
      hn::StoreU(hn::IfThenElseZero(each.target.counts, hn::Mul(weight, slope)),
                 d, gradients + c * stride + i);
    }
  }
}

template <class T>
void add_any(const ScoreBlock<T>& b, const EntropyRule<T>& rule, double* sums) {
  Sums<T> own;
  if (!rule.softmax) {
    add_of_sigmoids(b, rule, own);
  } else if (rule.is_of_class(b.index)) {
    add_of_classes(b, rule, own);
  } else {
    add_of_softmax(b, rule, own);
  }
  own.add_to(sums);
}

template <class T>
void gradients_of_any(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                      T given, T* gradients, std::int64_t stride) {
  if (!rule.softmax) {
    gradients_of_sigmoids(b, rule, given, gradients, stride);
  } else if (rule.is_of_class(b.index)) {
    gradients_of_classes(b, rule, given, gradients, stride);
  } else {
    gradients_of_softmax(b, rule, given, gradients, stride);
  }
}

// One function for each type, as dispatch needs.
void entropy_f32(const ScoreBlock<float>& b, const EntropyRule<float>& rule,
                 double* sums) {
  add_any(b, rule, sums);
}
void entropy_f64(const ScoreBlock<double>& b, const EntropyRule<double>& rule,
                 double* sums) {
  add_any(b, rule, sums);
}
void gradients_f32(const ScoreBlock<float>& b, const EntropyRule<float>& rule,
                   float given, float* gradients, std::int64_t stride) {
  gradients_of_any(b, rule, given, gradients, stride);
}
void gradients_f64(const ScoreBlock<double>& b, const EntropyRule<double>& rule,
                   double given, double* gradients, std::int64_t stride) {
  gradients_of_any(b, rule, given, gradients, stride);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(entropy_f32);
HWY_EXPORT(entropy_f64);
HWY_EXPORT(gradients_f32);
HWY_EXPORT(gradients_f64);

void add_entropy(const ScoreBlock<float>& block, const EntropyRule<float>& rule,
                 double* sums) {
  HWY_DYNAMIC_DISPATCH(entropy_f32)(block, rule, sums);
}
void add_entropy(const ScoreBlock<double>& block,
                 const EntropyRule<double>& rule, double* sums) {
  HWY_DYNAMIC_DISPATCH(entropy_f64)(block, rule, sums);
}
void entropy_gradients(const ScoreBlock<float>& block,
                       const EntropyRule<float>& rule, float given,
                       float* gradients, std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(gradients_f32)(block, rule, given, gradients, stride);
}
void entropy_gradients(const ScoreBlock<double>& block,
                       const EntropyRule<double>& rule, double given,
                       double* gradients, std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(gradients_f64)(block, rule, given, gradients, stride);
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
