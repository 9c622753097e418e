#include "tally/losses/soft_counts/soft_counts_kernels.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/soft_counts/soft_counts_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include "tally/losses/common/tile_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

// The probabilities of `lanes` positions from i on.
template <class T>
HWY_INLINE void softmax(const ScoreBlock<T>& b, std::int64_t i) {
  const Tag<T> d;
  const T* const x = b.scores + i;
  T* const p = b.probabilities + i;
  Vector<T> largest = hn::LoadU(d, x);
  for (std::int64_t c = 1; c < b.classes; ++c) {
    largest = hn::Max(largest, hn::LoadU(d, x + c * b.score_stride));
  }
  Vector<T> total = hn::Zero(d);
  for (std::int64_t c = 0; c < b.classes; ++c) {
    const Vector<T> e =
        exp_or_nan<T>(hn::Sub(hn::LoadU(d, x + c * b.score_stride), largest));
    total = hn::Add(total, e);
    hn::StoreU(e, d, p + c * b.size);
  }
  const Vector<T> factor = hn::Div(hn::Set(d, T(1)), total);
  for (std::int64_t c = 0; c < b.classes; ++c) {
    hn::StoreU(hn::Mul(hn::LoadU(d, p + c * b.size), factor), d,
               p + c * b.size);
  }
}

template <class T>
HWY_INLINE void sigmoid(const ScoreBlock<T>& b, std::int64_t i) {
  const Tag<T> d;
  const Vector<T> one = hn::Set(d, T(1));
  for (std::int64_t c = 0; c < b.classes; ++c) {
    const Vector<T> x = hn::LoadU(d, b.scores + c * b.score_stride + i);
    const Vector<T> e = exp_or_nan<T>(hn::Neg(hn::Abs(x)));
    const Vector<T> above = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
    hn::StoreU(hn::Div(above, hn::Add(one, e)), d,
               b.probabilities + c * b.size + i);
  }
}

template <class T>
void fill_probabilities(const ScoreBlock<T>& b, const ScoreRule& rule) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
    if (rule.activation == Activation::kSoftmax) {
      softmax(b, i);
    } else if (rule.activation == Activation::kSigmoid) {
      sigmoid(b, i);
    } else {
      for (std::int64_t c = 0; c < b.classes; ++c) {
        hn::StoreU(hn::LoadU(d, b.scores + c * b.score_stride + i), d,
                   b.probabilities + c * b.size + i);
      }
    }
  }
}

// The target of a class: its value where it counts.
template <class T, bool kIndex>
struct Label {
  Vector<T> value;
  hn::Mask<Tag<T>> counts;

  HWY_INLINE Label(const ScoreBlock<T>& b, std::int64_t c, std::int64_t i) {
    const Tag<T> d;
    const Vector<T> y =
        hn::LoadU(d, b.target + (kIndex ? 0 : c * b.target_stride) + i);
    counts = hn::Ge(y, hn::Zero(d));
    value = kIndex
                ? hn::IfThenElseZero(hn::Eq(y, hn::Set(d, static_cast<T>(c))),
                                     hn::Set(d, T(1)))
                : y;
  }
};

template <class T, bool kIndex, bool kMin>
void add_counts(const ScoreBlock<T>& b, const ScoreRule& rule, double* sums) {
  const Tag<T> d;
  fill_probabilities(b, rule);
  for (std::int64_t c = 0; c < b.classes; ++c) {
    Vector<T> both = hn::Zero(d), preds = both, target = both, count = both;
    for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
      const Label<T, kIndex> y(b, c, i);
      const Vector<T> p = hn::LoadU(d, b.probabilities + c * b.size + i);
      const Vector<T> product =
          kMin ? hn::IfThenElse(hn::Lt(y.value, p), y.value, p)
               : hn::Mul(p, y.value);
      both = hn::Add(both, hn::IfThenElseZero(y.counts, product));
      preds = hn::Add(preds, hn::IfThenElseZero(y.counts, p));
      target = hn::Add(target, hn::IfThenElseZero(y.counts, y.value));
      count = hn::Add(count, hn::IfThenElseZero(y.counts, hn::Set(d, T(1))));
    }
    sums[c] += static_cast<double>(sum<T>(both));
    sums[b.classes + c] += static_cast<double>(sum<T>(preds));
    sums[2 * b.classes + c] += static_cast<double>(sum<T>(target));
    sums[3 * b.classes + c] += static_cast<double>(sum<T>(count));
  }
}

