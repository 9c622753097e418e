#include "tally/python/csrc/library.h"

#include <torch/library.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/losses/codebook/lfq.h"
#include "tally/losses/registry/loss_registry.h"
#include "tally/metrics/features/learned_perceptual_image_patch_similarity.h"
#include "tally/metrics/metric_spec.h"
#include "tally/metrics/pairwise/pairwise.h"
#include "tally/metrics/portable/any_metric.h"
#include "tally/python/csrc/description.h"
#include "tally/python/csrc/distinct_texts.h"
#include "tally/python/csrc/groups.h"
#include "tally/python/csrc/images.h"
#include "tally/python/csrc/option_names.h"
#include "tally/python/csrc/slice_key_values.h"
#include "tally/python/csrc/sync_error.h"
#include "tally/python/csrc/syncable.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/broadcast_parameters.h"
#include "tally/sync/gather.h"

namespace tally::python {
namespace {

thread_local SyncErrorParts last_error;

}  // namespace

void note_sync_error(const sync::SyncError& error) {
  const sync::SyncErrorDetails& details = error.details();
  last_error = {to_string(error.code()),
                error.message(),
                details.metric,
                details.state,
                details.rank,
                {details.peers.begin(), details.peers.end()},
                details.sequence,
                details.phase};
}

SyncErrorParts take_sync_error() {
  return std::exchange(last_error, SyncErrorParts());
}

namespace {

using at::Tensor;
using Seconds = std::optional<double>;

/// `call()`, whose error take_sync_error() gives.
template <class Call>
auto noted(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const sync::SyncError& error) {
    note_sync_error(error);
    throw;
  }
}

std::vector<Tensor> gather_all_tensors(const Tensor& tensor,
                                       std::string gradient_flow,
                                       const Group& group,
                                       const Seconds& timeout) {
  return noted([&] {
    return sync::gather_all_tensors(tensor, gradient_flow_of(gradient_flow),
                                    communicator_of(group),
                                    timeout_of(timeout));
  });
}

PairwiseOptions pairwise_options(const std::string& reduction,
                                 std::optional<bool> zero_diagonal) {
  return PairwiseOptions()
      .reduction(choice_of<PairReduction>("reduction", reduction))
      .zero_diagonal(zero_diagonal);
}

template <Tensor (*function)(const Tensor&, const Tensor&,
                             const PairwiseOptions&)>
Tensor pairwise(const Tensor& x, const std::optional<Tensor>& y,
                std::string reduction, std::optional<bool> zero_diagonal) {
  return function(x, y.value_or(Tensor()),
                  pairwise_options(reduction, zero_diagonal));
}

Tensor minkowski_distance(const Tensor& x, const std::optional<Tensor>& y,
                          double exponent, std::string reduction,
                          std::optional<bool> zero_diagonal) {
  return pairwise_minkowski_distance(
      x, y.value_or(Tensor()), exponent,
      pairwise_options(reduction, zero_diagonal));
}

/// A name and options.
using SpecParts = std::tuple<std::string, c10::Dict<std::string, std::string>>;

SpecParts parse_spec(std::string text) {
  MetricSpec spec = parse_metric_spec(text);
  c10::Dict<std::string, std::string> options;
  for (const auto& [name, value] : spec.options) options.insert(name, value);
  return {std::move(spec.name), std::move(options)};
}

/// Those of the loss that a text describes.
SpecParts loss_of_text(std::string text) {
  losses::loss_entry(parse_metric_spec(text).name);
  return parse_spec(std::move(text));
}

/// Names and texts.
std::vector<std::tuple<std::string, std::string>> items_of_text(
    std::string text) {
  std::vector<std::tuple<std::string, std::string>> items;
  for (auto& [name, item] : parse_items(text)) items.emplace_back(name, item);
  return items;
}

/// The items of "[a, b]".
Strings list_of_text(std::string text) {
  Strings items;
  const auto refusal = OptionRef(items).set(text);
  TORCH_CHECK_VALUE(!refusal, "expected ", refusal->expected, ", got '",
                    refusal->got, "'");
  return items;
}

/// What the bytes of a state are one of, and if they do not say, why.
std::tuple<StatusParts, std::string> spec_of_bytes(const Tensor& bytes) {
  const auto made = empty_from_bytes(bytes_of(bytes));
  return {parts_of(made.status()), made.ok() ? base_of(*made).spec() : ""};
}

// Static methods rather than operators of torch.ops: those would have to say
// what they do to each dispatch key.
struct Functions final : torch::CustomClassHolder {};

}  // namespace

void define_functions(torch::Library& m) {
  m.class_<Functions>("Functions")
      .def_static("description", [] { return description(); })
      .def_static("loss_of_text", &loss_of_text)
      .def_static("parse_spec", &parse_spec)
      .def_static("items_of_text", &items_of_text)
      .def_static("list_of_text", &list_of_text)
      .def_static("keys_of_text",
                  [](const std::string& text) { return keys_of_text(text); })
      .def_static("spec_of_bytes", &spec_of_bytes)
      .def_static("flatten_layers",
                  [](const std::vector<Tensor>& layers) {
                    return flatten_layers(layers);
                  })
      .def_static("image_fields", [] { return image_fields(); })
      .def_static("distinct_rows", &distinct_rows)
      .def_static("distinct_texts", &distinct_texts)
      .def_static("distinct_views", &distinct_views)
      .def_static("set_default_group",
                  [](const Group& group) { set_default_group(group); })
      .def_static("forget_groups", [] { forget_groups(); })
      .def_static("take_sync_error", [] { return take_sync_error(); })
      .def_static("gather_all_tensors", &gather_all_tensors)
      .def_static("pairwise_cosine_similarity",
                  &pairwise<pairwise_cosine_similarity>)
      .def_static("pairwise_euclidean_distance",
                  &pairwise<pairwise_euclidean_distance>)
      .def_static("pairwise_linear_similarity",
                  &pairwise<pairwise_linear_similarity>)
      .def_static("pairwise_manhattan_distance",
                  &pairwise<pairwise_manhattan_distance>)
      .def_static("pairwise_minkowski_distance", &minkowski_distance)
      .def_static("average_gradients",
                  [](const std::vector<Tensor>& parameters, const Group& group,
                     const Seconds& timeout) {
                    noted([&] {
                      sync::average_gradients(parameters,
                                              communicator_of(group),
                                              timeout_of(timeout));
                    });
                  })
      .def_static("broadcast_parameters",
                  [](const std::vector<Tensor>& tensors, std::int64_t root,
                     const Group& group, const Seconds& timeout) {
                    noted([&] {
                      sync::broadcast_parameters(
                          tensors, static_cast<int>(root),
                          communicator_of(group), timeout_of(timeout));
                    });
                  });
}

namespace {

// A class has to be known before others name it.
TORCH_LIBRARY(tally, m) {
  define_metrics(m);
  define_losses(m);
  define_interval_metric(m);
  define_model_comparison(m);
  define_metric_logger(m);
  define_sliced_metric(m);
  define_slice_comparison(m);
  define_metric_tracker(m);
  define_named_sets(m);
  define_functions(m);
  define_plots(m);
  define_progress(m);
  define_statistics(m);
}

}  // namespace

}  // namespace tally::python
