#include "tally/metrics/intervals/row_metric.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "tally/metrics/checkpoint.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/kernels/philox.h"
#include "tally/metrics/intervals/kernels/weight_kernels.h"
#include "tally/metrics/intervals/row_accumulator.h"
#include "tally/state/outside_inference.h"
#include "tally/sync/exchange/state_sync.h"

namespace tally {
namespace internal::intervals {
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
    std::uint64_t sums[2] = {0, 0};
    sum_words(PhiloxNumbers(0, PhiloxStream::kDigest).key(),
              PhiloxStream::kDigest, some.data(),
              static_cast<std::int64_t>(some.size()), sums);
    low_digest += static_cast<std::int64_t>(sums[0]);
    high_digest += static_cast<std::int64_t>(sums[1]);
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

void check_distinct(const char* owner, const Rows& ids) {
  if (ids.size() == 0) return;
  const at::Tensor all = ids.tensor();
  const auto* const begin = all.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> sorted(begin, begin + all.numel());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  TORCH_CHECK_VALUE(twice == sorted.end(), owner,
                    ": expected each id once, got ", *twice,
                    " again; rows that belong together need grouped");
}

}  // namespace

struct RowAccumulator::Held {
  AnyState state;
  RowIds ids;
  // Blocks of rows, or two models.
  std::shared_ptr<GivenWarnings> given =
      std::make_shared<GivenWarnings>(RowParts::kDisjoint);
};

RowAccumulator::RowAccumulator(Rules rules)
    : rules_(std::move(rules)), held_(std::make_unique<Held>()) {
  reset();
}

RowAccumulator::RowAccumulator(RowAccumulator&&) noexcept = default;
RowAccumulator& RowAccumulator::operator=(RowAccumulator&&) noexcept = default;
RowAccumulator::~RowAccumulator() = default;

std::int64_t RowAccumulator::rows() const { return held_->ids.rows; }

void RowAccumulator::reset() {
  *held_ = Held();
  held_->state = rules_.identity;
}

void RowAccumulator::check_ids(const Metric& metric, const SampleIds* ids,
                               std::int64_t rows) const {
  const RowIds& own = held_->ids;
  if (ids != nullptr) {
    TORCH_CHECK_VALUE(ids->size() == rows, rules_.owner,
                      ": expected an id for each of ", rows, " rows, got ",
                      ids->size());
    TORCH_CHECK_VALUE(!rules_.uses_ids || own.numbered == 0, rules_.owner,
                      ": expected no ids, as in earlier updates");
    return;
  }
  TORCH_CHECK_VALUE(!rules_.grouped, rules_.owner,
                    ": expected ids, those of the groups");
  if (!rules_.uses_ids) return;
  TORCH_CHECK_VALUE(own.rows == own.numbered, rules_.owner,
                    ": expected ids, as in earlier updates");
  TORCH_CHECK_VALUE(!syncs(metric), rules_.owner,
                    ": expected ids, which a row's number cannot replace on ",
                    ranks_of(metric)->size(), " ranks");
}

void RowAccumulator::update(const Metric& metric, const SampleIds* ids,
                            std::int64_t rows, Observe observe) {
  check_ids(metric, ids, rows);
  RowIds batch_ids;
  batch_ids.rows = rows;
  std::vector<std::int64_t> own;
  if (rules_.uses_ids && ids != nullptr) {
    own = ids->values();
    if (!rules_.grouped) batch_ids.ids = Rows(tensor_of(own));
  } else if (rules_.uses_ids) {
    own.resize(static_cast<std::size_t>(rows));
    std::iota(own.begin(), own.end(), held_->ids.rows);
    batch_ids.numbered = rows;
  }
  batch_ids.digest(own);
  AnyState batch = observe(own);
  BatchIntake intake;
  intake.to_cpu = metric.metric_options().compute_on_cpu();
  PendingMerge of_state(held_->state.ops(), held_->state.data(), batch.data(),
                        rules_.owner, intake);
  PendingMerge of_ids(state_ops<RowIds>(), &held_->ids, &batch_ids,
                      rules_.owner, intake);
  of_state.commit();
  of_ids.commit();
}

std::string RowAccumulator::serialize(const std::string& name) const {
  return write_checkpoint(
      {{name, rules_.key.text(), held_->state},
       {rules_.owner, rules_.owner, AnyState::of(held_->ids)}});
}

absl::Status RowAccumulator::deserialize(const std::string& name,
                                         std::string_view bytes) {
  std::vector<CheckpointEntry> entries = {
      {name, rules_.key.text(), rules_.identity},
      {rules_.owner, rules_.owner, AnyState::of(RowIds())}};
  const absl::Status status = read_checkpoint(
      bytes, entries, [](const CheckpointOrigin&) { return absl::OkStatus(); });
  if (status.ok()) {
    held_->state = std::move(entries[0].state);
    held_->ids = entries[1].state.get<RowIds>();
  }
  return status;
}

RowAccumulator::All RowAccumulator::merged(const Metric& metric) const {
  Held all;
  if (syncs(metric)) {
    std::vector<sync::internal::SyncItem> items;
    items.push_back({metric.name(), rules_.key, held_->state, rules_.identity});
    items.push_back(
        {rules_.owner,
         StateKey(std::string(rules_.owner) + "(" + metric.repr() + ")",
                  typeid(RowIds)),
         AnyState::of(held_->ids), AnyState::of(RowIds())});
    sync::internal::SyncOptions sync_options;
    sync_options.call = sync::internal::SyncCall::kCompute;
    sync_options.timeout = metric.metric_options().sync_timeout();
    auto synced =
        sync::internal::sync_states(items, ranks_of(metric), sync_options);
    all.state = std::move(synced.states[0]);
    all.ids = synced.states[1].get<RowIds>();
    TORCH_CHECK_VALUE(all.ids.numbered == 0, rules_.owner,
                      ": expected ids, which a row's number cannot replace on ",
                      ranks_of(metric)->size(), " ranks");
  } else {
    all = *held_;
  }
  check_distinct(rules_.owner, all.ids.ids);
  held_->given->give(metric.name(), &all.state, metric.remarks(),
                     !syncs(metric) || ranks_of(metric)->rank() == 0);
  return {std::move(all.state), all.ids.rows,
          static_cast<std::int64_t>(
              static_cast<std::uint64_t>(all.ids.high_digest) << 32 ^
              static_cast<std::uint64_t>(all.ids.low_digest))};
}

}  // namespace internal::intervals

void RowMetric::update_named(const SampleIds* ids, NamedInputs given) {
  internal::OrderedInputs ordered;
  input_order_.arrange(
      given, inputs(), [this](std::size_t) { return metric().name(); },
      ordered);
  update_rows(ids, ordered);
}

void RowMetric::update_rows(const SampleIds* ids, Inputs inputs) {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  accumulated_.update(metric(), ids,
                      internal::intervals::rows_of_inputs(inputs),
                      [&](const std::vector<std::int64_t>& own) {
                        return observe(inputs, own);
                      });
}

std::string RowMetric::serialize() const {
  const internal::OutsideInference outside;
  return accumulated_.serialize(metric().name());
}

absl::Status RowMetric::deserialize(std::string_view bytes) {
  const internal::OutsideInference outside;
  return accumulated_.deserialize(metric().name(), bytes);
}

}  // namespace tally
