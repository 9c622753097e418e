#include "tally/losses/contrastive/sigmoid_ring.h"

#include <ATen/ops/zeros_like.h>

#include <vector>

#include "tally/losses/contrastive/sum_round.h"
#include "tally/losses/contrastive/tile_kernels.h"

namespace tally::losses::internal {
namespace {

template <class T>
class SigmoidRound {
 public:
  SigmoidRound(const SigmoidProblem& problem, bool with_gradients,
               double weight)
      : problem_(problem),
        with_gradients_(with_gradients),
        weight_(weight),
        tiles_(problem.a.options()) {}

  SigmoidResult run() {
    Ring ring(problem_.call);
    CirculatingTensor columns(ring, padded(problem_.b, problem_.rows.most()));
    if (!with_gradients_) {
      for (int step = 0; step < ring.steps(); ++step) {
        columns.depart(step);
        const int owner = ring.owner(step);
        const Block block{step, owner, problem_.rows.of(owner)};
        for_each_range(block.rows, kTileColumns,
                       [&](std::int64_t first, std::int64_t size) {
                         panel(block, columns.here().narrow(0, first, size),
                               first, {});
                       });
        columns.arrive();
      }
      return std::move(result_);
    }
    result_.a_gradient = at::zeros_like(problem_.a);
    result_.b_gradient = sum_round(
        ring, problem_.rows, problem_.b, {&columns},
        [&](const Block& block, const RowRange& range,
            const at::Tensor& gradient) {
          panel(block, columns.here().narrow(0, range.first, range.size),
                range.first, gradient);
        });
    result_.a_gradient.mul_(problem_.scale);
    result_.b_gradient.mul_(problem_.scale);
    return std::move(result_);
  }

 private:
  void panel(const Block& block, const at::Tensor& columns,
             std::int64_t first_column, const at::Tensor& gradient) {
    for_each_range(
        problem_.a.size(0), kTileRows,
        [&](std::int64_t first, std::int64_t rows) {
          const at::Tensor a = problem_.a.narrow(0, first, rows);
          const at::Tensor tile = tiles_.product(a, columns);
          // Only in the own block does a row meet its pair.
          add_losses(tile, block.step == 0 ? first - first_column : kNoColumn);
          if (!with_gradients_) return;
          add_product(result_.a_gradient.narrow(0, first, rows), tile, columns);
          add_product(gradient, tile.t(), a);
        });
  }

  void add_losses(const at::Tensor& tile, std::int64_t pair) {
    T* const q = tile.mutable_data_ptr<T>();
    const std::int64_t width = tile.size(1);
    std::vector<SigmoidSums> sums(at::get_num_threads());
    for_each_stripe(
        tile.size(0), [&](std::int64_t begin, std::int64_t size, int thread) {
          const Tile<T> stripe{q + begin * width, size, width,
                               static_cast<T>(problem_.scale), pair + begin};
          const SigmoidSums here =
              sigmoid(stripe, static_cast<T>(problem_.bias),
                      static_cast<T>(weight_), with_gradients_);
          sums[thread].loss += here.loss;
          sums[thread].logits += here.logits;
          sums[thread].scale += here.scale;
        });
    for (const SigmoidSums& of_thread : sums) {
      result_.loss += of_thread.loss;
      result_.bias_gradient += of_thread.logits;
      result_.scale_gradient += of_thread.scale;
    }
  }

  const SigmoidProblem& problem_;
  bool with_gradients_;
  double weight_;
  TileBuffer tiles_;
  SigmoidResult result_;
};

}  // namespace

SigmoidResult sigmoid_round(const SigmoidProblem& problem, bool with_gradients,
                            double weight) {
  if (problem.a.scalar_type() == at::kDouble) {
    return SigmoidRound<double>(problem, with_gradients, weight).run();
  }
  return SigmoidRound<float>(problem, with_gradients, weight).run();
}

}  // namespace tally::losses::internal
