#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/common/fused.h"
#include "tally/metrics/image/kernels/pixel_kernels.h"
#include "tally/metrics/image/states/image_scores.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::image {

/// The same scores by ATen's operators, of float64 images.
template <class Kernel>
using PixelFormula = at::Tensor (*)(const Kernel& kernel, Tensors images);

/// One score for each image, each from one thread.
template <class Kernel>
class PixelScores final : public Fused {
 public:
  PixelScores(const Kernel& kernel, PixelFormula<Kernel> by_operators)
      : kernel_(kernel), formula_(by_operators) {}

  at::Tensor value(at::TensorList images) const override {
    at::Tensor scores = fresh_tensor({images[0].size(0)}, at::kDouble);
    auto* const to = scores.mutable_data_ptr<double>();
    visit(images,
          [&](std::int64_t n, const auto* const* from, const Planes& planes) {
            to[n] = kernel_.score(from, planes);
          });
    return scores;
  }

  std::vector<at::Tensor> gradients(at::TensorList images,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool> wanted) const override {
    std::vector<at::Tensor> slopes = fresh_gradients(images, wanted);
    const auto* const factors = gradient.const_data_ptr<double>();
    visit(images,
          [&](std::int64_t n, const auto* const* from, const Planes& planes) {
            using T = std::decay_t<decltype(**from)>;
            std::array<T*, Kernel::kInputs> to{};
            for (std::size_t i = 0; i < to.size(); ++i) {
              if (!slopes[i].defined()) continue;
              to[i] = static_cast<T*>(slopes[i].mutable_data_ptr()) +
                      n * planes.size();
            }
            kernel_.write_slopes(from, planes, factors[n], to.data());
          });
    return slopes;
  }

  at::Tensor formula(at::TensorList images) const override {
    std::vector<at::Tensor> wide;
    for (const at::Tensor& some : images) wide.push_back(some.to(at::kDouble));
    return formula_(kernel_, wide);
  }

 private:
  template <class Visit>
  static void visit(at::TensorList images, const Visit& visit) {
    if (images[0].scalar_type() == at::kFloat) {
      visit_all<float>(images, visit);
    } else {
      visit_all<double>(images, visit);
    }
  }
  template <class T, class Visit>
  static void visit_all(at::TensorList images, const Visit& visit) {
    const Planes planes{images[0].size(1), images[0].size(2),
                        images[0].size(3)};
    at::parallel_for(0, images[0].size(0), 1 + kSmallImages / planes.size(),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t n = begin; n < end; ++n) {
                         std::array<const T*, Kernel::kInputs> from{};
                         for (std::size_t i = 0; i < from.size(); ++i) {
                           from[i] = images[i].template const_data_ptr<T>() +
                                     n * planes.size();
                         }
                         visit(n, from.data(), planes);
                       }
                     });
  }

  Kernel kernel_;
  PixelFormula<Kernel> formula_;
};

/// The scores of images by a kernel of pixel_kernels.h, as one node of the
/// graph.
template <class Kernel>
at::Tensor pixel_scores(const Kernel& kernel, PixelFormula<Kernel> formula,
                        Tensors images) {
  bool all_float = true;
  for (const at::Tensor& some : images) {
    all_float = all_float && some.scalar_type() == at::kFloat;
  }
  std::vector<at::Tensor> plain;
  for (const at::Tensor& some : images) {
    plain.push_back((all_float ? some : some.to(at::kDouble)).contiguous());
  }
  auto scores = c10::make_intrusive<PixelScores<Kernel>>(kernel, formula);
  return are_fusible(plain) ? fused(std::move(scores), plain)
                            : scores->formula(plain);
}

}  // namespace tally::internal::image
