#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <utility>
#include <vector>

#include "tally/metrics/clustering/inputs/labeled_points.h"
#include "tally/metrics/clustering/states/cluster_moments.h"
#include "tally/metrics/clustering/states/cluster_samples.h"
#include "tally/metrics/clustering/states/label_pairs.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/fused.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/tables/label_places.h"
#include "tally/metrics/tables/label_range.h"
#include "tally/metrics/tables/pair_counts.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace clustering = internal::clustering;
namespace tables = internal::tables;

namespace {

using clustering::MergedMoments;

// Each of several means, perhaps of the same cluster, is of count_of(i) points
// with squares square_of(i) around it. Deviations are taken from the first one
// of a cluster: where all are equal, so is their mean.
template <class T, class CountOf, class SquareOf>
MergedMoments merge_plain(const tables::LabelPlaces& labels, const T* means,
                          std::int64_t dims, const CountOf& count_of,
                          const SquareOf& square_of) {
  const auto size = static_cast<std::int64_t>(labels.places.size());
  const auto clusters = static_cast<std::int64_t>(labels.labels.size());
  MergedMoments merged;
  merged.labels = internal::tensor_of(labels.labels);
  merged.counts = internal::fresh_zeros({clusters}, at::kLong);
  merged.means = internal::fresh_zeros({clusters, dims}, at::kDouble);
  merged.squares = internal::fresh_zeros({clusters}, at::kDouble);
  auto* const counts = merged.counts.mutable_data_ptr<std::int64_t>();
  auto* const to = merged.means.mutable_data_ptr<double>();
  auto* const squares = merged.squares.mutable_data_ptr<double>();
  std::vector<const T*> first(static_cast<std::size_t>(clusters));
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint32_t cluster = labels.places[i];
    const T* const mean = means + i * dims;
    const T*& origin = first[cluster];
    if (origin == nullptr) origin = mean;
    counts[cluster] += count_of(i);
    const auto weight = static_cast<double>(count_of(i));
    double* const sums = to + cluster * dims;
    for (std::int64_t k = 0; k < dims; ++k) {
      sums[k] += weight * (static_cast<double>(mean[k]) -
                           static_cast<double>(origin[k]));
    }
  }
  for (std::int64_t cluster = 0; cluster < clusters; ++cluster) {
    double* const mean = to + cluster * dims;
    const auto count = static_cast<double>(counts[cluster]);
    for (std::int64_t k = 0; k < dims; ++k) {
      mean[k] = static_cast<double>(first[cluster][k]) + mean[k] / count;
    }
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint32_t cluster = labels.places[i];
    const double* const center = to + cluster * dims;
    double sum = 0;
    for (std::int64_t k = 0; k < dims; ++k) {
      const double deviation =
          static_cast<double>(means[i * dims + k]) - center[k];
      sum += deviation * deviation;
    }
    squares[cluster] += square_of(i) + static_cast<double>(count_of(i)) * sum;
  }
  return merged;
}

// The same with a graph, or on any device.
MergedMoments merge_tensors(const tables::LabelPlaces& labels,
                            const at::Tensor& counts, const at::Tensor& means,
                            const at::Tensor& squares) {
  const auto clusters = static_cast<std::int64_t>(labels.labels.size());
  std::vector<std::int64_t> places(labels.places.begin(), labels.places.end());
  std::vector<std::int64_t> first(static_cast<std::size_t>(clusters), -1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (first[places[i]] < 0) first[places[i]] = static_cast<std::int64_t>(i);
  }
  const c10::Device device = means.device();
  const at::Tensor place = at::tensor(places, at::kLong).to(device);
  const at::Tensor origins =
      means.detach().index_select(0, at::tensor(first, at::kLong).to(device));
  const auto sum_of = [&](const at::Tensor& values) {
    std::vector<std::int64_t> sizes = values.sizes().vec();
    sizes[0] = clusters;
    return at::zeros(sizes, values.options()).index_add(0, place, values);
  };
  MergedMoments merged;
  merged.labels = at::tensor(labels.labels, at::kLong).to(device);
  merged.counts = sum_of(counts);
  const at::Tensor weights = counts.to(at::kDouble);
  const at::Tensor deviations = means.sub(origins.index_select(0, place));
  merged.means =
      origins.add(sum_of(deviations.mul(weights.unsqueeze(1)))
                      .div(merged.counts.to(at::kDouble).unsqueeze(1)));
  merged.squares = sum_of(means.sub(merged.means.index_select(0, place))
                              .square()
                              .sum(1)
                              .mul(weights)
                              .add(squares));
  return merged;
}

// Means and squares beside each other, [K, D + 1], as one node of the graph.
class FusedMoments final : public internal::Fused {
 public:
  FusedMoments(tables::LabelPlaces labels, const MergedMoments& moments)
      : labels_(std::move(labels)),
        counts_(moments.counts),
        moments_(at::cat({moments.means, moments.squares.unsqueeze(1)}, 1)) {}

