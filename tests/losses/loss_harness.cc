#include "tally/tests/losses/loss_harness.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "tally/sync/errors.h"
#include "tally/testing/internal/numerical_gradient.h"
#include "tally/tests/testing/sum_order.h"

namespace tally::testkit {
namespace {

using Tensors = std::vector<at::Tensor>;

struct Evaluation {
  double value = 0;
  Tensors gradients;  ///< of the batch's floating tensors, then parameters
};

Tensors leaves_of(const Tensors& batch) {
  Tensors leaves;
  for (const at::Tensor& tensor : batch) {
    leaves.push_back(tensor.detach().clone());
    if (tensor.is_floating_point()) leaves.back().set_requires_grad(true);
  }
  return leaves;
}

Evaluation evaluate(const at::Tensor& loss, const Tensors& batch,
                    const Tensors& parameters) {
  Evaluation result;
  result.value = loss.item<double>();
  loss.backward();
  for (const Tensors* tensors : {&batch, &parameters}) {
    for (const at::Tensor& tensor : *tensors) {
      if (tensor.is_floating_point()) result.gradients.push_back(tensor.grad());
    }
  }
  return result;
}

Tensors values_of(const LossInstance& instance) {
  Tensors values;
  for (const auto& parameter : instance.parameters) {
    values.push_back(parameter.second);
  }
  return values;
}

Evaluation evaluate_once(const LossSubject& subject, double factor) {
  const LossInstance instance = subject.make();
  const Tensors batch = leaves_of(subject.batch);
  return evaluate(instance.loss(batch).mul(factor), batch, values_of(instance));
}

Evaluation evaluate_reference(const LossSubject& subject) {
  const Tensors batch = leaves_of(subject.batch);
  const Tensors parameters = leaves_of(values_of(subject.make()));
  return evaluate(subject.reference(batch, parameters), batch, parameters);
}

double largest_norm(const Tensors& gradients) {
  double largest = 0;
  for (const at::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    largest = std::max(largest, gradient.norm().item<double>());
  }
  return largest;
}

/// `scale` times `expected`, up to what is small beside the largest of all.
void expect_like(const Tensors& actual, const Tensors& expected, double scale,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  const double negligible = tolerance * largest_norm(expected);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (largest_norm({expected[i]}) <= negligible) {
      EXPECT_LE(largest_norm({actual[i]}), negligible)
          << what << ", gradient " << i;
      continue;
    }
    const GradientMatch match = match_gradient(actual[i], expected[i]);
    EXPECT_NEAR(match.scale, scale, tolerance) << what << ", gradient " << i;
    EXPECT_LT(match.residual, tolerance) << what << ", gradient " << i;
  }
}

/// The loss's differences along every floating tensor, one after the other.
Tensors numerical_gradients(const LossSubject& subject) {
  const at::NoGradGuard no_grad;
  Tensors gradients;
  for (std::size_t i = 0; i < subject.batch.size(); ++i) {
    if (!subject.batch[i].is_floating_point()) continue;
    const LossInstance instance = subject.make();
    gradients.push_back(numerical_gradient(
        [&](const at::Tensor& point) {
          Tensors moved = subject.batch;
          moved[i] = point;
          return instance.loss(moved).item<double>();
        },
        subject.batch[i]));
  }
  const LossInstance instance = subject.make();
  for (const auto& parameter : instance.parameters) {
    at::Tensor value = parameter.second.detach();  // shares its memory
    const at::Tensor start = value.clone();
    gradients.push_back(numerical_gradient(
        [&](const at::Tensor& point) {
          value.copy_(point);
          return instance.loss(subject.batch).item<double>();
        },
        start));
    value.copy_(start);
  }
  return gradients;
}

void check_one_process(const LossSubject& subject) {
  const Evaluation one = evaluate_once(subject, 1);
  EXPECT_TRUE(std::isfinite(one.value));
  const double value_tolerance =
      subject.tolerance * std::max(1.0, std::abs(one.value));
  if (subject.reference) {
    const Evaluation expected = evaluate_reference(subject);
    EXPECT_NEAR(one.value, expected.value, value_tolerance) << "reference";
    expect_like(one.gradients, expected.gradients, 1, subject.tolerance,
                "reference");
  }
  if (subject.numerical) {
    expect_like(one.gradients, numerical_gradients(subject), 1, 1e-6,
                "numerically");
  }
  const Evaluation multiple = evaluate_once(subject, -0.7);
  expect_like(multiple.gradients, one.gradients, -0.7, subject.tolerance,
              "of a multiple");
  {
    const SumOrder order(1);
    const Evaluation other = evaluate_once(subject, 1);
    EXPECT_NEAR(other.value, one.value, value_tolerance)
        << "with sums in another order";
    expect_like(other.gradients, one.gradients, 1, subject.tolerance,
                "with sums in another order");
  }
  const at::NoGradGuard no_grad;
  const at::Tensor plain = subject.make().loss(subject.batch);
  EXPECT_FALSE(plain.requires_grad());
  EXPECT_NEAR(plain.item<double>(), one.value, value_tolerance)
      << "without gradients";
}

struct Shards {
  const char* name;
  losses::CheckDistributedGradientsOptions options;
};

std::vector<Shards> shards_of(const LossSubject& subject, int ranks) {
  using losses::ShardSizes;
  const losses::CheckDistributedGradientsOptions base =
      losses::CheckDistributedGradientsOptions()
          .tolerance(subject.tolerance)
          .check_reference(false);
  const auto with = [&](ShardSizes sizes) {
    return losses::CheckDistributedGradientsOptions(base).shards(sizes);
  };
  std::vector<Shards> result = {{"even", with(ShardSizes::kEven)}};
  if (ranks == 1) return result;
  result.push_back({"uneven", with(ShardSizes::kUneven)});
  result.push_back({"last idle", with(ShardSizes::kIdle)});
  const std::int64_t rows = subject.batch[0].size(0);
  std::vector<std::int64_t> first_idle(ranks, 1), one_busy(ranks, 0);
  first_idle.front() = 0;
  first_idle[1] = rows - (ranks - 2);
  one_busy[ranks / 2] = rows;
  for (auto& [name, dealt] :
       {std::pair("first idle", first_idle), std::pair("one busy", one_busy)}) {
    result.push_back(
        {name, losses::CheckDistributedGradientsOptions(base).rows(dealt)});
  }
  return result;
}

void check_ranks(const LossSubject& subject, int ranks) {
  ThreadRanksOptions options;
  options.transport = subject.transport;
  run_thread_ranks(
      ranks,
      [&](const std::shared_ptr<sync::Communicator>&) {
        for (const Shards& shards : shards_of(subject, ranks)) {
          const LossInstance instance = subject.make();
          const auto report = losses::check_distributed_gradients(
              instance.loss, subject.batch, instance.parameters,
              shards.options);
          EXPECT_TRUE(report.exact()) << shards.name << '\n' << report;
          for (double loss : report.rank_losses) {
            EXPECT_TRUE(std::isfinite(loss)) << shards.name;
          }
        }
      },
      options);
}

using LossFunction =
    std::function<at::Tensor(const Tensors& batch, const Tensors& parameters)>;

/// The sum of the first derivatives of `loss`, each times a number: of the
/// batch's, these come behind it in `batch`.
at::Tensor sum_of_derivatives(const LossFunction& loss, const Tensors& batch,
                              const Tensors& parameters, std::size_t inputs,
                              bool bend) {
  const bool recording = at::GradMode::is_enabled();
  const at::AutoGradMode record(true);
  Tensors rows(batch.begin(), batch.begin() + inputs), leaves, factors;
  for (at::Tensor& tensor : rows) {
    if (!tensor.is_floating_point()) continue;
    if (!tensor.requires_grad()) tensor = tensor.detach().requires_grad_();
    factors.push_back(batch[inputs + leaves.size()]);
    leaves.push_back(tensor);
  }
  for (const at::Tensor& parameter : parameters) {
    leaves.push_back(parameter);
    factors.push_back(normal_rows(parameter.sizes(), leaves.size()));
  }
  at::Tensor value = loss(rows, parameters);
  if (bend) value = value.add(value.square());
  const Tensors derivatives = torch::autograd::grad(
      {value}, leaves, /*grad_outputs=*/{}, /*retain_graph=*/true,
      /*create_graph=*/true, /*allow_unused=*/true);
  at::Tensor sum = value.mul(0);
  for (std::size_t i = 0; i < derivatives.size(); ++i) {
    if (!derivatives[i].defined()) continue;
    sum = sum.add(derivatives[i].mul(factors[i]).sum());
  }
  return recording ? sum : sum.detach();
}

/// The loss that check_second_derivatives() speaks of.
LossSubject derivative_of(const LossSubject& subject) {
  LossSubject result = subject;
  const std::size_t inputs = subject.batch.size();
  const bool bend = subject.same_on_ranks;
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!subject.batch[i].is_floating_point()) continue;
    result.batch.push_back(normal_rows(subject.batch[i].sizes(), 100 + i));
  }
  result.make = [=] {
    LossInstance instance = subject.make();
    const auto loss = instance.loss;
    const Tensors parameters = values_of(instance);
    instance.loss = [=](const Tensors& batch) {
      return sum_of_derivatives(
          [&](const Tensors& rows, const Tensors&) { return loss(rows); },
          batch, parameters, inputs, bend);
    };
    return instance;
  };
  if (subject.reference) {
    result.reference = [=](const Tensors& batch, const Tensors& parameters) {
      return sum_of_derivatives(subject.reference, batch, parameters, inputs,
                                bend);
    };
  }
  result.ranks.clear();
  for (const int ranks : subject.ranks) {
    if (ranks <= 3) result.ranks.push_back(ranks);
  }
  return result;
}

}  // namespace

