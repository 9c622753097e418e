#include "tally/metrics/intervals/row_metric.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/weighed_rows.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/resampling/philox.h"
#include "tally/metrics/resampling/weight_kernels.h"
#include "tally/metrics/warnings.h"
#include "tally/sync/communicator.h"

namespace tally {
namespace {

using internal::intervals::PhiloxNumbers;
using internal::intervals::PhiloxStream;

/// What is accumulated besides the method's own state.
struct RowIds {
  std::int64_t rows = 0;
  std::int64_t weightless = 0;  // whose weight is 0
  std::int64_t numbered = 0;    // rows whose id is their number
  Rows ids;                     // int64, of those that have ids of their own
  Rows groups;                  // int64, of the groups, some more than once
  // Sums of the halves of a hash of each id: equal for the same ids in any
  // order.
  std::int64_t low_digest = 0;
  std::int64_t high_digest = 0;

  void fields(Fields& f) {
    f("rows", rows)("weightless", weightless)("numbered", numbered);
    f("ids", ids)("groups", groups);
    f("low_digest", low_digest)("high_digest", high_digest);
  }
  void compact() {
    constexpr std::int64_t kFew = 4096;
    if (groups.size() < kFew || groups.size() < 2 * least_groups_) return;
    groups = Rows(internal::tensor_of(distinct_groups()));
    least_groups_ = groups.size();
  }
  std::vector<std::int64_t> distinct_groups() const {
    std::vector<std::int64_t> distinct;
    if (groups.size() == 0) return distinct;
    const at::Tensor all = groups.tensor();
    const auto* const begin = all.const_data_ptr<std::int64_t>();
    distinct.assign(begin, begin + all.numel());
    make_distinct(distinct);
    return distinct;
  }
  static void make_distinct(std::vector<std::int64_t>& ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }
  void digest(const std::vector<std::int64_t>& some) {
    std::uint64_t sums[2] = {0, 0};
    internal::intervals::sum_words(
        PhiloxNumbers(0, PhiloxStream::kDigest).key(), PhiloxStream::kDigest,
        some.data(), static_cast<std::int64_t>(some.size()), sums);
    low_digest += static_cast<std::int64_t>(sums[0]);
    high_digest += static_cast<std::int64_t>(sums[1]);
  }
  /// Whether the ids are the numbers from 0 on, each once: not where rows that
  /// were numbered apart from each other have been merged. Of so many rows that
  /// it would take long, true.
  bool are_numbers() const {
    constexpr std::int64_t kMost = std::int64_t{1} << 27, kChunk = 1 << 16;
    if (numbered != rows) return false;
    if (rows > kMost) return true;
    RowIds numbers;
    std::vector<std::int64_t> chunk;
    for (std::int64_t begin = 0; begin < rows; begin += kChunk) {
      chunk.resize(static_cast<std::size_t>(std::min(kChunk, rows - begin)));
      std::iota(chunk.begin(), chunk.end(), begin);
      numbers.digest(chunk);
    }
    return numbers.low_digest == low_digest &&
           numbers.high_digest == high_digest;
  }

