#include "tally/metrics/intervals/replicate_engine.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "tally/metrics/core/sorted_rows.h"
#include "tally/metrics/intervals/weighted_sums.h"
#include "tally/state/state_parts.h"

namespace tally::internal::intervals {
namespace {

bool is_size(const Field& field) {
  return field.kind == Field::Kind::kInt && field.merge == Merge::kMax;
}

std::int64_t elements_of(const Field& field) {
  if (is_size(field) || field.kind == Field::Kind::kRows ||
      field.kind == Field::Kind::kNote) {
    return 0;
  }
  if (field.kind != Field::Kind::kTensor) return 1;
  return field.as_tensor().defined() ? field.as_tensor().numel() : 0;
}

bool doubles(double once, double twice) {
  constexpr double kTolerance = 1e-9;
  return once != 0 &&
         std::abs(twice - 2 * once) <= kTolerance * std::abs(twice);
}

}  // namespace

/// Reads what a row adds, field by field.
class RowReader {
 public:
  explicit RowReader(const AnyState& batch) {
    for (const Field& field : batch.fields()) {
      TORCH_CHECK_VALUE(
          field.kind != Field::Kind::kRows || field.as_rows().size() == 0,
          "expected a state that is a sum over rows, got one that keeps rows (",
          field.name, "); use method jackknife");
      sizes_.push_back(elements_of(field));
      width_ += sizes_.back();
    }
  }

  std::int64_t width() const { return width_; }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }

  void read(const AnyState& row, double* into) const {
    std::size_t i = 0;
    for (const Field& field : row.fields()) {
      read_field(field, sizes_[i], into);
      into += sizes_[i++];
    }
  }

 private:
  static void read_field(const Field& field, std::int64_t size, double* into) {
    if (size == 0) return;
    if (field.kind == Field::Kind::kInt) {
      *into = static_cast<double>(field.as_int());
    } else if (field.kind == Field::Kind::kNumber) {
      *into = field.as_number().value();
    } else if (field.as_tensor().defined()) {
      TORCH_CHECK_VALUE(field.as_tensor().numel() == size,
                        "expected a state whose size does not depend on the "
                        "rows");
      const at::Tensor values =
          field.as_tensor().detach().to(at::kCPU, at::kDouble).contiguous();
      std::memcpy(into, values.const_data_ptr<double>(),
                  static_cast<std::size_t>(size) * sizeof(double));
    } else {
      std::fill_n(into, size, 0.0);
    }
  }

  std::vector<std::int64_t> sizes_;
  std::int64_t width_ = 0;
};

ReplicateSums::ReplicateSums(std::size_t fields) : sums(fields) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < fields; ++i) {
    texts.push_back("replicates" + std::to_string(i));
  }
  names = std::make_shared<const std::vector<std::string>>(std::move(texts));
}

void ReplicateSums::fields(Fields& f) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    f((*names)[i].c_str(), sums[i]);
  }
  f("weights", weights);
}

bool is_sum_of_rows(const AnyState& state) {
  if (!merges_by_field(state)) return false;
  for (const Field& field : state.fields()) {
    if (field.kind == Field::Kind::kNote) continue;
    if (field.kind == Field::Kind::kRows || field.merge != Merge::kSum) {
      return false;
    }
  }
  return true;
}

AnyState ReplicateEngine::identity() const {
  return identity_with(
      AnyState::of(ReplicateSums(metric_->make_state().fields().size())));
}

at::Tensor ReplicateEngine::rows_of(const RowReader& reader,
                                    const AnyState& batch, Inputs inputs,
                                    std::size_t count) const {
  const auto rows = static_cast<std::int64_t>(count);
  at::Tensor values = row_sums_ ? row_sums_(inputs) : at::Tensor();
  if (values.defined() && values.size(1) == reader.width()) return values;
  values = at::empty({rows, reader.width()}, at::kDouble);
  auto* into = values.mutable_data_ptr<double>();
  bool has_rows = false;
  for (const InputRef& input : inputs) has_rows = has_rows || input.rows() >= 0;
  if (!has_rows) {
    reader.read(batch, into);
    return values;
  }
  std::vector<std::int64_t> codes(count);
  std::iota(codes.begin(), codes.end(), std::int64_t{0});
  const SortedRows sorted(codes, count, inputs);
  for (std::size_t i = 0; i < count; ++i, into += reader.width()) {
    sorted.use(i, [&](Inputs own, std::int64_t) {
      AnyState one = metric_->make_state();
      metric_->observe_into(one, own, BatchOrigin());
      reader.read(one, into);
    });
  }
  return values;
}

AnyState ReplicateEngine::observe(Inputs inputs,
                                  const std::vector<std::int64_t>& ids) const {
  AnyState batch = identity();
  auto& parts = batch.get<StateParts>().parts();
  metric_->observe_into(parts[0], inputs, BatchOrigin());
  if (ids.empty()) return batch;
  const RowReader reader(parts[0]);
  const at::Tensor all = weighted_sums(
      weights_, ids,
      rows_of(reader, parts[0], inputs, ids.size()).const_data_ptr<double>(),
      reader.width());
  auto& sums = parts[1].get<ReplicateSums>();
  std::int64_t place = 0;
  for (std::size_t i = 0; i < reader.sizes().size(); ++i) {
    const std::int64_t size = reader.sizes()[i];
    if (size > 0) sums.sums[i] = all.narrow(0, place, size).clone();
    place += size;
  }
  sums.weights = all.select(0, place).clone();
  return batch;
}

AnyState ReplicateEngine::replicate(const AnyState& whole,
                                    const ReplicateSums& sums,
                                    std::int64_t index) const {
  AnyState state = metric_->make_state();
  const Fields from = whole.fields();
  std::size_t i = 0;
  for (const Field& field : state.fields()) {
    const at::Tensor& own = sums.sums[i];
    const Field& given = from[i++];
    if (is_size(given)) {
      field.as_int() = given.as_int();
    } else if (own.defined()) {
      const at::Tensor values = own.select(1, index);
      if (field.kind == Field::Kind::kInt) {
        field.as_int() = std::llround(values[0].item<double>());
      } else if (field.kind == Field::Kind::kNumber) {
        field.as_number() = Number(values[0].item<double>());
      } else {
        field.as_tensor() = values.contiguous()
                                .reshape(given.as_tensor().sizes())
                                .to(given.as_tensor().options())
                                .clone();
      }
    }
  }
  return state;
}

std::vector<std::vector<double>> ReplicateEngine::replicates(
    const AnyState& state, std::int64_t n) const {
  const AnyState& own = whole(state);
  const FlatResult value = flat_result(*metric_, own);
  const auto& sums = resampled(state).get<ReplicateSums>();
  std::vector<std::vector<double>> values(value.values.size());
  if (!sums.weights.defined()) return values;
  AnyState both = own;
  merge(both, own, metric_->name().c_str());
  const FlatResult twice = flat_result(*metric_, both);
  const auto* const weights = sums.weights.const_data_ptr<double>();
  for (std::int64_t r = 0; r < options_.replicates(); ++r) {
    const FlatResult each = flat_result(*metric_, replicate(own, sums, r));
    TORCH_CHECK_VALUE(each.values.size() == values.size(), metric_->name(),
                      ": expected a result whose size does not depend on the "
                      "data");
    for (std::size_t v = 0; v < values.size(); ++v) {
      const bool grows = doubles(value.values[v], twice.values[v]);
      values[v].push_back(grows ? each.values[v] * static_cast<double>(n) /
                                      weights[r]
                                : each.values[v]);
    }
  }
  return values;
}

}  // namespace tally::internal::intervals
