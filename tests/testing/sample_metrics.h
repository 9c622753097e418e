#pragma once

#include <atomic>
#include <limits>
#include <optional>

#include "tally/metrics/metric_of.h"

/// Small metrics for tests of what all metrics share: one for each kind of
/// state, and of input.
namespace tally::testkit {

/// Numbers and a count.
struct SampleError {
  static constexpr const char* kName = "SampleError";
  struct State {
    Number sum;
    std::int64_t total = 0;
    void fields(Fields& f) { f("sum", sum)("total", total); }
  };
  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    TORCH_CHECK_VALUE(preds.sizes() == target.sizes(), "expected preds and ",
                      "target of the same shape, got ", preds.sizes(), " and ",
                      target.sizes());
    const at::Tensor difference = preds.to(at::kDouble).sub(target);
    return {Number(difference.mul(difference).sum()), preds.numel()};
  }
};
class SampleMeanSquaredError final
    : public MetricOf<SampleMeanSquaredError, SampleError, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SampleMeanSquaredError";
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;
  at::Tensor evaluate(const State& s) const { return s.sum / Number(s.total); }
};

/// A state with a merge of its own: Chan's formula for co-moments.
struct SampleMoments {
  static constexpr const char* kName = "SampleMoments";
  struct State {
    std::int64_t count = 0;
    Number mean_x, mean_y, xx, yy, xy;
    void fields(Fields& f) {
      f("count", count)("mean_x", mean_x)("mean_y", mean_y);
      f("xx", xx)("yy", yy)("xy", xy);
    }
    static State merge(const State& a, const State& b) {
      if (a.count == 0) return b;
      if (b.count == 0) return a;
      const Number n = a.count + b.count;
      const Number weight = Number(a.count) * Number(b.count) / n;
      const Number dx = b.mean_x - a.mean_x;
      const Number dy = b.mean_y - a.mean_y;
      const Number part = Number(b.count) / n;
      return {a.count + b.count,
              a.mean_x + dx * part,
              a.mean_y + dy * part,
              a.xx + b.xx + weight * dx * dx,
              a.yy + b.yy + weight * dy * dy,
              a.xy + b.xy + weight * dx * dy};
    }
  };
  State observe(const at::Tensor& x, const at::Tensor& y) const {
    State state;
    state.count = x.numel();
    if (state.count == 0) return state;
    const at::Tensor a = x.to(at::kDouble);
    const at::Tensor b = y.to(at::kDouble);
    state.mean_x = Number(a.mean());
    state.mean_y = Number(b.mean());
    const at::Tensor da = a.sub(a.mean());
    const at::Tensor db = b.sub(b.mean());
    state.xx = Number(da.mul(da).sum());
    state.yy = Number(db.mul(db).sum());
    state.xy = Number(da.mul(db).sum());
    return state;
  }
};
class SampleCorrelation final
    : public MetricOf<SampleCorrelation, SampleMoments, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SampleCorrelation";
  static constexpr bool kIsDifferentiable = true;
  at::Tensor evaluate(const State& s) const { return s.xy / sqrt(s.xx * s.yy); }
};

/// The input itself as a tensor that is summed: what a careless metric does.
struct SampleTotals {
  static constexpr const char* kName = "SampleTotals";
  struct State {
    at::Tensor sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& values) const { return {values}; }
};
class SampleTensorSum final
    : public MetricOf<SampleTensorSum, SampleTotals, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SampleTensorSum";
  static constexpr bool kIsDifferentiable = true;
  at::Tensor evaluate(const State& s) const { return s.sum; }
};

/// Rows, kept as they come.
struct SampleRows {
  static constexpr const char* kName = "SampleRows";
  struct State {
    Rows rows;
    void fields(Fields& f) { f("rows", rows); }
  };
  State observe(const at::Tensor& values) const { return {Rows(values)}; }
};
class SampleCat final : public MetricOf<SampleCat, SampleRows, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SampleCat";
  static constexpr bool kIsDifferentiable = true;
  at::Tensor evaluate(const State& s) const { return s.rows.tensor(); }
  Dimensions dimensions() const override { return {Dimension::kSample}; }
};