 private:
  std::int64_t least_groups_ = 0;  // what the last compact() left
};

void check_distinct(const char* owner, const Rows& ids) {
  if (ids.size() == 0) return;
  const at::Tensor all = ids.tensor();
  const auto* const begin = all.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> sorted(begin, begin + all.numel());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  TORCH_CHECK_VALUE(twice == sorted.end(), owner,
                    ": expected each id once, got ", *twice,
                    " again; rows that belong together need grouped, and rows "
                    "that only fill a batch a weight of 0");
}

enum Column : std::size_t { kState, kIds };

const RowIds& ids_of(const AnyState& state) { return state.get<RowIds>(); }

}  // namespace

RowMetric::RowMetric(Rules rules, const Metric& metric, AnyState identity,
                     StateKey key, std::size_t added_inputs)
    : MetricBase(metric.metric_options()), rules_(rules) {
  if (const auto place = internal::place_of(metric.inputs(), "weight")) {
    weight_place_ = *place + added_inputs;
  }
  if (const auto place = metric.sampling().unit_input;
      place && !rules.grouped) {
    unit_place_ = *place + added_inputs;
  }
  const bool on_cpu = metric.keeps_on_cpu();
  internal::StateColumn column{metric.name(), std::move(key),
                               std::move(identity), on_cpu};
  column.remarks = metric.remarks();
  // Blocks of rows, or two models.
  column.given =
      std::make_shared<internal::GivenWarnings>(internal::RowParts::kDisjoint);
  accumulation_.add_column(std::move(column));
  accumulation_.set_label(rules.owner);
  accumulation_.add_column({rules.owner, StateKey(rules.owner, typeid(RowIds)),
                            AnyState::of(RowIds()), /*on_cpu=*/true});
}

std::int64_t RowMetric::rows() const {
  const Reading reading(accumulation_);
  return ids_of(accumulation_.current(0, kIds)).rows;
}

bool RowMetric::is_over_ranks() const {
  return (is_synced() || metric_options().sync_on_compute()) &&
         accumulation_.communicator()->size() > 1;
}

void RowMetric::check_ids(const SampleIds* ids, std::int64_t rows) const {
  const RowIds& own = ids_of(accumulation_.cell(0, kIds).local);
  if (ids != nullptr) {
    TORCH_CHECK_VALUE(!unit_place_, rules_.owner, ": expected no ids, as ",
                      metric().name(), " draws each ", metric().sampling().unit,
                      " as a whole, by its input ",
                      metric().inputs()[*metric().sampling().unit_input].name,
                      "; for groups of them use grouped");
    TORCH_CHECK_VALUE(ids->size() == rows, rules_.owner,
                      ": expected an id for each of ", rows, " rows, got ",
                      ids->size());
    TORCH_CHECK_VALUE(!rules_.uses_ids || own.numbered == 0, rules_.owner,
                      ": expected no ids, as in earlier updates");
    return;
  }
  TORCH_CHECK_VALUE(!rules_.grouped, rules_.owner,
                    ": expected ids, those of the groups");
  if (!rules_.uses_ids || unit_place_) return;
  TORCH_CHECK_VALUE(own.rows == own.numbered, rules_.owner,
                    ": expected ids, as in earlier updates");
  TORCH_CHECK_VALUE(!is_over_ranks(), rules_.owner,
                    ": expected ids, which a row's number cannot replace on ",
                    accumulation_.communicator()->size(), " ranks");
}

std::vector<std::int64_t> RowMetric::ids_of_units(const SampleIds* ids,
                                                  Inputs inputs,
                                                  std::int64_t rows) const {
  if (ids != nullptr) return ids->values();
  if (unit_place_) {
    TORCH_CHECK_VALUE(inputs.size() > *unit_place_, rules_.owner,
                      ": expected the input that says the units, got ",
                      inputs.size(), " inputs");
    const auto units =
        internal::InputConversion<Keys>::of(inputs[*unit_place_]);
    TORCH_CHECK_VALUE(
        units && units->tensor().defined() && units->tensor().dim() <= 1,
        rules_.owner,
        ": expected a tensor [N] or N texts that say the units "
        "of rows");
    return SampleIds(units->tensor().reshape(-1).cpu()).values();
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows));
  std::iota(numbers.begin(), numbers.end(),
            ids_of(accumulation_.cell(0, kIds).local).rows);
  return numbers;
}

