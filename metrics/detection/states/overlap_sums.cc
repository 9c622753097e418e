#include "tally/metrics/detection/states/overlap_sums.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/detection/inputs/object_columns.h"
#include "tally/metrics/detection/kernels/image_pairs.h"
#include "tally/metrics/detection/kernels/overlap_formulas.h"
#include "tally/state/number.h"

namespace tally {
namespace {

namespace detection = internal::detection;
using detection::ComparedPair;
using detection::ObjectColumns;
using detection::ReadRules;

// So many images are worth another thread.
constexpr std::int64_t kGrain = 16;

std::vector<std::int64_t> values_of(const at::Tensor& integers) {
  const at::Tensor plain = integers.to(at::kCPU).contiguous();
  const auto* data = plain.const_data_ptr<std::int64_t>();
  return {data, data + plain.numel()};
}

std::vector<at::Tensor> boxes_of(const ImageObjectsList& list) {
  if (list.flat()) return {list.flat()->objects.boxes};
  std::vector<at::Tensor> boxes;
  for (const ImageObjects& image : list.images()) boxes.push_back(image.boxes);
  return boxes;
}

bool records(const ImageObjectsList& list) {
  if (!at::GradMode::is_enabled()) return false;
  const std::vector<at::Tensor> boxes = boxes_of(list);
  return std::any_of(boxes.begin(), boxes.end(), [](const at::Tensor& each) {
    return each.defined() && each.requires_grad();
  });
}

// float64 [objects, 4], with their graph: the edges that columns hold.
at::Tensor edges_of(const ImageObjectsList& list, BoxFormat default_format) {
  std::vector<at::Tensor> all = {at::zeros({0, 4}, at::kDouble)};
  const std::vector<at::Tensor> boxes = boxes_of(list);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!boxes[i].defined() || boxes[i].numel() == 0) continue;
    const ImageObjects& image =
        list.flat() ? list.flat()->objects : list.images()[i];
    const at::Tensor wide = boxes[i].to(at::kCPU, at::kDouble);
    const BoxFormat format = image.box_format.value_or(default_format);
    if (format == BoxFormat::kXYXY) {
      all.push_back(wide);
      continue;
    }
    at::Tensor first = wide.narrow(1, 0, 2);
    const at::Tensor size = wide.narrow(1, 2, 2);
    if (format == BoxFormat::kCXCYWH) first = first.sub(size.div(2));
    all.push_back(at::cat({first, first.add(size)}, 1));
  }
  return at::cat(all);
}

// Ascending, each once.
std::vector<std::int64_t> distinct(std::vector<std::int64_t> labels) {
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

// The place of each label among `all`.
at::Tensor places_of(const std::vector<std::int64_t>& labels,
                     const std::vector<std::int64_t>& all) {
  at::Tensor places =
      at::empty({static_cast<std::int64_t>(labels.size())}, at::kLong);
  auto* to = places.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t label : labels) {
    *to++ = std::lower_bound(all.begin(), all.end(), label) - all.begin();
  }
  return places;
}

// The overlaps of pairs with the numbers that they have, and the graph.
at::Tensor with_graph(const at::Tensor& overlaps,
                      const std::vector<ComparedPair>& pairs,
                      const at::Tensor& boxes, const at::Tensor& others,
                      BoxOverlap overlap) {
  at::Tensor places =
      at::empty({2, static_cast<std::int64_t>(pairs.size())}, at::kLong);
  auto* to = places.mutable_data_ptr<std::int64_t>();
  for (const ComparedPair& pair : pairs) {
    to[0] = static_cast<std::int64_t>(pair.detection);
    to[pairs.size()] = static_cast<std::int64_t>(pair.object);
    ++to;
  }
  const at::Tensor graph =
      detection::overlaps_of(boxes.index_select(0, places[0]),
                             others.index_select(0, places[1]), overlap);
  return overlaps.add(graph.sub(graph.detach()));
}

void check_pairs(const ObjectColumns& preds, const ObjectColumns& target) {
  for (std::size_t i = 0; i < preds.images(); ++i) {
    const std::int64_t boxes = preds.offsets[i + 1] - preds.offsets[i];
    const std::int64_t others = target.offsets[i + 1] - target.offsets[i];
    TORCH_CHECK_VALUE(boxes == others, "image ", i,
                      ": expected as many boxes in preds as in target with "
                      "pairs=paired, got ",
                      boxes, " and ", others);
  }
}

double sum_of(const at::Tensor& sums) {
  double sum = 0;
  const double* data = sums.const_data_ptr<double>();
  for (std::int64_t k = 0; k < sums.numel(); ++k) sum += data[k];
  return sum;
}

}  // namespace

