// What a mean of the ranks' losses is to the loss of the global batch: see
// docs/metric_losses.md.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/zeros_like.h>
#include <tally/losses/lovasz/lovasz_hinge_loss.h>
#include <tally/losses/metric_loss.h>
#include <tally/losses/ranking/pairwise_auc_loss.h>
#include <tally/losses/ranking/smooth_ap_loss.h>
#include <tally/losses/soft_counts/dice_loss.h>
#include <tally/losses/soft_counts/matthews_loss.h>
#include <tally/metrics/compositional.h>
#include <tally/metrics/regression/pearson_corr_coef.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

constexpr std::int64_t kRows = 64;

struct Case {
  const char* name;
  std::function<at::Tensor(const at::Tensor& x, const at::Tensor& y)> loss;
  at::Tensor target;
};

struct Step {
  double value;
  at::Tensor gradient;
};

Step step_of(const Case& one, const at::Tensor& x, const at::Tensor& rows) {
  at::Tensor leaf = x.detach().clone().requires_grad_();
  const at::Tensor loss =
      one.loss(leaf.index_select(0, rows), one.target.index_select(0, rows));
  loss.backward();
  return {loss.item<double>(), leaf.grad()};
}

double norm_of(const at::Tensor& x) { return x.norm().item<double>(); }

std::vector<Case> cases(const at::Tensor& labels, const at::Tensor& grades) {
  using namespace tally::losses;
  using tally::ConcordanceCorrCoef;
  using tally::PearsonCorrCoef;
  const auto metric = [](auto make) {
    return [make](const at::Tensor& x, const at::Tensor& y) {
      return MetricLoss(1 - make())->forward(x, y);
    };
  };
  return {
      {"DiceLoss",
       [](const at::Tensor& x, const at::Tensor& y) {
         return functional::dice_loss(
             x, y, DiceLossOptions().mode(LabelMode::kBinary));
       },
       labels},
      {"MatthewsLoss",
       [](const at::Tensor& x, const at::Tensor& y) {
         return functional::matthews_loss(
             x, y, MatthewsLossOptions().mode(LabelMode::kBinary));
       },
       labels},
      {"LovaszHingeLoss",
       [](const at::Tensor& x, const at::Tensor& y) {
         return functional::lovasz_hinge_loss(x, y);
       },
       labels},
      {"SmoothAPLoss",
       [](const at::Tensor& x, const at::Tensor& y) {
         return functional::smooth_ap_loss(
             x, y, SmoothAPLossOptions().temperature(0.1));
       },
       labels},
      {"PairwiseAUCLoss",
       [](const at::Tensor& x, const at::Tensor& y) {
         return functional::pairwise_auc_loss(x, y);
       },
       labels},
      {"1 - PearsonCorrCoef", metric([] { return PearsonCorrCoef(); }), grades},
      {"1 - ConcordanceCorrCoef", metric([] { return ConcordanceCorrCoef(); }),
       grades}};
}

}  // namespace

int main(int argc, char** argv) {
  const int splits = argc > 1 ? std::atoi(argv[1]) : 600;
  at::Generator random = at::detail::createCPUGenerator(1);
  const at::Tensor labels = at::arange(kRows).remainder(8).eq(0).to(at::kLong);
  const at::Tensor x =
      at::randn({kRows}, random, at::kDouble).sub(1).add(labels, 1.5);
  const at::Tensor grades = x.add(at::randn({kRows}, random, at::kDouble));
  const at::Tensor all = at::arange(kRows);

  std::printf("| loss | of the batch | 2 ranks | 4 ranks | 8 ranks |\n");
  std::printf("|---|---|---|---|---|\n");
  for (const Case& one : cases(labels, grades)) {
    const Step whole = step_of(one, x, all);
    std::printf("| `%s` | %.3f |", one.name, whole.value);
    for (const std::int64_t ranks : {2, 4, 8}) {
      double value = 0;
      at::Tensor mean = at::zeros_like(x);
      for (int i = 0; i < splits; ++i) {
        for (const at::Tensor& rows :
             at::randperm(kRows, random).chunk(ranks)) {
          const Step part = step_of(one, x, rows);
          const double weight = 1.0 / (static_cast<double>(ranks) * splits);
          value += weight * part.value;
          mean.add_(part.gradient, weight);
        }
      }
      // What no other learning rate would give, either.
      const at::Tensor& exact = whole.gradient;
      const double scale =
          mean.dot(exact).item<double>() / exact.dot(exact).item<double>();
      std::printf(" %.3f, %.1f %% |", value,
                  100 * norm_of(mean.sub(exact, scale)) / norm_of(mean));
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}