std::vector<AnyState> RowMetric::observe_rows(const SampleIds* ids,
                                              Inputs inputs) const {
  const std::int64_t rows = internal::intervals::rows_of_inputs(inputs);
  check_ids(ids, rows);
  RowIds batch_ids;
  batch_ids.rows = rows;
  const bool has_ids = rules_.uses_ids || ids != nullptr;
  std::vector<std::int64_t> own;
  if (has_ids) own = ids_of_units(ids, inputs, rows);
  const internal::intervals::WeighedRows weighed(inputs, weight_place_, rows);
  const bool is_numbered = has_ids && ids == nullptr && !unit_place_;
  if (is_numbered) batch_ids.digest(own);
  if (has_ids) own = weighed.selected(std::move(own));
  batch_ids.weightless = weighed.left_out();
  if (rules_.grouped || unit_place_) {
    std::vector<std::int64_t> distinct = own;
    RowIds::make_distinct(distinct);
    if (!distinct.empty()) {
      batch_ids.groups = Rows(internal::tensor_of(distinct));
    }
  } else if (ids != nullptr) {
    if (!own.empty()) batch_ids.ids = Rows(internal::tensor_of(own));
  }
  if (is_numbered) {
    batch_ids.numbered = rows;
  } else {
    batch_ids.digest(own);
  }
  std::vector<AnyState> batch;
  batch.push_back(observe(weighed.inputs(),
                          rules_.uses_ids ? own : std::vector<std::int64_t>()));
  batch.push_back(AnyState::of(std::move(batch_ids)));
  return batch;
}

void RowMetric::update_named(const SampleIds* ids, NamedInputs given) {
  update_by(given, [&] {
    internal::OrderedInputs ordered;
    input_order_.arrange(
        given, inputs(), [this](std::size_t) { return metric().name(); },
        ordered);
    return observe_rows(ids, ordered);
  });
}

void RowMetric::update_rows(const SampleIds* ids, Inputs inputs) {
  update_by(inputs, [&] { return observe_rows(ids, inputs); });
}

internal::intervals::RowCount RowMetric::count_of(
    const internal::StateRows& rows) const {
  const RowIds& ids = ids_of(rows[kIds]);
  TORCH_CHECK_VALUE(ids.numbered == 0 || !is_over_ranks(), rules_.owner,
                    ": expected ids, which a row's number cannot replace on ",
                    accumulation_.communicator()->size(), " ranks");
  TORCH_CHECK_VALUE(ids.numbered == 0 || ids.are_numbers(), rules_.owner,
                    ": expected ids, which a row's number cannot replace where "
                    "states were merged");
  check_distinct(rules_.owner, ids.ids);
  internal::intervals::RowCount count;
  count.rows = ids.rows;
  count.weighed = ids.rows - ids.weightless;
  count.units = rules_.grouped || unit_place_
                    ? static_cast<std::int64_t>(ids.distinct_groups().size())
                    : count.weighed;
  count.are_groups = rules_.grouped;
  count.digest = static_cast<std::int64_t>(
      static_cast<std::uint64_t>(ids.high_digest) << 32 ^
      static_cast<std::uint64_t>(ids.low_digest));
  return count;
}

void RowMetric::warn_of(IntervalFlags flags) const {
  const bool speaks =
      !is_over_ranks() || accumulation_.communicator()->rank() == 0;
  for (const IntervalFlag flag : flags.list()) {
    accumulation_.column().given->give(
        {metric().name(), internal::OptionType<IntervalFlag>::print(flag), 0, 0,
         -1, words(flag), ""},
        speaks);
  }
}

void RowMetric::merge_rows(const RowMetric& other) {
  const auto check = [](const RowMetric& each) {
    const Reading reading(each.accumulation_);
    TORCH_CHECK_VALUE(
        ids_of(each.accumulation_.cell(0, kIds).local).numbered == 0,
        each.rules_.owner,
        ": expected ids, which a row's number cannot replace where states are "
        "merged");
  };
  check(*this);
  check(other);
  merge_from(other);
}

void RowMetric::copy_into(RowMetric& copy) const {
  copy.accumulation_.set_options(metric_options());
  copy.accumulation_.copy_state(accumulation_);
}

}  // namespace tally