OverlapSumsState OverlapSumsState::merge(const OverlapSumsState& a,
                                         const OverlapSumsState& b) {
  if (!a.labels.defined()) return b;
  if (!b.labels.defined()) return a;
  const std::vector<std::int64_t> of_a = values_of(a.labels);
  const std::vector<std::int64_t> of_b = values_of(b.labels);
  std::vector<std::int64_t> labels = of_a;
  labels.insert(labels.end(), of_b.begin(), of_b.end());
  labels = distinct(std::move(labels));
  const at::Tensor places_a = places_of(of_a, labels);
  const at::Tensor places_b = places_of(of_b, labels);
  OverlapSumsState all;
  all.labels = at::tensor(labels, at::kLong);
  const at::Tensor none = at::zeros({all.labels.numel()}, at::kLong);
  all.sums = none.to(at::kDouble)
                 .index_add(0, places_a, a.sums.to(at::kCPU))
                 .index_add(0, places_b, b.sums.to(at::kCPU));
  all.counts = none.index_add(0, places_a, a.counts.to(at::kCPU))
                   .index_add(0, places_b, b.counts.to(at::kCPU));
  return all;
}

OverlapSumsState detection::observe_overlaps(const ImageObjectsList& preds,
                                             const ImageObjectsList& target,
                                             BoxOverlap overlap,
                                             const BoxOverlapOptions& options,
                                             bool validate) {
  TORCH_CHECK_VALUE(preds.size() == target.size(),
                    "expected preds and target of as many images, got ",
                    preds.size(), " and ", target.size());
  const auto columns_of = [&](const char* input, const ImageObjectsList& list) {
    ReadRules rules{input, /*is_detected=*/false, options.box_format(),
                    validate};
    rules.only_boxes = true;
    return read_objects(list, rules);
  };
  const ObjectColumns found = columns_of("preds", preds);
  const ObjectColumns objects = columns_of("target", target);
  if (options.pairs() == BoxPairs::kPaired) check_pairs(found, objects);

  const ImagePairs image_pairs(found, objects, overlap, options);
  std::vector<std::vector<ComparedPair>> of_images(preds.size());
  at::parallel_for(0, static_cast<std::int64_t>(preds.size()), kGrain,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const auto image = static_cast<std::size_t>(i);
                       of_images[image] = image_pairs.of(image);
                     }
                   });
  std::vector<ComparedPair> pairs;
  for (const auto& own : of_images) {
    pairs.insert(pairs.end(), own.begin(), own.end());
  }

  const std::vector<std::int64_t> labels = distinct(objects.labels);
  std::vector<std::int64_t> labels_of_pairs;
  at::Tensor overlaps =
      at::empty({static_cast<std::int64_t>(pairs.size())}, at::kDouble);
  auto* to = overlaps.mutable_data_ptr<double>();
  for (const ComparedPair& pair : pairs) {
    labels_of_pairs.push_back(objects.labels[pair.object]);
    *to++ = pair.overlap;
  }
  if (records(preds) || records(target)) {
    overlaps =
        with_graph(overlaps, pairs, edges_of(preds, options.box_format()),
                   edges_of(target, options.box_format()), overlap);
  }
  OverlapSumsState state;
  state.labels = at::tensor(labels, at::kLong);
  const at::Tensor places = places_of(labels_of_pairs, labels);
  state.sums = at::zeros({state.labels.numel()}, at::kDouble)
                   .index_add(0, places, overlaps);
  state.counts = places.bincount(/*weights=*/{}, state.labels.numel());
  return state;
}

Results detection::overlap_results(const OverlapSumsState& state,
                                   BoxOverlap overlap,
                                   const BoxOverlapOptions& options) {
  const std::string name =
      EnumNames<BoxOverlap>::kNames[static_cast<int>(overlap)];
  const bool is_empty = !state.labels.defined();
  const at::Tensor sums =
      is_empty ? at::zeros({0}, at::kDouble) : state.sums.to(at::kCPU);
  const at::Tensor counts =
      is_empty ? at::zeros({0}, at::kLong) : state.counts.to(at::kCPU);
  const Number sum =
      sums.requires_grad() ? Number(sums.sum()) : Number(sum_of(sums));
  Results results;
  results.add(name, sum / Number(counts.sum()));
  if (options.class_metrics()) {
    const Dimensions classes{Dimension::kListedClass};
    results.add(name + "_per_class", sums.div(counts), classes);
    results.add("classes", is_empty ? at::zeros({0}, at::kLong) : state.labels,
                classes);
  }
  return results;
}

}  // namespace tally
