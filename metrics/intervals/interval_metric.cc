#include "tally/metrics/intervals/interval_metric.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tally/metrics/checkpoint.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/kernels/philox.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/state/outside_inference.h"
#include "tally/sync/exchange/state_sync.h"

namespace tally {

namespace intervals = internal::intervals;

namespace {

/// What is accumulated besides the method's own state.
struct RowIds {
  std::int64_t rows = 0;
  std::int64_t numbered = 0;  // rows whose id is their number
  Rows ids;                   // int64, of those that have ids
  // Sums of the halves of a hash of each id: equal for the same ids in any
  // order.
  std::int64_t low_digest = 0;
  std::int64_t high_digest = 0;

  void fields(Fields& f) {
    f("rows", rows)("numbered", numbered)("ids", ids);
    f("low_digest", low_digest)("high_digest", high_digest);
  }
  void digest(const std::vector<std::int64_t>& some) {
    const intervals::PhiloxNumbers hash(0, intervals::PhiloxStream::kDigest);
    for (const std::int64_t id : some) {
      const auto words = hash(0, id);
      low_digest += words[0];
      high_digest += words[1];
    }
  }
};

std::shared_ptr<sync::Communicator> ranks_of(const Metric& metric) {
  auto ranks = metric.metric_options().communicator();
  return ranks ? ranks : sync::default_communicator();
}

bool syncs(const Metric& metric) {
  return metric.metric_options().sync_on_compute() &&
         ranks_of(metric)->size() > 1;
}

at::Tensor tensor_of(const std::vector<std::int64_t>& ids) {
  at::Tensor tensor =
      at::empty({static_cast<std::int64_t>(ids.size())}, at::kLong);
  std::copy(ids.begin(), ids.end(), tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

void check_distinct(const Rows& ids) {
  if (ids.size() == 0) return;
  const at::Tensor all = ids.tensor();
  const auto* const begin = all.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> sorted(begin, begin + all.numel());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  TORCH_CHECK_VALUE(twice == sorted.end(), IntervalMetric::kName,
                    ": expected each id once, got ", *twice,
                    " again; rows that belong together need grouped");
}

}  // namespace

struct IntervalMetric::Accumulated {
  AnyState state;
  RowIds ids;
};

IntervalMetric::IntervalMetric(OwnedMetric metric, Options options)
    : engine_(intervals::make_engine(metric.take(kName), options)),
      accumulated_(std::make_unique<Accumulated>()) {
  reset();
}

IntervalMetric::IntervalMetric(IntervalMetric&&) noexcept = default;
IntervalMetric& IntervalMetric::operator=(IntervalMetric&&) noexcept = default;
IntervalMetric::~IntervalMetric() = default;

const IntervalOptions& IntervalMetric::options() const {
  return engine_->options();
}
const Metric& IntervalMetric::metric() const { return engine_->metric(); }
IntervalMethod IntervalMetric::method() const { return engine_->method(); }
bool IntervalMetric::uses_ids() const { return engine_->uses_ids(); }
std::int64_t IntervalMetric::rows() const { return accumulated_->ids.rows; }

void IntervalMetric::reset() {
  *accumulated_ = Accumulated{engine_->identity(), {}};
}

void IntervalMetric::update_named(const SampleIds* ids, NamedInputs inputs) {
  internal::OrderedInputs ordered;
  input_order_.arrange(
      inputs, metric().inputs(),
      [this](std::size_t) { return metric().name(); }, ordered);
  update_rows(ids, ordered);
}

void IntervalMetric::check_ids(const SampleIds* ids, std::int64_t rows) const {
  const RowIds& own = accumulated_->ids;
  if (ids != nullptr) {
    TORCH_CHECK_VALUE(ids->size() == rows, kName,
                      ": expected an id for each of ", rows, " rows, got ",
                      ids->size());
    TORCH_CHECK_VALUE(!uses_ids() || own.numbered == 0, kName,
                      ": expected no ids, as in earlier updates");
    return;
  }
  TORCH_CHECK_VALUE(!options().grouped(), kName,
                    ": expected ids, those of the groups");
  if (!uses_ids()) return;
  TORCH_CHECK_VALUE(own.rows == own.numbered, kName,
                    ": expected ids, as in earlier updates");
  TORCH_CHECK_VALUE(!syncs(metric()), kName,
                    ": expected ids, which a row's number cannot replace on ",
                    ranks_of(metric())->size(), " ranks");
}

void IntervalMetric::update_rows(const SampleIds* ids, Inputs inputs) {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  const std::int64_t rows = intervals::rows_of_inputs(inputs);
  check_ids(ids, rows);
  RowIds batch_ids;
  batch_ids.rows = rows;
  std::vector<std::int64_t> own;
  if (uses_ids() && ids != nullptr) {
    own = ids->values();
    if (!options().grouped()) batch_ids.ids = Rows(tensor_of(own));
  } else if (uses_ids()) {
    own.resize(static_cast<std::size_t>(rows));
    std::iota(own.begin(), own.end(), accumulated_->ids.rows);
    batch_ids.numbered = rows;
  }
  batch_ids.digest(own);
  AnyState batch = engine_->observe(inputs, own);
  BatchIntake intake;
  intake.to_cpu = metric().metric_options().compute_on_cpu();
  PendingMerge of_state(accumulated_->state.ops(), accumulated_->state.data(),
                        batch.data(), kName, intake);
  PendingMerge of_ids(state_ops<RowIds>(), &accumulated_->ids, &batch_ids,
                      kName, intake);
  of_state.commit();
  of_ids.commit();
}

IntervalMetric::Accumulated IntervalMetric::merged() const {
  if (!syncs(metric())) return *accumulated_;
  std::vector<sync::internal::SyncItem> items;
  items.push_back({metric().name(), engine_->key(), accumulated_->state,
                   engine_->identity()});
  items.push_back({kName,
                   StateKey(std::string(kName) + "(" + metric().repr() + ")",
                            typeid(RowIds)),
                   AnyState::of(accumulated_->ids), AnyState::of(RowIds())});
  sync::internal::SyncOptions sync_options;
  sync_options.call = sync::internal::SyncCall::kCompute;
  sync_options.timeout = metric().metric_options().sync_timeout();
  auto all =
      sync::internal::sync_states(items, ranks_of(metric()), sync_options);
  Accumulated sum{std::move(all.states[0]), all.states[1].get<RowIds>()};
  TORCH_CHECK_VALUE(sum.ids.numbered == 0, kName,
                    ": expected ids, which a row's number cannot replace on ",
                    ranks_of(metric())->size(), " ranks");
  return sum;
}

std::string IntervalMetric::serialize() const {
  const internal::OutsideInference outside;
  return internal::write_checkpoint(
      {{metric().name(), engine_->key().text(), accumulated_->state},
       {kName, kName, AnyState::of(accumulated_->ids)}});
}

absl::Status IntervalMetric::deserialize(std::string_view bytes) {
  const internal::OutsideInference outside;
  std::vector<internal::CheckpointEntry> entries = {
      {metric().name(), engine_->key().text(), engine_->identity()},
      {kName, kName, AnyState::of(RowIds())}};
  const absl::Status status = internal::read_checkpoint(
      bytes, entries,
      [](const internal::CheckpointOrigin&) { return absl::OkStatus(); });
  if (status.ok()) {
    *accumulated_ = Accumulated{std::move(entries[0].state),
                                entries[1].state.get<RowIds>()};
  }
  return status;
}

Intervals IntervalMetric::compute() {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  const Accumulated all = merged();
  check_distinct(all.ids.ids);
  return engine_->intervals(all.state, all.ids.rows);
}

Replicates IntervalMetric::replicates() {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  const Accumulated all = merged();
  check_distinct(all.ids.ids);
  const auto values = engine_->replicates(all.state, all.ids.rows);
  TORCH_CHECK_VALUE(!values.empty() && !values[0].empty(), kName,
                    ": expected rows, and method poisson or double_or_nothing, "
                    "got ",
                    all.ids.rows, " rows and ",
                    internal::OptionType<IntervalMethod>::print(method()));
  Replicates replicates;
  replicates.metric = metric().repr();
  replicates.method = method();
  replicates.seed = options().seed();
  replicates.n = all.ids.rows;
  replicates.digest = static_cast<std::int64_t>(
      static_cast<std::uint64_t>(all.ids.high_digest) << 32 ^
      static_cast<std::uint64_t>(all.ids.low_digest));
  auto element = values.begin();
  for (const auto& [name, interval] :
       engine_->intervals(all.state, all.ids.rows)) {
    const std::int64_t elements = interval.value.numel();
    at::Tensor drawn =
        at::empty({elements, options().replicates()}, at::kDouble);
    auto* into = drawn.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < elements; ++i, ++element) {
      into = std::copy(element->begin(), element->end(), into);
    }
    auto sizes = interval.value.sizes().vec();
    sizes.insert(sizes.begin(), options().replicates());
    replicates.values.add(name, interval.value);
    replicates.replicates.add(name, drawn.t().contiguous().reshape(sizes));
  }
  return replicates;
}

}  // namespace tally
