#include "tally/metrics/classification/counts/multiclass_counts.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_confusion.h"
#include "tally/state/fresh_tensor.h"
#include "tally/state/sole_owner.h"

namespace tally {
namespace internal::classification {
namespace {

template <class Sum>
Sum distance_of(ClassDistance kind, std::int64_t predicted,
                std::int64_t target) {
  const auto steps = static_cast<Sum>(predicted - target);
  switch (kind) {
    case ClassDistance::kNone:
      return 0;
    case ClassDistance::kLinear:
      return steps < 0 ? -steps : steps;
    default:
      return steps * steps;
  }
}

// Counts a pair of classes, `count` times.
template <class Sum>
void add_pair(std::int64_t target, std::int64_t predicted, Sum count,
              std::int64_t classes, ClassDistance distance, Sum* row) {
  if (predicted == target) row[target] += count;
  row[classes + predicted] += count;
  row[2 * classes + target] += count;
  if (distance != ClassDistance::kNone) {
    row[3 * classes + 1] +=
        count * distance_of<Sum>(distance, predicted, target);
  }
}

template <class Sum, class Weight>
void count_into(const MulticlassBatch& batch, std::int64_t step,
                ClassDistance distance, const Weight& weight_at, Sum* data) {
  const std::int64_t classes = batch.rules().num_classes;
  for_each_prediction(batch, [&](std::int64_t index, std::int64_t sample,
                                 std::int64_t predicted, std::int64_t target) {
    Sum weight = 1;
    if (!weight_at(index, weight)) return;
    Sum* const row = data + sample * step;
    if (predicted == kNanClass || weight != weight) {
      ++row[3 * classes];
      return;
    }
    add_pair(target, predicted, weight, classes, distance, row);
  });
}

void check_entries(const at::Tensor& matrix, std::int64_t classes) {
  TORCH_CHECK_VALUE(matrix.numel() == classes * classes, "expected ",
                    classes * classes, " counts in the state, got ",
                    matrix.numel());
}

template <class Sum>
void add_matrix(const at::Tensor& matrix, std::int64_t classes,
                ClassDistance distance, Sum* row) {
  check_entries(matrix, classes);
  const at::Tensor in_order = matrix.contiguous();
  const Sum* count = in_order.const_data_ptr<Sum>();
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = 0; j < classes; ++j, ++count) {
      if (*count != 0) add_pair(i, j, *count, classes, distance, row);
    }
  }
}

// The same row with tensor operations, on the matrix's device.
at::Tensor counts_of_matrix(const at::Tensor& matrix, std::int64_t classes,
                            ClassDistance distance) {
  check_entries(matrix, classes);
  const at::Tensor counts = matrix.reshape({classes, classes});
  at::Tensor distances = at::zeros({}, counts.options());
  if (distance != ClassDistance::kNone) {
    const at::Tensor places = at::arange(classes, counts.options());
    const at::Tensor steps = places.unsqueeze(1).sub(places).abs_();
    if (distance == ClassDistance::kQuadratic) steps.mul_(steps);
    distances = steps.mul_(counts).sum();
  }
  return at::cat({counts.diagonal(), counts.sum(0), counts.sum(1),
                  at::zeros({1}, counts.options()), distances.reshape({1})});
}

bool is_beside_cpu(const at::Tensor& matrix) {
  return matrix.defined() && !matrix.is_cpu();
}

// Whether counts are faster with tensor operations on the CPU, too. Sums of
// weights are not taken so: they keep their order.
bool is_large(const at::Tensor& counts) {
  constexpr std::int64_t kLargeMatrix = 1 << 16;
  return counts.defined() && counts.numel() >= kLargeMatrix;
}

// Up to this many entries a matrix for every batch costs next to nothing.
constexpr std::int64_t kSmallMatrix = 1024;

// On the CPU, each pair that counts and the number of NaN.
template <class Count>
std::int64_t for_each_pair(const MulticlassBatch& batch, const Count& count) {
  const std::int64_t classes = batch.rules().num_classes;
  std::int64_t nans = 0;
  for_each_prediction(batch, [&](std::int64_t, std::int64_t,
                                 std::int64_t predicted, std::int64_t target) {
    if (predicted == kNanClass) {
      ++nans;
    } else {
      count(target * classes + predicted);
    }
  });
  return nans;
}

}  // namespace

