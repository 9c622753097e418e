#include "tally/metrics/audio/kernels/signal_kernels.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/audio/kernels/signal_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h, both.
#include <hwy/highway.h>

#include "tally/metrics/common/load_wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::audio::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using internal::HWY_NAMESPACE::load_wide;

using Double = hn::ScalableTag<double>;
using Vector = hn::Vec<Double>;

constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Double()));

HWY_INLINE double total(const Vector v) {
  return hn::GetLane(hn::SumOfLanes(Double(), v));
}

HWY_INLINE void store(const Vector values, float* to) {
  const hn::Rebind<float, Double> d;
  hn::StoreU(hn::DemoteTo(d, values), d, to);
}
HWY_INLINE void store(const Vector values, double* to) {
  hn::StoreU(values, Double(), to);
}

template <class T>
double value_sum(const T* values, std::int64_t count) {
  const Double d;
  Vector a = hn::Zero(d), b = a;
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    a = hn::Add(a, load_wide(d, values + i));
    b = hn::Add(b, load_wide(d, values + i + kLanes));
  }
  double sum = total(hn::Add(a, b));
  for (; i < count; ++i) sum += values[i];
  return sum;
}

struct VectorSums {
  Vector target, products, noise;

  HWY_INLINE void add(const Vector p, const Vector t, const Vector scale) {
    const Vector difference = hn::MulSub(scale, t, p);
    target = hn::MulAdd(t, t, target);
    products = hn::MulAdd(p, t, products);
    noise = hn::MulAdd(difference, difference, noise);
  }
};

template <class T>
ChannelSums sums(const Channel<T>& channel, const Means& means, double scale) {
  const Double d;
  const Vector zero = hn::Zero(d), factor = hn::Set(d, scale);
  const Vector p_mean = hn::Set(d, means.preds);
  const Vector t_mean = hn::Set(d, means.target);
  VectorSums a{zero, zero, zero}, b = a;
  const auto add = [&](std::int64_t at, VectorSums& to) HWY_ATTR {
    to.add(hn::Sub(load_wide(d, channel.preds + at), p_mean),
           hn::Sub(load_wide(d, channel.target + at), t_mean), factor);
  };
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= channel.count; i += 2 * kLanes) {
    add(i, a);
    add(i + kLanes, b);
  }
  ChannelSums found{total(hn::Add(a.target, b.target)),
                    total(hn::Add(a.products, b.products)),
                    total(hn::Add(a.noise, b.noise))};
  for (; i < channel.count; ++i) {
    const double p = channel.preds[i] - means.preds;
    const double t = channel.target[i] - means.target;
    const double difference = scale * t - p;
    found += {t * t, p * t, difference * difference};
  }
  return found;
}

template <class T>
void combined(const Channel<T>& channel, const Means& means, double by_preds,
              double by_target, T* to) {
  const Double d;
  const Vector p_mean = hn::Set(d, means.preds);
  const Vector t_mean = hn::Set(d, means.target);
  const Vector x = hn::Set(d, by_preds), y = hn::Set(d, by_target);
  std::int64_t i = 0;
  for (; i + kLanes <= channel.count; i += kLanes) {
    const Vector p = hn::Sub(load_wide(d, channel.preds + i), p_mean);
    const Vector t = hn::Sub(load_wide(d, channel.target + i), t_mean);
    store(hn::MulAdd(x, p, hn::Mul(y, t)), to + i);
  }
  for (; i < channel.count; ++i) {
    to[i] = static_cast<T>(by_preds * (channel.preds[i] - means.preds) +
                           by_target * (channel.target[i] - means.target));
  }
}

#define TALLY_DEFINE_SIGNAL_KERNELS(Name, T)                             \
  double sum_##Name(const T* values, std::int64_t count) {               \
    return value_sum(values, count);                                     \
  }                                                                      \
  ChannelSums sums_##Name(const Channel<T>& channel, const Means& means, \
                          double scale) {                                \
    return sums(channel, means, scale);                                  \
  }                                                                      \
  void combine_##Name(const Channel<T>& channel, const Means& means,     \
                      double by_preds, double by_target, T* to) {        \
    combined(channel, means, by_preds, by_target, to);                   \
  }
TALLY_DEFINE_SIGNAL_KERNELS(Float, float)
TALLY_DEFINE_SIGNAL_KERNELS(Double, double)
#undef TALLY_DEFINE_SIGNAL_KERNELS

}  // namespace tally::internal::audio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::audio {

#define TALLY_EXPORT_SIGNAL_KERNELS(Name, T)                                   \
  HWY_EXPORT(sum_##Name);                                                      \
  HWY_EXPORT(sums_##Name);                                                     \
  HWY_EXPORT(combine_##Name);                                                  \
  double sum_of(const T* values, std::int64_t count) {                         \
    return HWY_DYNAMIC_DISPATCH(sum_##Name)(values, count);                    \
  }                                                                            \
  ChannelSums channel_sums(const Channel<T>& channel, const Means& means,      \
                           double scale) {                                     \
    return HWY_DYNAMIC_DISPATCH(sums_##Name)(channel, means, scale);           \
  }                                                                            \
  void combine(const Channel<T>& channel, const Means& means, double by_preds, \
               double by_target, T* to) {                                      \
    HWY_DYNAMIC_DISPATCH(combine_##Name)                                       \
    (channel, means, by_preds, by_target, to);                                 \
  }
TALLY_EXPORT_SIGNAL_KERNELS(Float, float)
TALLY_EXPORT_SIGNAL_KERNELS(Double, double)
#undef TALLY_EXPORT_SIGNAL_KERNELS

}  // namespace tally::internal::audio
#endif
