#include "tally/metrics/image/total_variation.h"

namespace tally {

namespace image = internal::image;

namespace {

struct Variation : image::ImageMeasure {
  void check(image::Tensors images) const override {
    image::check_images("img", images[0]);
  }
  at::Tensor scores(image::Tensors images) const override {
    const at::Tensor& img = images[0];
    const auto along = [&](std::int64_t dim) {
      const std::int64_t steps = img.size(dim) - 1;
      return img.narrow(dim, 1, steps)
          .sub(img.narrow(dim, 0, steps))
          .abs()
          .sum({1, 2, 3});
    };
    return along(2).add(along(3));
  }
};

}  // namespace

ImageScoresState Variations::observe(const at::Tensor& img) const {
  return image::observe_images(Variation(), {img}, rules_);
}

at::Tensor TotalVariation::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
