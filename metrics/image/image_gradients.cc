#include "tally/metrics/image/image_gradients.h"

#include <ATen/ops/constant_pad_nd.h>
#include <c10/util/Exception.h>

#include "tally/metrics/image/states/image_scores.h"
#include "tally/metrics/image/states/pixel_scores.h"
#include "tally/metrics/image/total_variation.h"

namespace tally {

namespace image = internal::image;

namespace {

// Differences of each pixel and the next one.
at::Tensor steps_along(const at::Tensor& images, std::int64_t dim) {
  const std::int64_t steps = images.size(dim) - 1;
  return images.narrow(dim, 1, steps).sub(images.narrow(dim, 0, steps));
}

struct Variation : image::ImageMeasure {
  void check(image::Tensors images) const override {
    image::check_images("img", images[0]);
  }
  at::Tensor scores(image::Tensors images) const override {
    return image::pixel_scores(image::VariationKernel(), &formula, images);
  }
  bool takes_any_dtype() const override { return true; }

 private:
  static at::Tensor formula(const image::VariationKernel&,
                            image::Tensors images) {
    const auto along = [&](std::int64_t dim) {
      return steps_along(images[0], dim).abs().sum({1, 2, 3});
    };
    return along(2).add(along(3));
  }
};

}  // namespace

ImageGradients image_gradients(const at::Tensor& img) {
  image::check_images("img", img);
  TORCH_CHECK_TYPE(at::isSignedType(img.scalar_type()),
                   "expected img of a dtype with signs, got ",
                   img.scalar_type());
  return {at::constant_pad_nd(steps_along(img, 2), {0, 0, 0, 1}),
          at::constant_pad_nd(steps_along(img, 3), {0, 1})};
}

ImageScoresState Variations::observe(const at::Tensor& img) const {
  return image::observe_images(Variation(), {img}, rules_);
}

at::Tensor TotalVariation::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

template class MetricOf<TotalVariation, Variations, at::Tensor>;

}  // namespace tally
