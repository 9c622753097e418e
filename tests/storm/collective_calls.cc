#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "tally/sync/average_gradients.h"
#include "tally/sync/average_over_ranks.h"
#include "tally/sync/broadcast_parameters.h"
#include "tally/sync/collectives.h"
#include "tally/sync/gather.h"
#include "tally/tests/storm/calls.h"

namespace tally::storm {
namespace {

using sync::GradientFlow;
using sync::Reduction;

constexpr std::int64_t kColumns = 4;

/// Rows that travel with the header, in a second round, or by themselves.
std::int64_t row_limit(Draw& draw) {
  constexpr std::int64_t kRows[] = {6, 6, 6, 2000, 60'000};
  return kRows[draw.shared(draw.draws_few_rows() ? 4 : 5)];
}

/// What came, and the gradient of the input.
std::string with_gradient(const at::Tensor& input,
                          const std::function<at::Tensor()>& collective) {
  const at::Tensor output = collective();
  std::string bytes;
  append(bytes, output.detach());
  // A weight for each element, so that gradients differ.
  const at::Tensor weights =
      at::arange(output.numel(), at::kDouble).remainder(5).view_as(output);
  output.to(at::kDouble).mul(weights).sum().backward();
  append(bytes, input.grad());
  return bytes;
}

at::Tensor leaf(at::Tensor values) { return values.requires_grad_(); }

std::string gather(unsigned seed) {
  Draw draw(seed);
  constexpr GradientFlow kFlows[] = {
      GradientFlow::kLocal, GradientFlow::kReplicated, GradientFlow::kAllRanks};
  const GradientFlow flow = kFlows[draw.shared(3)];
  const std::int64_t limit = row_limit(draw);
  // All ranks' rows have to be many for them to travel by themselves.
  const std::int64_t rows =
      limit > 2000 ? limit * (1 + draw.own(3)) + draw.own(9) : draw.own(limit);
  const at::Tensor x = leaf(draw.values({rows, kColumns}));
  return with_gradient(
      x, [&] { return at::cat(sync::gather_all_tensors(x, flow)); });
}

std::string all_gather(unsigned seed) {
  Draw draw(seed);
  const at::Tensor x = leaf(draw.values({draw.own(row_limit(draw)), kColumns}));
  return with_gradient(x, [&] { return sync::all_gather(x); });
}

std::string all_reduce(unsigned seed) {
  Draw draw(seed);
  constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kMean,
                                       Reduction::kMin, Reduction::kMax};
  const Reduction reduction = kReductions[draw.shared(4)];
  // Gradients of means are no integers: their sums are exact in one order only.
  const std::int64_t rows = reduction == Reduction::kMean ? 6 : row_limit(draw);
  const at::Tensor x = leaf(draw.values({rows, kColumns}));
  return with_gradient(x, [&] { return sync::all_reduce(x, reduction); });
}

std::string reduce_scatter(unsigned seed) {
  Draw draw(seed);
  const std::int64_t rows = draw.ranks() * (1 + row_limit(draw) / 8);
  const at::Tensor x = leaf(draw.values({rows, kColumns}));
  return with_gradient(x, [&] { return sync::reduce_scatter(x); });
}

std::string broadcast(unsigned seed) {
  Draw draw(seed);
  const int root = static_cast<int>(draw.shared(draw.ranks()));
  const at::Tensor x = leaf(draw.values({row_limit(draw), kColumns}));
  return with_gradient(x, [&] { return sync::broadcast(x, root); });
}

std::string all_to_all(unsigned seed) {
  Draw draw(seed);
  const std::int64_t limit = row_limit(draw) / draw.ranks() + 1;
  std::vector<std::int64_t> rows;
  std::int64_t sum = 0;
  for (int r = 0; r < draw.ranks(); ++r) {
    rows.push_back(draw.own(limit));
    sum += rows.back();
  }
  const at::Tensor x = leaf(draw.values({sum, kColumns}));
  return with_gradient(x, [&] { return sync::all_to_all(x, rows); });
}

std::string all_to_all_of_a_list(unsigned seed) {
  Draw draw(seed);
  const at::Tensor x = leaf(draw.values({12}));
  std::vector<at::Tensor> parts;
  for (int r = 0; r < draw.ranks(); ++r) {
    parts.push_back(x.narrow(0, draw.own(6), draw.own(6)));
  }
  return with_gradient(x, [&] { return at::cat(sync::all_to_all(parts)); });
}

std::string ring_exchange(unsigned seed) {
  Draw draw(seed);
  const int shift = 1 + static_cast<int>(draw.shared(draw.ranks() - 1));
  const at::Tensor x = leaf(draw.values({1 + draw.own(row_limit(draw))}));
  return with_gradient(x, [&] { return sync::ring_exchange(x, shift); });
}

std::string average_over_ranks(unsigned seed) {
  Draw draw(seed);
  constexpr GradientFlow kFlows[] = {
      GradientFlow::kReplicated, GradientFlow::kLocal, GradientFlow::kAllRanks};
  const GradientFlow flow = kFlows[draw.shared(3)];
  const at::Tensor x = leaf(draw.values({kColumns}));
  const auto count = static_cast<double>(1 + draw.own(9));
  return with_gradient(
      x, [&] { return sync::average_over_ranks(x, count, flow); });
}

std::string average_gradients(unsigned seed) {
  Draw draw(seed);
  std::vector<at::Tensor> parameters;
  for (const std::int64_t rows : {std::int64_t{3}, row_limit(draw)}) {
    parameters.push_back(leaf(at::zeros({rows, kColumns}, at::kDouble)));
    if (draw.own(4) > 0) {
      parameters.back().mutable_grad() = draw.values({rows, kColumns});
    }
  }
  const auto held = [&] {
    std::string bytes;
    for (const at::Tensor& parameter : parameters) {
      append(bytes, parameter.grad());
    }
    return bytes;
  };
  keeping(held, [&] { sync::average_gradients(parameters); });
  return held();
}

std::string broadcast_parameters(unsigned seed) {
  Draw draw(seed);
  const int root = static_cast<int>(draw.shared(draw.ranks()));
  const std::vector<at::Tensor> parameters = {
      draw.values({row_limit(draw), kColumns}), draw.labels(3, 100)};
  const auto held = [&] {
    std::string bytes;
    for (const at::Tensor& parameter : parameters) append(bytes, parameter);
    return bytes;
  };
  keeping(held, [&] { sync::broadcast_parameters(parameters, root); });
  return held();
}

}  // namespace

std::vector<Call> collective_calls() {
  return {
      {"gather_all_tensors", gather},
      {"all_gather", all_gather},
      {"all_reduce", all_reduce},
      {"reduce_scatter", reduce_scatter},
      {"broadcast", broadcast},
      {"all_to_all", all_to_all},
      {"all_to_all of a list", all_to_all_of_a_list},
      {"ring_exchange", ring_exchange},
      {"average_over_ranks", average_over_ranks},
      {"average_gradients", average_gradients},
      {"broadcast_parameters", broadcast_parameters},
  };
}

}  // namespace tally::storm
