#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/metric_of.h"
#include "tally/sync/communicator.h"

/// Metrics each of which breaks one law.
namespace tally::testkit {

/// A mean, whose merge drops what is on its right if there is something on its
/// left already.
struct ForgetfulMean {
  static constexpr const char* kName = "ForgetfulMean";
  struct State {
    Number sum;
    std::int64_t count = 0;
    void fields(Fields& f) { f("sum", sum)("count", count); }
    static State merge(const State& a, const State& b) {
      if (a.count > 2) return a;
      return {a.sum + b.sum, a.count + b.count};
    }
  };
  State observe(const at::Tensor& values) const {
    return {Number(values.to(at::kDouble).sum()), values.numel()};
  }
};
class DropsRows final : public MetricOf<DropsRows, ForgetfulMean, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DropsRows";
  at::Tensor evaluate(const State& s) const { return s.sum / Number(s.count); }
};

/// Counts batches; a fresh state is not one of none.
struct BatchCount {
  static constexpr const char* kName = "BatchCount";
  struct State {
    std::int64_t count = 1;
    void fields(Fields& f) { f("count", count); }
    static State merge(const State& a, const State& b) {
      return {a.count + b.count};
    }
  };
  State observe(const at::Tensor&) const { return {1}; }
};
class CountsFromOne final
    : public MetricOf<CountsFromOne, BatchCount, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CountsFromOne";
  at::Tensor evaluate(const State& s) const { return Number(s.count).tensor(); }
};

/// A sum around the first value it ever sees, of which it keeps the tensor.
struct SumAroundFirst {
  static constexpr const char* kName = "SumAroundFirst";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& values) const {
    if (values.numel() == 0) return {};
    if (!first_.defined()) first_ = values;
    const at::Tensor center = first_.reshape({-1})[0];
    return {Number(values.sub(center).sum().add(center.mul(values.numel())))};
  }

 private:
  mutable at::Tensor first_;
};
class KeepsItsInput final
    : public MetricOf<KeepsItsInput, SumAroundFirst, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "KeepsItsInput";
  at::Tensor evaluate(const State& s) const { return s.sum.tensor(); }
};

/// A sum that writes into its input.
struct CenteredSum {
  static constexpr const char* kName = "CenteredSum";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& values) const {
    return {Number(values.detach().abs_().sum())};
  }
};
class ChangesItsInput final
    : public MetricOf<ChangesItsInput, CenteredSum, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ChangesItsInput";
  at::Tensor evaluate(const State& s) const { return s.sum.tensor(); }
};

/// A mean that notes, each time it is evaluated, that it was.
struct CountedMean {
  static constexpr const char* kName = "CountedMean";
  struct State {
    Number sum;
    std::int64_t count = 0;
    void fields(Fields& f) { f("sum", sum)("count", count); }
  };
  State observe(const at::Tensor& values) const {
    return {Number(values.to(at::kDouble).sum()), values.numel()};
  }
};
class ForwardDisturbs final
    : public MetricOf<ForwardDisturbs, CountedMean, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ForwardDisturbs";
  at::Tensor evaluate(const State& s) const {
    auto& mine = const_cast<State&>(s);
    mine.sum = mine.sum + Number(1e-3);
    return s.sum / Number(s.count);
  }
};

/// Its state does not hold everything that its value depends on.
struct SumAndCount {
  static constexpr const char* kName = "SumAndCount";
  struct State {
    Number sum;
    std::int64_t count = 0;
    void fields(Fields& f) { f("sum", sum); }
    static State merge(const State& a, const State& b) {
      return {a.sum + b.sum, a.count + b.count};
    }
  };
  State observe(const at::Tensor& values) const {
    return {Number(values.to(at::kDouble).sum()), values.numel()};
  }
};
class LosesAField final
    : public MetricOf<LosesAField, SumAndCount, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "LosesAField";
  at::Tensor evaluate(const State& s) const {
    return s.sum / Number(s.count + 1);
  }
};

/// Refuses values above 3 after it has counted them.
struct CheckedSum {
  static constexpr const char* kName = "CheckedSum";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& values) const {
    const Number sum = carried_ + Number(values.sum());
    carried_ = sum;
    TORCH_CHECK_VALUE(values.numel() == 0 || values.max().item<double>() <= 3,
                      "expected values up to 3");
    carried_ = 0;
    return {sum};
  }

 private:
  mutable Number carried_ = 0;
};
class RefusesTooLate final
    : public MetricOf<RefusesTooLate, CheckedSum, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RefusesTooLate";
  at::Tensor evaluate(const State& s) const { return s.sum.tensor(); }
};

/// The last value: depends on the order of the rows.
struct KeptRows {
  static constexpr const char* kName = "KeptRows";
  struct State {
    Rows rows;
    void fields(Fields& f) { f("rows", rows); }
  };
  State observe(const at::Tensor& values) const { return {Rows(values)}; }
};
class DependsOnOrder final
    : public MetricOf<DependsOnOrder, KeptRows, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DependsOnOrder";
  at::Tensor evaluate(const State& s) const {
    const at::Tensor rows = s.rows.tensor();
    return rows.numel() == 0 ? at::Tensor(rows.sum()) : rows[-1].clone();
  }
};

/// Reads memory as if rows lay one behind the other.
struct DenseSum {
  static constexpr const char* kName = "DenseSum";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& values) const {
    const double* at = values.const_data_ptr<double>();
    double sum = 0;
    for (std::int64_t i = 0; i < values.numel(); ++i) sum += at[i];
    return {sum};
  }
};
class IgnoresStrides final
    : public MetricOf<IgnoresStrides, DenseSum, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "IgnoresStrides";
  at::Tensor evaluate(const State& s) const { return s.sum.tensor(); }
};

/// Errors with their sign, where less is said to be better.
struct SignedErrors {
  static constexpr const char* kName = "SignedErrors";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "real [N]"},
      {"target", InputKind::kReal, "real [N]"}};
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    TORCH_CHECK_VALUE(preds.sizes() == target.sizes(), "other sizes");
    return {Number(preds.sub(target).to(at::kDouble).sum())};
  }
};
class PassesItsBest final
    : public MetricOf<PassesItsBest, SignedErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PassesItsBest";
  static constexpr std::optional<bool> kHigherIsBetter = false;
  at::Tensor evaluate(const State& s) const { return s.sum.tensor(); }
};

/// Averages what ranks have already merged: the gradient is 1/W of the right
/// one.
struct SquaredSum {
  static constexpr const char* kName = "SquaredSum";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& values) const {
    const at::Tensor wide = values.to(at::kDouble);
    return {Number(wide.mul(wide).sum())};
  }
};
class ScalesGradients final
    : public MetricOf<ScalesGradients, SquaredSum, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ScalesGradients";
  static constexpr bool kIsDifferentiable = true;
  at::Tensor evaluate(const State& s) const {
    const at::Tensor value = s.sum.tensor();
    const int ranks = sync::default_communicator()->size();
    return value.detach().add(value.sub(value.detach()).div(ranks));
  }
};

}  // namespace tally::testkit