at::Tensor count_classes(const MulticlassBatch& batch, bool samplewise,
                         ClassDistance distance) {
  const std::int64_t width =
      CountRows::width(CountRows::Layout::kClasses, batch.rules().num_classes);
  if (batch.weight().defined()) {
    at::Tensor sums = fresh_zeros({width}, at::kDouble);
    count_into(
        batch, /*step=*/0, distance,
        [&](std::int64_t index, double& weight) {
          return batch.takes_weight(index, weight);
        },
        sums.mutable_data_ptr<double>());
    return sums;
  }
  c10::SmallVector<std::int64_t, 2> sizes{width};
  if (samplewise) sizes.insert(sizes.begin(), batch.samples());
  at::Tensor counts = fresh_zeros(sizes, at::kLong);
  count_into(
      batch, samplewise ? width : 0, distance,
      [](std::int64_t, std::int64_t&) { return true; },
      counts.mutable_data_ptr<std::int64_t>());
  return counts;
}

at::Tensor count_classes_by_tensors(const MulticlassBatch& batch,
                                    bool samplewise, ClassDistance distance) {
  const PredictionTensors pairs = prediction_tensors(batch);
  const std::int64_t classes = batch.rules().num_classes;
  const auto in_rows = [&](const at::Tensor& labels) {
    return samplewise ? labels : labels.reshape({1, -1});
  };
  const at::Tensor predicted = in_rows(pairs.predicted);
  const at::Tensor target = in_rows(pairs.target);
  const std::int64_t rows = target.size(0);
  const at::Tensor is_nan = predicted.eq(kNanClass);
  // Each kind of count has a place more than there are classes, for positions
  // that do not count.
  const at::Tensor right =
      target.masked_fill(predicted.ne(target), classes).unsqueeze(1);
  const at::Tensor places =
      at::cat({right, predicted.masked_fill(is_nan, classes).unsqueeze(1),
               target.masked_fill(is_nan, classes).unsqueeze(1)},
              1);
  at::Tensor weight = target.eq(target).to(at::kLong);
  if (pairs.weight.defined()) weight = in_rows(pairs.weight);
  at::Tensor counts = at::zeros({rows, 3, classes + 1}, weight.options());
  counts.scatter_add_(2, places, weight.unsqueeze(1).expand_as(places));
  counts = counts.narrow(2, 0, classes).reshape({rows, 3 * classes});
  at::Tensor steps = predicted.sub(target).masked_fill(is_nan, 0);
  if (distance == ClassDistance::kNone) steps = steps.mul(0);
  if (distance == ClassDistance::kLinear) steps = steps.abs();
  if (distance == ClassDistance::kQuadratic) steps = steps.mul(steps);
  counts =
      at::cat({counts, is_nan.sum(1, /*keepdim=*/true).to(counts.scalar_type()),
               steps.mul(weight).sum(1, /*keepdim=*/true)},
              1);
  return samplewise ? counts : counts.squeeze(0);
}

void check_matrix_classes(const char* metric, std::int64_t num_classes) {
  TORCH_CHECK_VALUE(num_classes >= 2 && num_classes <= kMostMatrixClasses,
                    metric, ": expected num_classes from 2 to ",
                    kMostMatrixClasses, ", got ", num_classes);
}