// The gradient of a probability.
template <class T, bool kIndex, bool kMin>
HWY_INLINE Vector<T> slope(const ScoreBlock<T>& b, const T* both,
                           const T* preds, std::int64_t c, std::int64_t i) {
  const Tag<T> d;
  const Label<T, kIndex> y(b, c, i);
  Vector<T> factor = y.value;
  if (kMin) {
    const Vector<T> p = hn::LoadU(d, b.probabilities + c * b.size + i);
    factor = hn::IfThenElse(
        hn::Eq(p, y.value), y.value,
        hn::IfThenElseZero(hn::Lt(p, y.value), hn::Set(d, T(1))));
  }
  return hn::IfThenElseZero(
      y.counts, hn::MulAdd(factor, hn::Set(d, both[c]), hn::Set(d, preds[c])));
}

template <class T, bool kIndex, bool kMin>
void gradients_of(const ScoreBlock<T>& b, const ScoreRule& rule, const T* both,
                  const T* preds, T* gradients, std::int64_t stride) {
  const Tag<T> d;
  fill_probabilities(b, rule);
  for (std::int64_t i = 0; i < b.size; i += lanes<T>()) {
    Vector<T> mean = hn::Zero(d);
    if (rule.activation == Activation::kSoftmax) {
      for (std::int64_t c = 0; c < b.classes; ++c) {
        mean = hn::MulAdd(hn::LoadU(d, b.probabilities + c * b.size + i),
                          slope<T, kIndex, kMin>(b, both, preds, c, i), mean);
      }
    }
    for (std::int64_t c = 0; c < b.classes; ++c) {
      const Vector<T> p = hn::LoadU(d, b.probabilities + c * b.size + i);
      Vector<T> gradient = slope<T, kIndex, kMin>(b, both, preds, c, i);
      if (rule.activation == Activation::kSoftmax) {
        gradient = hn::Mul(p, hn::Sub(gradient, mean));
      } else if (rule.activation == Activation::kSigmoid) {
        gradient = hn::Mul(gradient, hn::Mul(p, hn::Sub(hn::Set(d, T(1)), p)));
      }
      // Also if the score is NaN where nothing counts.
      const Label<T, kIndex> y(b, c, i);
      hn::StoreU(hn::IfThenElseZero(y.counts, gradient), d,
                 gradients + c * stride + i);
    }
  }
}

template <class T>
void add_any(const ScoreBlock<T>& b, const ScoreRule& rule, double* sums) {
  // A class is there or not: the product of labels is their minimum.
  if (b.index) return add_counts<T, true, false>(b, rule, sums);
  if (rule.soft_labels) return add_counts<T, false, true>(b, rule, sums);
  add_counts<T, false, false>(b, rule, sums);
}

template <class T>
void gradients_of_any(const ScoreBlock<T>& b, const ScoreRule& rule,
                      const T* both, const T* preds, T* gradients,
                      std::int64_t stride) {
  if (b.index) {
    gradients_of<T, true, false>(b, rule, both, preds, gradients, stride);
  } else if (rule.soft_labels) {
    gradients_of<T, false, true>(b, rule, both, preds, gradients, stride);
  } else {
    gradients_of<T, false, false>(b, rule, both, preds, gradients, stride);
  }
}

// One function for each type, as dispatch needs.
void counts_f32(const ScoreBlock<float>& b, const ScoreRule& rule,
                double* sums) {
  add_any(b, rule, sums);
}
void counts_f64(const ScoreBlock<double>& b, const ScoreRule& rule,
                double* sums) {
  add_any(b, rule, sums);
}
void gradients_f32(const ScoreBlock<float>& b, const ScoreRule& rule,
                   const float* both, const float* preds, float* gradients,
                   std::int64_t stride) {
  gradients_of_any(b, rule, both, preds, gradients, stride);
}
void gradients_f64(const ScoreBlock<double>& b, const ScoreRule& rule,
                   const double* both, const double* preds, double* gradients,
                   std::int64_t stride) {
  gradients_of_any(b, rule, both, preds, gradients, stride);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(counts_f32);
HWY_EXPORT(counts_f64);
HWY_EXPORT(gradients_f32);
HWY_EXPORT(gradients_f64);

void add_soft_counts(const ScoreBlock<float>& block, const ScoreRule& rule,
                     double* sums) {
  HWY_DYNAMIC_DISPATCH(counts_f32)(block, rule, sums);
}
void add_soft_counts(const ScoreBlock<double>& block, const ScoreRule& rule,
                     double* sums) {
  HWY_DYNAMIC_DISPATCH(counts_f64)(block, rule, sums);
}
void soft_count_gradients(const ScoreBlock<float>& block, const ScoreRule& rule,
                          const float* both, const float* preds,
                          float* gradients, std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(gradients_f32)
  (block, rule, both, preds, gradients, stride);
}
void soft_count_gradients(const ScoreBlock<double>& block,
                          const ScoreRule& rule, const double* both,
                          const double* preds, double* gradients,
                          std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(gradients_f64)
  (block, rule, both, preds, gradients, stride);
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
