#include "tally/metrics/audio/states/intelligibility.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tally/metrics/audio/kernels/active_frames.h"
#include "tally/metrics/audio/kernels/fourier_transform.h"
#include "tally/metrics/audio/kernels/resampler.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/one_thread_each.h"
#include "tally/metrics/common/tensor_of.h"

namespace tally::internal::audio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr std::int64_t kRate = 10000;
constexpr std::int64_t kTransform = 512;
// Frames that are compared together.
constexpr std::int64_t kSegment = 30;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Of signals that are too short.
constexpr double kTooShort = 1e-5;
// A band of the estimate counts up to 1 + 10^(15 / 20) times the reference's.
const double kClip = 1 + std::pow(10, 15.0 / 20);
// Third octaves from 150 Hz on, as bins of the transform.
constexpr std::int64_t kBands = 15;
constexpr std::int64_t kEdges[kBands + 1] = {
    7, 9, 11, 14, 17, 22, 27, 34, 43, 55, 69, 87, 109, 138, 174, 219};

// Of a signal [T]; with `backward` the adjoint, to `size` values.
struct Resampled : Function<Resampled> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values,
                            std::int64_t rate, bool backward,
                            std::int64_t size) {
    context->saved_data["rate"] = rate;
    context->saved_data["backward"] = backward;
    context->saved_data["size"] = values.size(0);
    return of(values, Resampler(rate, kRate), backward, size);
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    return {apply(gradients[0], context->saved_data["rate"].toInt(),
                  !context->saved_data["backward"].toBool(),
                  context->saved_data["size"].toInt()),
            at::Tensor(), at::Tensor(), at::Tensor()};
  }
  static at::Tensor of(const at::Tensor& values, const Resampler& resampler,
                       bool backward, std::int64_t size) {
    const at::Tensor plain = values.detach().cpu().contiguous();
    at::Tensor result = at::zeros({size}, at::kDouble);
    auto* const data = result.mutable_data_ptr<double>();
    if (backward) {
      resampler.backward(plain.const_data_ptr<double>(), size, data);
    } else {
      resampler.resample(plain.const_data_ptr<double>(), plain.size(0), data);
    }
    return result.to(values.device());
  }
};

// The gradient is 0 where the root is.
at::Tensor root(const at::Tensor& value) {
  const at::Tensor zero = value.detach().eq(0);
  return value.masked_fill(zero, 1).sqrt().masked_fill(zero, 0);
}

at::Tensor norm(const at::Tensor& values, std::int64_t dim) {
  return root(values.square().sum({dim}, /*keepdim=*/true));
}

at::Tensor less_mean(const at::Tensor& values, std::int64_t dim) {
  return values.sub(values.mean({dim}, /*keepdim=*/true));
}

// Divided by their norm; 0 stays 0.
at::Tensor unit(const at::Tensor& values, std::int64_t dim) {
  const at::Tensor length = norm(values, dim);
  return values.div(length.masked_fill(length.detach().eq(0), 1));
}

at::Tensor frames_of(const at::Tensor& signal, std::int64_t count,
                     const at::Tensor& window) {
  return signal.unfold(0, kFrame, kHop).narrow(0, 0, count).mul(window);
}

// Frames [K, 256], each half over the one before: [(K + 1) 128].
at::Tensor overlapped(const at::Tensor& frames) {
  const at::Tensor nothing = at::zeros({1, kHop}, frames.options());
  const auto half = [&](std::int64_t begin) {
    return frames.narrow(1, begin, kHop);
  };
  return at::cat({half(0), nothing})
      .add(at::cat({nothing, half(kHop)}))
      .reshape({-1});
}

// The transform of a frame: its even and odd values, as real and imaginary
// parts, are transformed, and then put together.
class FrameTransform {
 public:
  FrameTransform() : half_(kTransform / 2), turns_(kTransform / 2) {
    for (std::int64_t k = 0; k < kTransform / 2; ++k) {
      const double angle = -2 * kPi * static_cast<double>(k) / kTransform;
      turns_.re[k] = std::cos(angle);
      turns_.im[k] = std::sin(angle);
    }
  }

  // The squared magnitudes of the bands' bins; the others are left.
  void powers(const double* frame, ComplexValues& values, ComplexValues& work,
              double* powers) const {
    values.re.assign(kTransform / 2, 0);
    values.im.assign(kTransform / 2, 0);
    for (std::int64_t i = 0; i < kFrame / 2; ++i) {
      values.re[i] = frame[2 * i];
      values.im[i] = frame[2 * i + 1];
    }
    half_.transform(values, work);
    for (std::int64_t k = kEdges[0]; k < kEdges[kBands]; ++k) {
      const std::int64_t mirror = kTransform / 2 - k;
      const double even_re = 0.5 * (values.re[k] + values.re[mirror]);
      const double even_im = 0.5 * (values.im[k] - values.im[mirror]);
      const double odd_re = 0.5 * (values.im[k] + values.im[mirror]);
      const double odd_im = 0.5 * (values.re[mirror] - values.re[k]);
      const double re =
          even_re + (turns_.re[k] * odd_re - turns_.im[k] * odd_im);
      const double im =
          even_im + (turns_.re[k] * odd_im + turns_.im[k] * odd_re);
      powers[k] = re * re + im * im;
    }
  }