MulticlassConfusion::State pairs_of(const MulticlassBatch& batch) {
  const std::int64_t classes = batch.rules().num_classes;
  const std::int64_t size = batch.target().numel();
  MulticlassConfusion::State state;
  state.num_classes = classes;
  if (batch.weight().defined()) {
    state.sums = fresh_zeros({classes, classes}, at::kDouble);
    auto* const sums = state.sums.mutable_data_ptr<double>();
    std::int64_t nans = 0;
    for_each_prediction(
        batch, [&](std::int64_t index, std::int64_t, std::int64_t predicted,
                   std::int64_t target) {
          double weight;
          if (!batch.takes_weight(index, weight)) return;
          if (predicted == kNanClass || weight != weight) {
            ++nans;
          } else {
            sums[target * classes + predicted] += weight;
          }
        });
    state.nans = Number(nans);
    return state;
  }
  if (classes * classes <= std::max(kSmallMatrix, size)) {
    state.counts = fresh_zeros({classes, classes}, at::kLong);
    auto* const counts = state.counts.mutable_data_ptr<std::int64_t>();
    state.nans = Number(
        for_each_pair(batch, [=](std::int64_t pair) { ++counts[pair]; }));
    return state;
  }
  at::Tensor pairs = fresh_tensor({size}, at::kInt);
  auto* next = pairs.mutable_data_ptr<std::int32_t>();
  const auto* const begin = next;
  state.nans = Number(for_each_pair(batch, [&](std::int64_t pair) {
    *next++ = static_cast<std::int32_t>(pair);
  }));
  state.pairs =
      Rows(next - begin == size ? pairs : pairs.narrow(0, 0, next - begin));
  return state;
}

MulticlassConfusion::State pairs_by_tensors(const MulticlassBatch& batch) {
  const std::int64_t classes = batch.rules().num_classes;
  const PredictionTensors labels = prediction_tensors(batch);
  const at::Tensor is_nan = labels.predicted.eq(kNanClass);
  // One place more than there are pairs, for positions that do not count.
  const at::Tensor places =
      labels.target.mul(classes)
          .add(labels.predicted)
          .masked_fill(labels.target.eq(classes).logical_or(is_nan),
                       classes * classes)
          .reshape(-1);
  const bool weighted = labels.weight.defined();
  const at::Tensor ones =
      weighted ? labels.weight.reshape(-1) : at::ones_like(places);
  const at::Tensor counts = at::zeros({classes * classes + 1}, ones.options());
  counts.scatter_add_(0, places, ones);
  MulticlassConfusion::State state;
  state.num_classes = classes;
  state.nans = Number(is_nan.sum());
  (weighted ? state.sums : state.counts) =
      counts.narrow(0, 0, classes * classes).reshape({classes, classes});
  return state;
}

void check_pairs(const at::Tensor& pairs, std::int64_t classes) {
  const auto* const begin = pairs.const_data_ptr<std::int32_t>();
  const bool fit = std::all_of(
      begin, begin + pairs.numel(),
      [=](std::int32_t pair) { return pair >= 0 && pair < classes * classes; });
  TORCH_CHECK_VALUE(fit, "expected pairs of ", classes,
                    " classes in the state, got others");
}

void add_pairs(const at::Tensor& counts, const at::Tensor& pairs) {
  check_pairs(pairs, counts.size(0));
  const auto* const begin = pairs.const_data_ptr<std::int32_t>();
  const auto* const end = begin + pairs.numel();
  auto* const data = counts.mutable_data_ptr<std::int64_t>();
  for (const auto* pair = begin; pair != end; ++pair) ++data[*pair];
}

void add_pairs_by_tensors(const at::Tensor& counts, const at::Tensor& pairs) {
  const at::Tensor places = pairs.to(at::kLong);
  counts.view(-1).scatter_add_(0, places, at::ones_like(places));
}

}  // namespace internal::classification

namespace classification = internal::classification;

