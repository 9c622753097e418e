#include "tally/losses/calibration/entropy_kernels.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/calibration/entropy_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include "tally/losses/common/tile_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

// Functions of their own, not inlined, cost little and compile far faster.
template <class T>
HWY_NOINLINE Vector<T> power_of(const Vector<T> base, const T gamma) {
  const Tag<T> d;
  return exp_up_to_one<T>(hn::Mul(hn::Set(d, gamma), hn::Log(d, base)));
}

template <class T>
HWY_NOINLINE Vector<T> log1p_or_nan(const Vector<T> x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Log1p(Tag<T>(), x));
}

// -log(p) (1 - p)^gamma and its derivative by log p, finite where p is 1.
template <class T>
struct Focal {
  Vector<T> term, slope;

  HWY_INLINE Focal(Vector<T> log_p, Vector<T> p, Vector<T> rest, T gamma) {
    const Tag<T> d;
    term = hn::Neg(log_p);
    slope = hn::Set(d, T(-1));
    if (gamma == 0) return;
    // Below, the power has no derivative; its factor log p is 0 there.
    const Vector<T> base = hn::Max(rest, hn::Set(d, T(1e-30)));
    const Vector<T> power = gamma == 2   ? hn::Mul(base, base)
                            : gamma == 1 ? base
                                         : power_of<T>(base, gamma);
    term = hn::Mul(term, power);
    slope = hn::Mul(hn::MulSub(hn::Mul(hn::Set(d, gamma), log_p), p, base),
                    hn::Div(power, base));
  }
};

// Of the scores of `lanes` positions from i on, where e = exp(x - largest) are
// put into probabilities.
template <class T>
struct Softmax {
  Vector<T> largest;
  // The sum of all e but 1 of those that are: its digits are those of the loss
  // where the largest has the right class.
  Vector<T> others;
  Vector<T> total, log_total;

  HWY_NOINLINE Softmax(const ScoreBlock<T>& b, std::int64_t i) {
    const Tag<T> d;
    const T* const x = b.scores + i;
    const Vector<T> one = hn::Set(d, T(1));
    largest = hn::LoadU(d, x);
    for (std::int64_t c = 1; c < b.classes; ++c) {
      largest = hn::Max(largest, hn::LoadU(d, x + c * b.score_stride));
    }
    Vector<T> ties = hn::Neg(one);
    others = hn::Zero(d);
    for (std::int64_t c = 0; c < b.classes; ++c) {
      const Vector<T> score = hn::LoadU(d, x + c * b.score_stride);
      const Vector<T> below = hn::Sub(score, largest);
      const Vector<T> e = exp_or_nan<T>(below);
      hn::StoreU(e, d, b.probabilities + c * b.size + i);
      const auto is_largest = hn::Eq(score, largest);
      // 0, or NaN of infinities.
      others = hn::Add(others, hn::IfThenElse(is_largest, below, e));
      ties = hn::Add(ties, hn::IfThenElseZero(is_largest, one));
    }
    others = hn::Add(others, ties);
    total = hn::Add(others, one);
    log_total = hn::IfThenElse(hn::IsNaN(others), others, hn::Log1p(d, others));
  }

  HWY_INLINE Vector<T> others_than(Vector<T> score, Vector<T> e) const {
    return hn::IfThenElse(hn::Eq(score, largest), others, hn::Sub(total, e));
  }
  HWY_INLINE Focal<T> focal(Vector<T> score, Vector<T> e, T gamma) const {
    const Vector<T> scale = hn::Div(hn::Set(Tag<T>(), T(1)), total);
    return Focal<T>(hn::Sub(hn::Sub(score, largest), log_total),
                    hn::Mul(e, scale), hn::Mul(others_than(score, e), scale),
                    gamma);
  }
};

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

// What a position's class has: its score, e and weight.
template <class T>
struct Labeled {
  Vector<T> score, e, weight;

  HWY_INLINE Labeled(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                     Vector<T> y, std::int64_t i) {
    const Tag<T> d;
    score = e = weight = hn::Zero(d);
    for (std::int64_t c = 0; c < b.classes; ++c) {
      const auto is = hn::Eq(y, hn::Set(d, static_cast<T>(c)));
      score = hn::IfThenElse(
          is, hn::LoadU(d, b.scores + c * b.score_stride + i), score);
      e = hn::IfThenElse(is, hn::LoadU(d, b.probabilities + c * b.size + i), e);
      weight = hn::IfThenElse(is, hn::Set(d, rule.weights[c]), weight);
    }
  }
};

// Where a position's class is all that has a term.
template <class T>
void add_of_classes(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                    Sums<T>& sums) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
    const Vector<T> y = hn::LoadU(d, b.target + i);
    const auto counts = hn::Ge(y, hn::Zero(d));
    const Softmax<T> softmax(b, i);
    const Labeled<T> own(b, rule, y, i);
    const Focal<T> focal = softmax.focal(own.score, own.e, rule.gamma);
    sums.add(counts, own.weight, focal.term, hn::Set(d, T(1)));
  }
}

template <class T>
void gradients_of_classes(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                          T given, T* gradients, std::int64_t stride) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
    const Vector<T> y = hn::LoadU(d, b.target + i);
    const auto counts = hn::Ge(y, hn::Zero(d));
    const Softmax<T> softmax(b, i);
    const Labeled<T> own(b, rule, y, i);
    const Vector<T> slope =
        hn::Mul(softmax.focal(own.score, own.e, rule.gamma).slope,
                hn::Div(hn::Mul(own.weight, hn::Set(d, given)), softmax.total));
    const Vector<T> of_own =
        hn::Mul(slope, softmax.others_than(own.score, own.e));
    const Vector<T> of_others = hn::Neg(slope);
    for (std::int64_t c = 0; c < b.classes; ++c) {
      const Vector<T> e = hn::LoadU(d, b.probabilities + c * b.size + i);
      const auto is = hn::Eq(y, hn::Set(d, static_cast<T>(c)));
      const Vector<T> gradient =
          hn::IfThenElse(is, of_own, hn::Mul(e, of_others));
      hn::StoreU(hn::IfThenElseZero(counts, gradient), d,
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
    const Softmax<T> softmax(b, i);
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
      const Focal<T> focal = softmax.focal(
          hn::LoadU(d, b.scores + c * b.score_stride + i),
          hn::LoadU(d, b.probabilities + c * b.size + i), rule.gamma);
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
  } else if (b.index && rule.spread == 0) {
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
  } else if (b.index && rule.spread == 0) {
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