void check_second_derivatives(const LossSubject& subject) {
  check_loss(derivative_of(subject));
}

void check_second_derivatives_are_refused(const LossSubject& subject,
                                          const std::string& message) {
  const LossSubject derivative = derivative_of(subject);
  for (const int ranks : derivative.ranks) {
    SCOPED_TRACE(c10::str(ranks, " ranks"));
    ThreadRanksOptions options;
    options.transport = subject.transport;
    const auto errors = collect_thread_ranks(
        ranks,
        [&](const std::shared_ptr<sync::Communicator>& communicator) {
          // Beside each other, the last one has no rows.
          const std::int64_t rows = derivative.batch[0].size(0);
          const std::int64_t busy = std::max(1, ranks - 1);
          const std::int64_t rank = communicator->rank();
          const std::int64_t first = std::min(rank, busy) * rows / busy;
          const std::int64_t end = std::min(rank + 1, busy) * rows / busy;
          Tensors own;
          for (const at::Tensor& tensor : derivative.batch) {
            own.push_back(tensor.narrow(0, first, end - first));
          }
          const LossInstance instance = derivative.make();
          instance.loss(leaves_of(own)).backward();
        },
        options);
    for (const std::exception_ptr& error : errors) {
      try {
        if (!error) throw std::runtime_error("no error");
        std::rethrow_exception(error);
      } catch (const std::exception& thrown) {
        EXPECT_THAT(sync::describe(thrown), ::testing::HasSubstr(message));
      }
    }
  }
}