MulticlassCounts::State MulticlassCounts::derive(
    const MulticlassConfusion::State& pairs) const {
  const std::int64_t classes = rules_.num_classes;
  const std::int64_t width = classification::CountRows::width(
      classification::CountRows::Layout::kClasses, classes);
  State state;
  if (classification::is_beside_cpu(pairs.counts) ||
      classification::is_beside_cpu(pairs.sums) ||
      pairs.pairs.is_beside_cpu()) {
    const at::Tensor matrix = pairs.matrix();
    state.counts =
        matrix.defined()
            ? classification::counts_of_matrix(matrix, classes, distance_)
            : at::zeros({width}, pairs.sums.options().dtype(at::kLong));
    state.counts.select(0, 3 * classes).add_(pairs.nans.tensor().to(at::kLong));
    if (pairs.sums.defined()) {
      state.sums =
          classification::counts_of_matrix(pairs.sums, classes, distance_);
    }
    return state;
  }
  const bool is_large = classification::is_large(pairs.counts);
  state.counts = is_large ? classification::counts_of_matrix(pairs.counts,
                                                             classes, distance_)
                          : internal::fresh_zeros({width}, at::kLong);
  auto* const counts = state.counts.mutable_data_ptr<std::int64_t>();
  counts[3 * classes] = static_cast<std::int64_t>(pairs.nans.value());
  if (pairs.counts.defined() && !is_large) {
    classification::add_matrix(pairs.counts, classes, distance_, counts);
  }
  if (pairs.pairs.size() > 0) {
    const at::Tensor places = pairs.pairs.tensor();
    classification::check_pairs(places, classes);
    const auto* const begin = places.const_data_ptr<std::int32_t>();
    // Exact, and faster than dividing: the half is more than what rounding may
    // lose, and less than what would lead to the next quotient.
    const double share = 1 / static_cast<double>(classes);
    std::for_each(begin, begin + places.numel(), [&](std::int32_t place) {
      const auto target = static_cast<std::int32_t>((place + 0.5) * share);
      classification::add_pair<std::int64_t>(
          target, place - target * static_cast<std::int32_t>(classes), 1,
          classes, distance_, counts);
    });
  }
  if (pairs.sums.defined()) {
    state.sums = internal::fresh_zeros({width}, at::kDouble);
    classification::add_matrix(pairs.sums, classes, distance_,
                               state.sums.mutable_data_ptr<double>());
  }
  return state;
}

MulticlassCounts::State MulticlassCounts::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const classification::MulticlassBatch batch(rules_, preds, target, weight);
  if (samplewise_ && weight.defined()) {
    classification::refuse_weight("multidim_average samplewise");
  }
  State state;
  at::Tensor rows =
      batch.target().is_cpu()
          ? classification::count_classes(batch, samplewise_, distance_)
          : classification::count_classes_by_tensors(batch, samplewise_,
                                                     distance_);
  if (samplewise_) {
    state.samples = Rows(rows);
  } else if (weight.defined()) {
    state.sums = std::move(rows);
  } else {
    state.counts = std::move(rows);
  }
  return state;
}

MulticlassConfusion::State MulticlassConfusion::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const classification::MulticlassBatch batch(rules_, preds, target, weight);
  return batch.target().is_cpu() ? classification::pairs_of(batch)
                                 : classification::pairs_by_tensors(batch);
}

at::Tensor MulticlassConfusion::State::matrix(bool in_place) const {
  if (pairs.size() == 0) return counts;
  const at::Tensor more = pairs.tensor();
  at::Tensor sum = counts;
  if (!sum.defined()) {
    sum =
        at::zeros({num_classes, num_classes}, more.options().dtype(at::kLong));
  } else if (!in_place) {
    sum = sum.clone();
  }
  if (more.is_cpu()) {
    classification::add_pairs(sum, more);
  } else {
    classification::add_pairs_by_tensors(sum, more);
  }
  return sum;
}

void MulticlassConfusion::State::compact() {
  if (pairs.size() < std::max(num_classes * num_classes, std::int64_t{1})) {
    return;
  }
  counts =
      matrix(/*in_place=*/counts.defined() && internal::is_sole_owner(counts));
  pairs = Rows();
}

}  // namespace tally
