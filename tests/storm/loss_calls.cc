#include <ATen/Context.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/nn/module.h>

#include <mutex>

#include "tally/losses/losses.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/tests/storm/calls.h"

namespace tally::storm {
namespace {

constexpr std::int64_t kWidth = 4;

/// Rows of features, of which a rank may have few.
at::Tensor features(Draw& draw, std::int64_t rows) {
  return draw.values({rows, kWidth}).div(8).requires_grad_();
}

/// A loss and the gradients of what it is a loss of.
std::string learned(const at::Tensor& loss,
                    const std::vector<at::Tensor>& leaves) {
  loss.backward();
  std::string bytes;
  append(bytes, loss.detach());
  for (const at::Tensor& leaf : leaves) append(bytes, leaf.grad());
  return bytes;
}

template <class Loss>
std::string of_two_views(Loss loss, unsigned seed) {
  Draw draw(seed);
  const std::int64_t rows = 1 + draw.own(5);
  const at::Tensor a = features(draw, rows);
  const at::Tensor b = features(draw, rows);
  return learned(loss->forward(a, b), {a, b});
}

std::string metric_loss(unsigned seed) {
  Draw draw(seed);
  losses::MetricLoss loss{MeanSquaredError()};
  const std::int64_t rows = draw.own(5);
  const at::Tensor preds = draw.values({rows}).requires_grad_();
  const at::Tensor target = draw.values({rows});
  const at::Tensor value =
      keeping([&] { return loss->metric().serialize(); },
              [&] { return loss->forward(preds, target); });
  return learned(value, {preds});
}

std::string clip(unsigned seed) {
  Draw draw(seed);
  const auto options =
      losses::ClipLossOptions()
          .local_loss(draw.shared(2) == 0)
          .pairwise_logits(draw.shared(2) == 0
                               ? losses::PairwiseLogits::kTiled
                               : losses::PairwiseLogits::kGathered);
  losses::ClipLoss loss(options);
  const std::int64_t rows = 1 + draw.own(4);
  const at::Tensor images = features(draw, rows);
  const at::Tensor texts = features(draw, rows);
  const at::Tensor scale = at::scalar_tensor(2.0, at::kDouble).requires_grad_();
  return learned(loss->forward(images, texts, scale), {images, texts, scale});
}

std::string sig_lip(unsigned seed) {
  Draw draw(seed);
  losses::SigLipLoss loss;
  const std::int64_t rows = 1 + draw.own(4);
  const at::Tensor images = features(draw, rows);
  const at::Tensor texts = features(draw, rows);
  const at::Tensor scale = at::scalar_tensor(2.0, at::kDouble).requires_grad_();
  const at::Tensor bias = at::scalar_tensor(-1.0, at::kDouble).requires_grad_();
  return learned(loss->forward(images, texts, scale, bias),
                 {images, texts, scale, bias});
}

std::string sup_con(unsigned seed) {
  Draw draw(seed);
  losses::SupConLoss loss;
  const std::int64_t rows = 2 + draw.own(4);
  const at::Tensor x = features(draw, rows);
  return learned(loss->forward(x, draw.labels(rows, 3)), {x});
}

std::string lfq(unsigned seed) {
  Draw draw(seed);
  losses::LFQ loss(losses::LFQOptions().dim(kWidth).codebook_size(16));
  const at::Tensor x = features(draw, 1 + draw.own(5)).unsqueeze(0);
  x.retain_grad();
  return learned(loss->forward(x).aux_loss, {x});
}

/// With the same codes on all ranks, which may be threads.
losses::VectorQuantize quantizer(unsigned seed) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  at::manual_seed(seed);
  return losses::VectorQuantize(losses::VectorQuantizeOptions(kWidth, 8));
}

std::string vector_quantize(unsigned seed) {
  Draw draw(seed);
  losses::VectorQuantize quantize = quantizer(seed);
  const auto held = [&] {
    std::string bytes;
    for (const at::Tensor& buffer : quantize->buffers()) append(bytes, buffer);
    return bytes;
  };
  const at::Tensor x = features(draw, 1 + draw.own(5)).unsqueeze(0);
  x.retain_grad();
  const at::Tensor loss =
      keeping(held, [&] { return quantize->forward(x).loss; });
  return learned(loss, {x}) + held();
}

}  // namespace

std::vector<Call> loss_calls() {
  return {
      {"MetricLoss", metric_loss},
      {"ClipLoss", clip},
      {"SigLipLoss", sig_lip},
      {"SupConLoss", sup_con},
      {"NTXentLoss",
       [](unsigned seed) { return of_two_views(losses::NTXentLoss(), seed); }},
      {"DCLLoss",
       [](unsigned seed) { return of_two_views(losses::DCLLoss(), seed); }},
      {"BarlowTwinsLoss",
       [](unsigned seed) {
         return of_two_views(losses::BarlowTwinsLoss(), seed);
       }},
      {"VICRegLoss",
       [](unsigned seed) { return of_two_views(losses::VICRegLoss(), seed); }},
      {"LFQ", lfq},
      {"VectorQuantize", vector_quantize},
  };
}

const std::vector<Call>& all_calls() {
  static const std::vector<Call> all = [] {
    std::vector<Call> list = collective_calls();
    for (const auto& kind : {metric_calls(), loss_calls()}) {
      list.insert(list.end(), kind.begin(), kind.end());
    }
    return list;
  }();
  return all;
}

}  // namespace tally::storm
