#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/state/fields.h"

namespace tally {

/// How the scores of images become one.
enum class ImageReduction {
  kMean,  ///< their mean; NaN before any update
  kSum,   ///< their sum; 0 before any update
};

template <>
struct EnumNames<ImageReduction> {
  static constexpr const char* kNames[] = {"mean", "sum"};
};

/// The option that all metrics of images have.
template <class Self>
struct ImageOptions {
  /// How the scores of images become one.
  TALLY_INHERITED_ARG(Self, ImageReduction, reduction) = ImageReduction::kMean;

 public:
  void visit(OptionVisitor& v) {
    v("reduction", reduction_, OptionRole::kValue,
      internal::words::kReducedSamples);
  }
};

/// The state of metrics that score each image by itself, merged by addition.
struct ImageScoresState {
  Number sum;              // of the scores
  std::int64_t total = 0;  // images

  void fields(Fields& f) { f("sum", sum)("total", total); }
};

namespace internal::image {

using Tensors = c10::ArrayRef<at::Tensor>;

/// LibTorch uses one thread for tensors of 32768 values; what is made of images
/// may be a few times as large as they are.
inline constexpr std::int64_t kSmallImages = 8192;

inline constexpr InputInfo kPairInputs[] = {
    {"preds", InputKind::kReal, "real images [N, C, H, W]"},
    {"target", InputKind::kReal, "real images [N, C, H, W]"}};

/// Scores images, each by itself.
class ImageMeasure {
 public:
  virtual ~ImageMeasure() = default;

  /// Throws c10::ValueError or TypeError for images that have no score. The
  /// first dimension of all of them is that of the images.
  virtual void check(Tensors images) const = 0;
  /// float64 [N], with a graph, of float64 images, or of any dtype if
  /// takes_any_dtype().
  virtual at::Tensor scores(Tensors images) const = 0;
  /// The difference of the largest and the smallest value that an image can
  /// have; none if that does not matter.
  virtual std::optional<double> data_range() const { return std::nullopt; }
  /// Whether scores() takes images as they are, and its result depends neither
  /// on the number of threads nor on the images beside.
  virtual bool takes_any_dtype() const { return false; }
  /// Whether scores() depends, to the bit, on no image beside, so that several
  /// can be scored at once.
  virtual bool takes_several() const { return false; }
};

/// values.mean(dims) of each image by itself, as LibTorch's order of a sum may
/// depend on the others: for takes_several().
at::Tensor mean_of_each(const at::Tensor& values, at::IntArrayRef dims);

/// c10::TypeError unless the input is dense and real; c10::ValueError unless it
/// is [N, C, H, W] with at least one value in each image.
void check_images(const char* input, const at::Tensor& images);
/// The same for both, and that they have the same shape.
void check_pairs(Tensors images);
/// c10::ValueError unless `size` is from 1 to 65535.
void check_window_option(const char* metric, const char* option,
                         std::int64_t size);
/// c10::ValueError unless the number is finite and above 0.
void check_positive(const char* metric, const char* option, double value);

/// What of MetricOptions decides how images are read.
struct ImageRules {
  explicit ImageRules(const MetricOptions& options)
      : nan_policy(options.nan_policy()),
        validate_args(options.validate_args()) {}

  NanPolicy nan_policy;
  bool validate_args;
};

/// The scores of a batch. NaN in an image: its score is NaN;
/// NanPolicy::kIgnore skips the image, kError throws c10::ValueError. With
/// validate_args, c10::ValueError if values of the target, or of integer preds,
/// lie further apart than the measure's data_range, by more than 1 % of it
/// (rounding of bfloat16). Floating-point preds may leave it, as those of a
/// network that learns do.
ImageScoresState observe_images(const ImageMeasure& measure, Tensors images,
                                const ImageRules& rules);

at::Tensor reduced(const ImageScoresState& state, ImageReduction reduction);

}  // namespace internal::image

/// Options of metrics that average over windows around pixels.
template <class Self>
struct WindowOptions : ImageOptions<Self> {
  TALLY_INHERITED_ARG(Self, std::int64_t, window_size) = 8;

 public:
  void visit(OptionVisitor& v) {
    v("window_size", window_size_, internal::words::kKernelSize);
    ImageOptions<Self>::visit(v);
  }
  void validate(const char* metric) const {
    internal::image::check_window_option(metric, "window_size", window_size_);
  }
};

/// Scores images by `Measure`, an ImageMeasure with kName, Options and a
/// constructor from them.
template <class Measure>
class ImageScores {
 public:
  static constexpr const char* kName = Measure::kName;
  static constexpr const auto& kInputs = Measure::kInputs;
  static constexpr const char* kUnit = "image";
  using Options = typename Measure::Options;
  using State = ImageScoresState;

  ImageScores(const Options& options, const MetricOptions& metric_options)
      : measure_(options), rules_(metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    return internal::image::observe_images(measure_, {preds, target}, rules_);
  }

 private:
  Measure measure_;
  internal::image::ImageRules rules_;
};

}  // namespace tally
