#include "tally/testing/internal/gradient_law.h"

#include <algorithm>
#include <cmath>

#include "tally/testing/compare.h"
#include "tally/testing/internal/drive.h"
#include "tally/testing/internal/numerical_gradient.h"

namespace tally::testkit::internal {
namespace {

using sync::GradientFlow;

// A number that depends on every finite part of a value, each in its own way.
class Projection {
 public:
  explicit Projection(const Results& value) {
    for (const auto& [name, part] : value) {
      at::Tensor finite =
          part.detach().reshape({-1}).isfinite().nonzero().reshape({-1});
      weights_.push_back(finite.to(at::kDouble).add(1).cos().add(2));
      finite_.push_back(std::move(finite));
    }
  }
  bool empty() const {
    return std::all_of(finite_.begin(), finite_.end(),
                       [](const at::Tensor& f) { return f.numel() == 0; });
  }
  at::Tensor operator()(const Results& value) const {
    at::Tensor sum;
    size_t i = 0;
    for (const auto& [name, part] : value) {
      const at::Tensor term = part.reshape({-1})
                                  .index_select(0, finite_[i].to(part.device()))
                                  .to(at::kDouble)
                                  .mul(weights_[i].to(part.device()))
                                  .sum();
      sum = sum.defined() ? sum.add(term) : term;
      ++i;
    }
    return sum;
  }

 private:
  std::vector<at::Tensor> finite_;
  std::vector<at::Tensor> weights_;
};

class GradientCheck {
 public:
  GradientCheck(const GradientSubject& subject, Findings& findings)
      : subject_(subject),
        findings_(findings),
        inputs_(with_graph(subject.rows, subject.inputs)),
        metric_(subject.make(subject.metric_options)) {}

  void run() {
    update(*metric_, inputs_);
    expect_no_graph("update()");
    metric_->reset();
    const Results value = forward(*metric_, inputs_);
    expect_no_graph("forward()");
    expect_same_value_without_graph(value);
    if (!metric_->is_differentiable()) {
      for (const auto& [name, part] : value) {
        findings_.expect(!part.requires_grad(),
                         "a metric that is not differentiable returns a graph");
      }
      return;
    }
    const Projection project(value);
    if (project.empty() || !subject_.compare) return;
    const at::Tensor number = project(value);
    if (!number.requires_grad()) {
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        findings_.expect(!is_wanted(i), "the value has no graph");
      }
      return;
    }
    number.backward();
    check_numerically(project, std::abs(number.item<double>()));
    for (const auto& parts : subject_.steps) {
      for (const GradientFlow flow :
           {GradientFlow::kLocal, GradientFlow::kReplicated,
            GradientFlow::kAllRanks}) {
        const Findings::Within within(
            findings_,
            c10::str(sync::to_string(flow), " over ", parts.size(), " ranks"));
        check_on_ranks(parts, project, flow);
      }
    }
  }

 private:
  void expect_no_graph(const std::string& after) {
    for (const auto& [name, part] : metric_->state()) {
      findings_.expect(!part.defined() || !part.requires_grad(),
                       after + " keeps a graph in the state");
    }
  }

  void expect_same_value_without_graph(const Results& value) {
    const auto plain = subject_.make(subject_.metric_options);
    Batch inputs;
    for (const BatchInput& input : inputs_) {
      inputs.push_back(input.with_tensors(
          [](const at::Tensor& tensor) { return tensor.detach(); }));
    }
    findings_.expect(near(value, forward(*plain, inputs), {1e-11, 1e-13}),
                     "the value with a graph differs from that without");
  }

  void check_numerically(const Projection& project, double size) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      negligible_.push_back(1e-4 * size / spread_of_input(i));
      if (!is_wanted(i)) continue;
      const at::Tensor& input = inputs_[i].tensor();
      const at::Tensor& gradient = input.grad();
      const Findings::Within within(findings_, c10::str("input ", i));
      if (!gradient.defined()) {
        findings_.add("an input has no gradient");
        return;
      }
      if (!input.isfinite().all().item<bool>()) continue;
      const auto metric = subject_.make(subject_.metric_options);
      Batch moved = inputs_;
      const at::Tensor numerical = numerical_gradient(
          [&](const at::Tensor& point) {
            moved[i] = point;
            return project(forward(*metric, moved)).item<double>();
          },
          input);
      const GradientMatch match =
          match_gradient(gradient, numerical, negligible_[i]);
      expect_match(match, 1e-5, "the gradient is not the derivative");
    }
  }

  void expect_match(const GradientMatch& match, double tolerance,
                    const std::string& what) {
    if (std::abs(match.scale - 1) < tolerance && match.residual < tolerance) {
      return;
    }
    findings_.add(what, c10::str("it is ", match.scale,
                                 " times what it should be, with an error of ",
                                 match.residual, " beside it"));
  }

  double spread_of_input(size_t i) const {
    return is_wanted(i) ? spread_of(inputs_[i].tensor()) : 1;
  }

  bool is_wanted(size_t i) const {
    return inputs_[i].is_tensor() && inputs_[i].tensor().requires_grad();
  }

  void check_on_ranks(const std::vector<Batch>& parts,
                      const Projection& project, GradientFlow flow) {
    const int ranks = static_cast<int>(parts.size());
    MetricOptions options = subject_.metric_options;
    options.dist_sync_on_step(true).gradient_flow(flow);
    const auto reports = on_ranks<Batch>(
        ranks, findings_, [&](const sync::Communicator& communicator) {
          const auto metric = subject_.make(options);
          const Batch inputs =
              with_graph(parts[communicator.rank()], subject_.inputs);
          const at::Tensor number = project(forward(*metric, inputs));
          // A rank without rows may have a value without a graph.
          if (number.requires_grad()) number.backward();
          Batch gradients;
          for (const BatchInput& input : inputs) {
            if (!input.is_tensor()) {
              gradients.push_back(input);
              continue;
            }
            const at::Tensor& tensor = input.tensor();
            gradients.push_back(tensor.grad().defined()
                                    ? tensor.grad()
                                    : tensor.detach().mul(0));
          }
          return gradients;
        });
    if (reports.empty()) return;
    const Batch all = joined(reports);
    const double factor = flow == GradientFlow::kLocal ? 1 : ranks;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!is_wanted(i)) continue;
      const GradientMatch match =
          match_gradient(all[i].tensor().div(factor),
                         inputs_[i].tensor().grad(), negligible_[i]);
      const Findings::Within within(findings_, c10::str("input ", i));
      expect_match(match, 1e-9, "the gradient is not that of one process");
    }
  }

  const GradientSubject& subject_;
  Findings& findings_;
  const Batch inputs_;
  const std::unique_ptr<Metric> metric_;
  std::vector<double> negligible_;
};

}  // namespace

void check_gradients(const GradientSubject& subject, Findings& findings) {
  GradientCheck(subject, findings).run();
}

}  // namespace tally::testkit::internal