 private:
  FourierTransform half_;
  ComplexValues turns_;
};

// Of frames [K, 256], [K, bins].
at::Tensor powers_of(const at::Tensor& frames) {
  if (!frames.is_cpu() || frames.requires_grad()) {
    return at::view_as_real(at::fft_rfft(frames, kTransform)).square().sum({2});
  }
  // The rounding of LibTorch's transform depends on the number of threads.
  static const FrameTransform transform;
  const at::Tensor plain = frames.contiguous();
  at::Tensor powers = at::zeros({frames.size(0), kEdges[kBands]}, at::kDouble);
  const auto* const from = plain.const_data_ptr<double>();
  auto* const to = powers.mutable_data_ptr<double>();
  ComplexValues values, work;
  for (std::int64_t i = 0; i < frames.size(0); ++i) {
    transform.powers(from + i * kFrame, values, work, to + i * kEdges[kBands]);
  }
  return powers;
}

// Magnitudes of the bands, [15, frames].
at::Tensor bands_of(const at::Tensor& frames) {
  const at::Tensor power = powers_of(frames);
  std::vector<at::Tensor> bands;
  for (std::int64_t i = 0; i < kBands; ++i) {
    bands.push_back(
        power.narrow(1, kEdges[i], kEdges[i + 1] - kEdges[i]).sum({1}));
  }
  return root(at::stack(bands));
}

// Correlations of segments [15, segments, 30], by segment and band or frame.
at::Tensor correlations(const at::Tensor& target, const at::Tensor& preds) {
  const at::Tensor scale = norm(target, 2).div(norm(preds, 2).add(kEpsilon));
  const at::Tensor clipped = preds.mul(scale).minimum(target.mul(kClip));
  const auto standard = [](const at::Tensor& segments) {
    const at::Tensor centered = less_mean(segments, 2);
    return centered.div(norm(centered, 2).add(kEpsilon));
  };
  return standard(clipped).mul(standard(target)).sum({2});
}

at::Tensor extended_correlations(const at::Tensor& target,
                                 const at::Tensor& preds) {
  const auto standard = [](const at::Tensor& segments) {
    return unit(less_mean(unit(less_mean(segments, 2), 2), 0), 0);
  };
  return standard(target).mul(standard(preds)).sum({0});
}

// The mean; `dim` is the long one, over which threads would share a sum.
at::Tensor mean_of_all(const at::Tensor& values, std::int64_t dim) {
  return values.sum({dim}).sum().div(static_cast<double>(values.numel()));
}

// Of signals [T] at 10 kHz, of which `target` chooses the frames.
at::Tensor intelligibility(const at::Tensor& preds, const at::Tensor& target,
                           bool extended) {
  const at::Tensor plain = target.detach().cpu().contiguous();
  const ActiveFrames active =
      active_frames(plain.const_data_ptr<double>(), plain.size(0));
  const auto kept = static_cast<std::int64_t>(active.kept.size());
  // The last frame of what was put together ends with it, and is dropped.
  const std::int64_t frames = kept - 1;
  if (frames < kSegment) {
    // Its gradient is 0.
    return preds.narrow(0, 0, 0).sum().add(kTooShort);
  }
  const at::Tensor places = internal::tensor_of(active.kept);
  const at::Tensor window =
      internal::tensor_of(hann_window()).to(preds.device());
  const auto segments = [&](const at::Tensor& signal) {
    const at::Tensor chosen = frames_of(signal, active.count, window)
                                  .index_select(0, places.to(signal.device()));
    return bands_of(frames_of(overlapped(chosen), frames, window))
        .unfold(1, kSegment, 1);
  };
  const at::Tensor t = segments(target), p = segments(preds);
  return extended ? mean_of_all(extended_correlations(t, p), 0)
                  : mean_of_all(correlations(t, p), 1);
}

}  // namespace

void ShortTimeIntelligibility::score(const Signals& plain,
                                     double* scores) const {
  const at::Tensor preds = plain.preds.squeeze(1).to(at::kDouble);
  const at::Tensor target = plain.target.squeeze(1).to(at::kDouble);
  const Resampler resampler(rate_, kRate);
  const std::int64_t size = resampler.size_of(plain.time());
  one_thread_each(plain.samples(), [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_grad;
    for (std::int64_t n = begin; n < end; ++n) {
      const auto at_rate = [&](const at::Tensor& signals) {
        return Resampled::of(signals[n], resampler, /*backward=*/false, size);
      };
      scores[n] = intelligibility(at_rate(preds), at_rate(target), extended_)
                      .item()
                      .toDouble();
    }
  });
}

at::Tensor ShortTimeIntelligibility::differentiable(
    const Signals& signals) const {
  const Signals wide = signals.wide();
  const std::int64_t size = Resampler(rate_, kRate).size_of(signals.time());
  std::vector<at::Tensor> scores;
  for (std::int64_t n = 0; n < signals.samples(); ++n) {
    const auto at_rate = [&](const at::Tensor& all) {
      return Resampled::apply(all[n].squeeze(0), rate_, /*backward=*/false,
                              size);
    };
    scores.push_back(
        intelligibility(at_rate(wide.preds), at_rate(wide.target), extended_));
  }
  return at::stack(scores);
}

}  // namespace tally::internal::audio