void check_loss(const LossSubject& subject) {
  check_one_process(subject);
  for (int ranks : subject.ranks) {
    SCOPED_TRACE(c10::str(ranks, " ranks"));
    check_ranks(subject, ranks);
  }
  if (subject.ranks.empty()) return;
  SCOPED_TRACE("with sums in another order");
  const SumOrder order(1);
  check_ranks(subject, std::min(subject.ranks.back(), 2));
}

SecondDerivatives second_derivatives(
    const std::function<at::Tensor(const at::Tensor& x)>& loss,
    const at::Tensor& x, const at::Tensor& direction) {
  const auto gradient = [&](const at::Tensor& leaf, bool create_graph) {
    return torch::autograd::grad({loss(leaf)}, {leaf}, {}, true,
                                 create_graph)[0];
  };
  const at::Tensor leaf = x.clone().set_requires_grad(true);
  gradient(leaf, true).mul(direction).sum().backward();
  return {leaf.grad(),
          numerical_gradient(
              [&](const at::Tensor& point) {
                return gradient(point.clone().set_requires_grad(true), false)
                    .mul(direction)
                    .sum()
                    .item<double>();
              },
              x)};
}

LossSubject two_views_through_a_layer(
    const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& loss,
    std::int64_t rows, std::int64_t features) {
  LossSubject subject;
  subject.make = [loss, features] {
    const at::Tensor weight = normal_rows({features, 4}, 3).requires_grad_();
    return LossInstance{[loss, weight](const Tensors& batch) {
                          return loss(batch[0].matmul(weight),
                                      batch[1].matmul(weight));
                        },
                        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({rows, features}, 1),
                   normal_rows({rows, features}, 2)};
  return subject;
}

at::Tensor normal_rows(at::IntArrayRef sizes, std::uint64_t seed) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kDouble);
}

at::Tensor learned_rows(at::IntArrayRef sizes, std::uint64_t seed) {
  return normal_rows(sizes, seed).set_requires_grad(true);
}

at::Tensor unit_rows(at::IntArrayRef sizes, std::uint64_t seed) {
  const at::Tensor rows = normal_rows(sizes, seed);
  return rows.div(rows.norm(2, {1}, /*keepdim=*/true));
}

at::Tensor learned(double value) {
  return at::scalar_tensor(value, at::kDouble).set_requires_grad(true);
}

}  // namespace tally::testkit