  // Not moments_ itself: the value holds its node, and that this object.
  at::Tensor value(at::TensorList) const override { return moments_.detach(); }

  std::vector<at::Tensor> gradients(at::TensorList inputs,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool>) const override {
    at::Tensor slopes =
        internal::fresh_tensor(inputs[0].sizes(), inputs[0].scalar_type());
    if (inputs[0].scalar_type() == at::kFloat) {
      write(inputs[0].const_data_ptr<float>(),
            gradient.const_data_ptr<double>(),
            slopes.mutable_data_ptr<float>());
    } else {
      write(inputs[0].const_data_ptr<double>(),
            gradient.const_data_ptr<double>(),
            slopes.mutable_data_ptr<double>());
    }
    return {slopes};
  }

  at::Tensor formula(at::TensorList inputs) const override {
    const at::Tensor wide = inputs[0].to(at::kDouble);
    const std::int64_t size = wide.size(0);
    const MergedMoments moments =
        merge_tensors(labels_, at::ones({size}, at::kLong), wide,
                      at::zeros({size}, at::kDouble));
    return at::cat({moments.means, moments.squares.unsqueeze(1)}, 1);
  }

 private:
  template <class T>
  void write(const T* points, const double* gradient, T* to) const {
    const std::int64_t dims = moments_.size(1) - 1;
    const auto* const counts = counts_.const_data_ptr<std::int64_t>();
    const auto* const moments = moments_.const_data_ptr<double>();
    const auto size = static_cast<std::int64_t>(labels_.places.size());
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t cluster = labels_.places[i];
      const double* const mean = moments + cluster * (dims + 1);
      const double* const of = gradient + cluster * (dims + 1);
      const double share = 1 / static_cast<double>(counts[cluster]);
      const double twice = 2 * of[dims];
      for (std::int64_t k = 0; k < dims; ++k) {
        to[i * dims + k] = static_cast<T>(
            share * of[k] +
            twice * (static_cast<double>(points[i * dims + k]) - mean[k]));
      }
    }
  }

  tables::LabelPlaces labels_;
  at::Tensor counts_, moments_;
};

MergedMoments fused_moments(const tables::LabelPlaces& labels,
                            const at::Tensor& data) {
  const at::Tensor plain = data.detach();
  MergedMoments merged = internal::visit_values(plain, [&](const auto* values) {
    return merge_plain(
        labels, values, plain.size(1), [](std::int64_t) { return 1; },
        [](std::int64_t) { return 0.0; });
  });
  const at::Tensor moments =
      internal::fused(c10::make_intrusive<FusedMoments>(labels, merged), data);
  merged.means = moments.narrow(1, 0, data.size(1));
  merged.squares = moments.select(1, data.size(1));
  return merged;
}

MergedMoments moments_of_points(const clustering::LabeledPoints& points) {
  const std::int64_t size = points.data.size(0);
  const tables::LabelPlaces labels =
      tables::label_places(points.labels.to(at::kCPU).contiguous());
  const at::Tensor& data = points.data;
  if (internal::is_plain(data)) {
    return internal::visit_values(data, [&](const auto* values) {
      return merge_plain(
          labels, values, data.size(1), [](std::int64_t) { return 1; },
          [](std::int64_t) { return 0.0; });
    });
  }
  if (internal::are_fusible(data)) return fused_moments(labels, data);
  const at::Tensor wide = data.to(at::kDouble);
  return merge_tensors(labels, at::ones({size}, points.labels.options()), wide,
                       at::zeros({size}, wide.options().requires_grad(false)));
}

void check_fit(const at::Tensor& labels, const at::Tensor& counts,
               const at::Tensor& means, const at::Tensor& squares) {
  const bool fits = labels.dim() == 1 && labels.scalar_type() == at::kLong &&
                    counts.sizes() == labels.sizes() &&
                    counts.scalar_type() == at::kLong &&
                    squares.sizes() == labels.sizes() &&
                    squares.scalar_type() == at::kDouble && means.dim() == 2 &&
                    means.size(0) == labels.size(0) && means.size(1) > 0 &&
                    means.scalar_type() == at::kDouble;
  TORCH_CHECK_VALUE(fits,
                    "expected labels, counts, means and squares of clusters in "
                    "the state, got labels ",
                    labels.sizes(), ", counts ", counts.sizes(), ", means ",
                    means.sizes(), ", squares ", squares.sizes());
}

std::int64_t total_of(const at::Tensor& counts) {
  const at::Tensor plain = counts.to(at::kCPU).contiguous();
  const auto* const count = plain.const_data_ptr<std::int64_t>();
  std::int64_t total = 0;
  bool fits = true;
  for (std::int64_t i = 0; i < plain.numel(); ++i) {
    fits = fits && count[i] > 0 &&
           !__builtin_add_overflow(total, count[i], &total);
  }
  TORCH_CHECK_VALUE(fits,
                    "expected counts of at least 1 in the state, that add up "
                    "to less than 2^63, got others");
  return total;
}

}  // namespace