/// Minima and maxima, as numbers and as tensors, and a result with parts.
struct SampleRange {
  at::Tensor low, high;
  void visit(ResultParts& parts) { parts("low", low)("high", high); }
};
struct SampleBounds {
  static constexpr const char* kName = "SampleBounds";
  struct State {
    Number low = std::numeric_limits<double>::infinity();
    at::Tensor high;
    void fields(Fields& f) {
      f("low", low, Merge::kMin)("high", high, Merge::kMax);
    }
  };
  /// Of the last dimension's columns the greatest values, of all the least.
  State observe(const at::Tensor& values) const {
    State state;
    if (values.numel() == 0) return state;
    const at::Tensor wide = values.to(at::kDouble);
    state.low = Number(wide.min());
    state.high = wide.reshape({-1, wide.size(-1)}).amax({0});
    return state;
  }
};
class SampleExtent final
    : public MetricOf<SampleExtent, SampleBounds, SampleRange> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SampleExtent";
  SampleRange evaluate(const State& s) const {
    return {s.low.tensor(), s.high.defined() ? s.high : s.low.tensor()};
  }
};

/// Texts: how often preds are among the references.
struct SampleMatches {
  static constexpr const char* kName = "SampleMatches";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kText, "texts [N]"},
      {"target", InputKind::kTextLists, "references for each of N texts"}};
  struct State {
    std::int64_t matches = 0, total = 0;
    void fields(Fields& f) { f("matches", matches)("total", total); }
  };
  State observe(const TextList& preds, const TextLists& target) const {
    TORCH_CHECK_VALUE(preds.size() == target.size(), "expected as many preds ",
                      "as target, got ", preds.size(), " and ", target.size());
    State state;
    for (std::size_t i = 0; i < preds.size(); ++i) {
      for (const std::string_view reference : target[i]) {
        if (reference != preds[i]) continue;
        ++state.matches;
        break;
      }
      ++state.total;
    }
    return state;
  }
};
class SampleMatchRate final
    : public MetricOf<SampleMatchRate, SampleMatches, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SampleMatchRate";
  at::Tensor evaluate(const State& s) const {
    return Number(s.matches) / Number(s.total);
  }
};

/// Rows of a type of their own, with more or less in each.
struct SampleImage {
  at::Tensor boxes;  // [boxes, 4]
};
struct SampleBoxes {
  static constexpr const char* kName = "SampleBoxes";
  static constexpr InputInfo kInputs[] = {
      {"images", InputKind::kRagged,
       "an image with boxes [K, 4] for each row"}};
  struct State {
    std::int64_t boxes = 0, images = 0;
    void fields(Fields& f) { f("boxes", boxes)("images", images); }
  };
  State observe(c10::ArrayRef<SampleImage> images) const {
    State state;
    for (const SampleImage& image : images) state.boxes += image.boxes.size(0);
    state.images = static_cast<std::int64_t>(images.size());
    return state;
  }
};
class SampleMeanBoxes final
    : public MetricOf<SampleMeanBoxes, SampleBoxes, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SampleMeanBoxes";
  at::Tensor evaluate(const State& s) const {
    return Number(s.boxes) / Number(s.images);
  }
};

/// Its value cannot be had below 0, and inputs must not be above 100.
struct SampleStrict {
  static constexpr const char* kName = "SampleStrict";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& values) const {
    const double most = values.max().item<double>();
    TORCH_CHECK_VALUE(most <= 100, "expected values up to 100, got ", most);
    return {Number(values.sum())};
  }
};
class SampleStrictSum final
    : public MetricOf<SampleStrictSum, SampleStrict, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SampleStrictSum";
  at::Tensor evaluate(const State& s) const {
    ++evaluations;
    TORCH_CHECK(s.sum.value() >= 0, "no value below 0");
    return s.sum;
  }
  static inline std::atomic<int> evaluations = 0;
};

}  // namespace tally::testkit
