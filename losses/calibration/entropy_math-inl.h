// What entropy_kernels.cc computes of vectors of positions, compiled once per
// vector target: include after <hwy/foreach_target.h>.

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>

#include "tally/losses/calibration/entropy_kernels.h"
#include "tally/losses/common/tile_math-inl.h"

#if defined(TALLY_LOSSES_ENTROPY_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TALLY_LOSSES_ENTROPY_MATH_INL_H_
#undef TALLY_LOSSES_ENTROPY_MATH_INL_H_
#else
#define TALLY_LOSSES_ENTROPY_MATH_INL_H_
#endif

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

// Of the scores of `lanes` positions from i on.
template <class T>
struct Softmax {
  Vector<T> largest;
  // The sum of all e = exp(x - largest) but 1 of those that are: its digits are
  // those of the loss where the largest has the right class.
  Vector<T> others;
  Vector<T> total, log_total;

  // Keeps both in the block's memory, if there is any, and e in probabilities,
  // if it is to.
  HWY_NOINLINE Softmax(const ScoreBlock<T>& b, std::int64_t i, bool keeps_e) {
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
      if (keeps_e) hn::StoreU(e, d, b.probabilities + c * b.size + i);
      const auto is_largest = hn::Eq(score, largest);
      // 0, or NaN of infinities.
      others = hn::Add(others, hn::IfThenElse(is_largest, below, e));
      ties = hn::Add(ties, hn::IfThenElseZero(is_largest, one));
    }
    others = hn::Add(others, ties);
    if (b.kept) {
      hn::StoreU(largest, d, b.kept + i);
      hn::StoreU(others, d, b.kept + b.size + i);
    }
    finish();
  }

  // From the numbers that the first one kept.
  HWY_INLINE Softmax(const ScoreBlock<T>& b, std::int64_t i) {
    const Tag<T> d;
    largest = hn::LoadU(d, b.kept + i);
    others = hn::LoadU(d, b.kept + b.size + i);
    finish();
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

 private:
  HWY_INLINE void finish() {
    total = hn::Add(others, hn::Set(Tag<T>(), T(1)));
    log_total = log1p_or_nan<T>(others);
  }
};

// What the classes of `lanes` positions have.
template <class T>
struct Labeled {
  Vector<T> y;
  hn::Mask<Tag<T>> counts;
  Vector<T> score, e, weight;

  HWY_INLINE Labeled(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                     const Softmax<T>& softmax, std::int64_t i) {
    const Tag<T> d;
    y = hn::LoadU(d, b.target + i);
    counts = hn::Ge(y, hn::Zero(d));
    score = weight = hn::Zero(d);
    if (b.by_position || b.classes > kFewClasses) {
      look_up(b, rule, i);
    } else {
      for (std::int64_t c = 0; c < b.classes; ++c) {
        const auto is = hn::Eq(y, hn::Set(d, static_cast<T>(c)));
        score = hn::IfThenElse(
            is, hn::LoadU(d, b.scores + c * b.score_stride + i), score);
        weight = hn::IfThenElse(is, hn::Set(d, rule.weights[c]), weight);
      }
    }
    e = exp_or_nan<T>(hn::Sub(score, softmax.largest));
  }

 private:
  // Up to so many classes are compared with, rather than looked up.
  static constexpr std::int64_t kFewClasses = 8;

  HWY_INLINE void look_up(const ScoreBlock<T>& b, const EntropyRule<T>& rule,
                          std::int64_t i) {
    const Tag<T> d;
    HWY_ALIGN T scores[hn::MaxLanes(Tag<T>())] = {};
    HWY_ALIGN T weights[hn::MaxLanes(Tag<T>())] = {};
    for (std::int64_t lane = 0; lane < lanes<T>(); ++lane) {
      if (b.target[i + lane] < 0) continue;
      const auto c = static_cast<std::int64_t>(b.target[i + lane]);
      scores[lane] = b.scores[b.place(c, i + lane)];
      weights[lane] = rule.weights[c];
    }
    score = hn::Load(d, scores);
    weight = hn::Load(d, weights);
  }
};

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