LabelPairs::State LabelPairs::observe(const Keys& preds,
                                      const Keys& target) const {
  const auto [own, other] = internal::key_pair(preds, target, num_classes_);
  clustering::check_label_pairs(own, other);
  const auto plain = [](const at::Tensor& labels) {
    const at::Tensor dense = labels.to(at::kCPU, at::kLong).contiguous();
    return dense.dim() == 1 ? dense : dense.view(-1);
  };
  const at::Tensor rows = plain(own);
  const at::Tensor columns = plain(other);
  tables::check_label_range("preds", rows, num_classes_);
  tables::check_label_range("target", columns, num_classes_);
  State state;
  if (rows.numel() > 0) {
    state.cells = Rows(tables::count_pairs(rows, columns).to(own.device()));
  }
  return state;
}

ClusterSamples::State ClusterSamples::observe(const at::Tensor& data,
                                              const Keys& labels) const {
  const auto points =
      clustering::labeled_points(data, labels.beside(data), nan_policy_);
  const at::ScalarType dtype = data.scalar_type();
  const bool is_narrow =
      dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
  return {Rows(points.data.to(is_narrow ? at::kFloat : at::kDouble)),
          Rows(points.labels)};
}

clustering::KeptPoints clustering::kept_points(const Rows& data,
                                               const Rows& labels) {
  if (data.size() == 0 && labels.size() == 0) return {};
  TORCH_CHECK_VALUE(data.size() == labels.size(),
                    "expected as many labels as points in the state, got ",
                    labels.size(), " and ", data.size());
  KeptPoints points{data.tensor().to(at::kCPU), labels.tensor().to(at::kCPU)};
  TORCH_CHECK_VALUE(
      points.data.dim() == 2 && points.data.size(1) > 0 &&
          at::isFloatingType(points.data.scalar_type()) &&
          points.labels.dim() == 1 && points.labels.scalar_type() == at::kLong,
      "expected points [N, D] and int64 labels [N] in the state, got ",
      points.data.scalar_type(), " ", points.data.sizes(), " and ",
      points.labels.scalar_type(), " ", points.labels.sizes());
  return points;
}

ClusterMoments::State ClusterMoments::observe(const at::Tensor& data,
                                              const Keys& labels) const {
  const auto points =
      clustering::labeled_points(data, labels.beside(data), nan_policy_);
  if (points.data.size(0) == 0) return {};
  MergedMoments moments = moments_of_points(points);
  State state;
  state.labels = Rows(std::move(moments.labels));
  state.counts = Rows(std::move(moments.counts));
  state.means = Rows(std::move(moments.means));
  state.squares = Rows(std::move(moments.squares));
  return state;
}

clustering::MergedMoments clustering::merged_moments(
    const ClusterMoments::State& state) {
  if (!state.labels.defined() || !state.counts.defined() ||
      !state.means.defined() || !state.squares.defined()) {
    TORCH_CHECK_VALUE(!state.labels.defined() && !state.counts.defined() &&
                          !state.means.defined() && !state.squares.defined(),
                      "expected labels, counts, means and squares of clusters "
                      "in the state, got some of them");
    return {};
  }
  const at::Tensor labels = state.labels.tensor();
  const at::Tensor counts = state.counts.tensor();
  const at::Tensor means = state.means.tensor();
  const at::Tensor squares = state.squares.tensor();
  check_fit(labels, counts, means, squares);
  const std::int64_t total = total_of(counts);
  if (total == 0) return {};
  const tables::LabelPlaces places =
      tables::label_places(labels.to(at::kCPU).contiguous());
  MergedMoments merged;
  if (is_plain(means) && is_plain(squares) && is_plain(counts)) {
    const auto* const count = counts.const_data_ptr<std::int64_t>();
    const auto* const square = squares.const_data_ptr<double>();
    merged = merge_plain(
        places, means.const_data_ptr<double>(), means.size(1),
        [=](std::int64_t i) { return count[i]; },
        [=](std::int64_t i) { return square[i]; });
  } else {
    merged = merge_tensors(places, counts, means, squares);
  }
  merged.total = total;
  return merged;
}

void ClusterMoments::State::compact() {
  if (!tables::are_many(labels.size(), distinct) || means.requires_grad() ||
      squares.requires_grad()) {
    return;
  }
  MergedMoments merged = clustering::merged_moments(*this);
  distinct = merged.clusters();
  if (distinct == labels.size()) return;
  labels = Rows(std::move(merged.labels));
  counts = Rows(std::move(merged.counts));
  means = Rows(std::move(merged.means));
  squares = Rows(std::move(merged.squares));
}

}  // namespace tally
