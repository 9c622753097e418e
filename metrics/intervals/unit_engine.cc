#include "tally/metrics/intervals/unit_engine.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/core/sorted_rows.h"
#include "tally/metrics/intervals/row_sums.h"
#include "tally/metrics/intervals/row_units.h"
#include "tally/metrics/intervals/state_checks.h"
#include "tally/metrics/progress.h"
#include "tally/metrics/resampling/jackknife.h"
#include "tally/state/state_parts.h"

namespace tally::internal::intervals {
namespace {

/// Which rows are correct, in any order.
struct RowMatches {
  Rows ids;   // int64
  Rows bits;  // uint8: those of MatchSampling
  void fields(Fields& f) { f("matches.ids", ids)("matches.bits", bits); }
};

/// Of more rows, files would be too large.
constexpr std::int64_t kMostMatches = 10'000'000;

// Whether a row left nothing, such as one that is ignored.
bool adds_nothing(const AnyState& state) {
  for (const Field& field : state.fields()) {
    switch (field.kind) {
      case Field::Kind::kInt:
        if (field.merge == Merge::kSum && field.as_int() != 0) return false;
        break;
      case Field::Kind::kNumber:
        if (field.as_number().value() != 0) return false;
        break;
      case Field::Kind::kTensor:
        if (field.as_tensor().defined() &&
            field.as_tensor().ne(0).any().item<bool>()) {
          return false;
        }
        break;
      case Field::Kind::kRows:
        if (field.as_rows().size() != 0) return false;
        break;
      case Field::Kind::kNote:
        break;
    }
  }
  return true;
}

// How many rows are in a state that keeps them as they came.
double rows_in(const AnyState& state) {
  std::int64_t rows = 0;
  for (const Field& field : state.fields()) {
    if (field.kind == Field::Kind::kRows) {
      rows = std::max(rows, field.as_rows().size());
    }
  }
  return static_cast<double>(rows);
}

// How many units have rows that decide the value, where these add up to those
// of all together; otherwise all units.
double deciding_units(const MetricSampling& sampling,
                      const std::vector<AnyState>& states, double deciding) {
  const auto all = static_cast<double>(states.size());
  if (deciding != deciding) return all;
  double sum = 0;
  double count = 0;
  for (const AnyState& state : states) {
    const double own = deciding_rows(sampling, state);
    sum += own;
    count += own > 0;
  }
  return sum == deciding ? count : all;
}

// What some of several units have alone. None where that is another number of
// values than `elements`, those of all units.
std::map<std::size_t, std::vector<double>> some_alone(
    const Metric& metric, const std::vector<AnyState>& states,
    std::size_t elements) {
  std::map<std::size_t, std::vector<double>> some;
  const std::size_t count = states.size();
  if (count < 2) return {};
  for (const std::size_t k :
       {std::size_t{0}, count / 3, 2 * count / 3, count - 1}) {
    some[k] = flat_result(metric, states[k]).values;
    if (some[k].size() != elements) return {};
  }
  return some;
}

// What units have alone, if the value is their mean: checked by that of some.
std::vector<double> alone_of(
    std::size_t element, const UnitValues& values, const UnitBasis& basis,
    const std::map<std::size_t, std::vector<double>>& some) {
  if (some.empty()) return {};
  std::vector<double> alone =
      alone_by_mean(values.value, values.without, basis);
  for (const auto& [k, own] : some) {
    constexpr double kRounding = 1e-7;
    if (!(std::abs(own[element] - alone[k]) <=
          kRounding * std::max(1.0, std::abs(own[element])))) {
      return {};
    }
  }
  return alone;
}

// Which elements are rates of no rows. Weighted rows are not known here: then
// none has any.
std::vector<bool> missing_rates(const MetricSampling& sampling,
                                const AnyState& state) {
  std::vector<bool> missing;
  if (!sampling.rate) return missing;
  bool has_rows = false;
  for (const Proportion& rate : sampling.rate->proportions(state)) {
    missing.push_back(rate.n == 0);
    has_rows = has_rows || rate.n > 0;
  }
  return has_rows ? missing : std::vector<bool>();
}

// The width's coefficient of variation over seeds is one over the root of twice
// their number: 4.5 %.
constexpr std::int64_t kAutomaticBlocks = 250;

}  // namespace

UnitEngine::UnitEngine(std::unique_ptr<Metric> metric,
                       const IntervalOptions& options)
    : IntervalEngine(std::move(metric), options),
      sampling_(metric_->sampling()),
      weight_place_(place_of(metric_->inputs(), "weight")),
      empty_(std::make_shared<const AnyState>(metric_->make_state())),
      keeps_rows_(keeps_rows(*empty_)),
      rules_{options.blocks() > 0 ? options.blocks() : kAutomaticBlocks,
             options.seed()} {}

AnyState UnitEngine::identity() const {
  AnyState units = AnyState::of(UnitStates(empty_, rules_));
  if (!keeps_matches()) return units;
  return AnyState::of(StateParts(
      {{"units", std::move(units)}, {"matches", AnyState::of(RowMatches())}}));
}

const AnyState& UnitEngine::units_in(const AnyState& state) const {
  return keeps_matches() ? state.get<StateParts>().parts()[0] : state;
}

StateKey UnitEngine::key() const {
  return "Units(blocks=" + std::to_string(rules_.blocks) +
         ", seed=" + std::to_string(options_.seed()) +
         (keeps_matches() ? ", matches; " : "; ") + metric_->state_key() + ")";
}

at::Tensor UnitEngine::weights_of(Inputs inputs, std::size_t rows) const {
  if (!weight_place_ || inputs.size() <= *weight_place_) return {};
  const auto* const weight = inputs[*weight_place_].as<at::Tensor>();
  if (weight == nullptr || !weight->defined() || weight->dim() != 1 ||
      weight->numel() != static_cast<std::int64_t>(rows)) {
    return {};
  }
  return weight->detach().to(at::kCPU, at::kDouble).contiguous();
}

AnyState UnitEngine::observe(Inputs inputs,
                             const std::vector<std::int64_t>& ids) const {
  AnyState units = observe_units(inputs, ids);
  if (!keeps_matches()) return units;
  return AnyState::of(StateParts({{"units", std::move(units)},
                                  {"matches", observe_matches(inputs, ids)}}));
}

AnyState UnitEngine::observe_matches(
    Inputs inputs, const std::vector<std::int64_t>& ids) const {
  RowMatches rows;
  const bool has_weights = inputs.size() > 2 && !inputs[2].is_none();
  if (has_weights || ids.empty()) return AnyState::of(std::move(rows));
  const at::Tensor bits =
      sampling_.matches
          ->matches(*inputs[0].as<at::Tensor>(), *inputs[1].as<at::Tensor>())
          .cpu()
          .contiguous()
          .reshape(-1);
  // Of several positions in a row, none is known.
  if (bits.numel() != static_cast<std::int64_t>(ids.size())) {
    return AnyState::of(std::move(rows));
  }
  rows.bits = Rows(bits.clone());
  rows.ids = Rows(tensor_of(ids));
  return AnyState::of(std::move(rows));
}

std::vector<RowMatch> UnitEngine::matches_of(const AnyState& state,
                                             const RowCount& count) const {
  if (!keeps_matches()) return {};
  const auto& rows = state.get<StateParts>().parts()[1].get<RowMatches>();
  if (rows.ids.size() != count.weighed || count.weighed > kMostMatches ||
      count.weighed == 0) {
    return {};
  }
  const at::Tensor ids = rows.ids.tensor().cpu();
  const at::Tensor bits = rows.bits.tensor().cpu();
  check_state_sizes("bits", bits, ids.sizes());
  const auto* const id = ids.const_data_ptr<std::int64_t>();
  const auto* const bit = bits.const_data_ptr<std::uint8_t>();
  std::vector<std::int64_t> order(static_cast<std::size_t>(ids.numel()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return id[a] < id[b]; });
  std::vector<RowMatch> matches;
  for (const std::int64_t row : order) matches.push_back(row_match(bit[row]));
  return matches;
}

AnyState UnitEngine::observe_units(Inputs inputs,
                                   const std::vector<std::int64_t>& ids) const {
  AnyState batch = AnyState::of(UnitStates(empty_, rules_));
  auto& states = batch.get<UnitStates>();
  const auto rows = static_cast<std::int64_t>(ids.size());
  AnyState whole = observe_batch(*metric_, inputs);
  states.add_notes(whole);
  if (ids.empty()) return batch;
  const RowUnits units = units_of_rows(ids, rules_);
  const at::Tensor weights = weights_of(inputs, ids.size());
  if (!weights.defined() && has_row_of_each(whole, rows)) {
    states.add_rows(in_order(whole, units.order), units.ids, units.lengths,
                    units.are_blocks);
    return batch;
  }
  std::vector<UnitState> parts(units.ids.size());
  const auto* const weight =
      weights.defined() ? weights.const_data_ptr<double>() : nullptr;
  const auto weight_of = [&](std::size_t row) {
    return weight == nullptr ? 1 : weight[row];
  };
  for (std::size_t k = 0; k < parts.size(); ++k) {
    parts[k].id = units.ids[k];
    parts[k].rows = static_cast<double>(units.lengths[k]);
  }
  bool has_rows = false;
  for (const InputRef& input : inputs) has_rows = has_rows || input.rows() >= 0;
  const bool adds_up = sampling_.row_sums && has_rows && rows_in(whole) == 0;
  const at::Tensor sums = adds_up ? sampling_.row_sums(inputs) : at::Tensor();
  const RowSums reader(adds_up ? whole : metric_->make_state());
  if (sums.defined() && sums.size(1) == reader.width()) {
    const std::int64_t width = reader.width();
    std::vector<double> by_unit(parts.size() * static_cast<std::size_t>(width));
    const auto* from = sums.const_data_ptr<double>();
    for (std::size_t row = 0; row < ids.size(); ++row, from += width) {
      const auto code = static_cast<std::size_t>(units.codes[row]);
      auto* const into =
          by_unit.data() + code * static_cast<std::size_t>(width);
      bool is_empty = true;
      for (std::int64_t i = 0; i < width; ++i) {
        into[i] += from[i];
        is_empty = is_empty && from[i] == 0;
      }
      if (!is_empty) parts[code].size += weight_of(row);
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
      parts[k].state = metric_->make_state();
      reader.write(by_unit.data() + k * static_cast<std::size_t>(width), 1,
                   parts[k].state);
    }
  } else if (!has_rows) {
    parts[0].state = std::move(whole);
    parts[0].size = 1;
  } else {
    const SortedRows sorted(units.codes, parts.size(), inputs);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      sorted.use(k, [&](Inputs own, std::int64_t) {
        parts[k].state = observe_batch(*metric_, own);
      });
    }
    for (std::size_t row = 0; row < ids.size(); ++row) {
      parts[static_cast<std::size_t>(units.codes[row])].size += weight_of(row);
    }
    if (weight == nullptr && keeps_rows_) {
      for (UnitState& part : parts) part.size = rows_in(part.state);
    }
  }
  states.add(parts, units.are_blocks);
  return batch;
}

DrawnUnits UnitEngine::units_of(const AnyState& state,
                                const RowCount& count) const {
  UnitStateList list = units_in(state).get<UnitStates>().units();
  const std::string owner = metric_->name();
  std::vector<AnyState> states;
  for (const UnitState& unit : list.units) states.push_back(unit.state);
  std::vector<AnyState> rests = without_each(*empty_, states, owner.c_str());
  DrawnUnits drawn;
  drawn.value = flat_result(*metric_, rests.back());
  bool grows = false;
  if (is_sum_of_rows(*empty_)) {
    AnyState both = rests.back();
    merge(both, rests.back(), owner.c_str());
    const FlatResult twice = flat_result(*metric_, both);
    for (std::size_t v = 0; v < drawn.value.values.size(); ++v) {
      grows = grows || doubles(drawn.value.values[v], twice.values.at(v));
    }
  }
  drawn.elements.resize(drawn.value.values.size());
  std::vector<AnyState> counted;
  for (std::size_t k = 0; k < states.size(); ++k) {
    const UnitState& unit = list.units[k];
    // All rows of a unit may be ignored; in a sum, zeros count. What a part of
    // it had alone must not matter, as parts are those of batches.
    double size = grows ? unit.rows : unit.size;
    if (!grows && adds_nothing(unit.state)) size = 0;
    if (!(size > 0)) continue;
    const FlatResult each = flat_result(*metric_, rests[k]);
    TORCH_CHECK_VALUE(each.values.size() == drawn.elements.size(), owner,
                      ": expected a result whose size does not depend on the "
                      "data, got ",
                      drawn.elements.size(), " and ", each.values.size(),
                      " numbers");
    for (std::size_t v = 0; v < each.values.size(); ++v) {
      drawn.elements[v].without.push_back(each.values[v]);
    }
    drawn.ids.push_back(unit.id);
    drawn.counted += size;
    drawn.basis.sizes.push_back(sampling_.unit_input ? 1 : size);
    counted.push_back(unit.state);
    report_progress("units", static_cast<std::int64_t>(k) + 1,
                    static_cast<std::int64_t>(states.size()));
  }
  drawn.are_missing = missing_rates(sampling_, rests.back());
  drawn.has_missing_class = count.rows > 0 && sampling_.has_missing_class &&
                            sampling_.has_missing_class(rests.back());
  drawn.basis.are_groups = count.are_groups;
  drawn.basis.units = list.are_blocks ? static_cast<double>(count.units)
                                      : static_cast<double>(counted.size());
  drawn.basis.deciding = deciding_rows(sampling_, rests.back());
  if (count.are_groups) {
    drawn.basis.deciding_units =
        deciding_units(sampling_, counted, drawn.basis.deciding);
  }
  const auto some = some_alone(*metric_, counted, drawn.elements.size());
  for (std::size_t v = 0; v < drawn.elements.size(); ++v) {
    UnitValues& own = drawn.elements[v];
    own.value = drawn.value.values[v];
    if (own.value == own.value) {
      own.alone = alone_of(v, own, drawn.basis, some);
    }
  }
  return drawn;
}

std::optional<DrawnResult> UnitEngine::draw(const AnyState& state,
                                            const RowCount& count) const {
  if (count.rows == 0) return std::nullopt;
  DrawnUnits units = units_of(state, count);
  DrawnResult drawn;
  drawn.value = std::move(units.value);
  drawn.basis = std::move(units.basis);
  drawn.ids = std::move(units.ids);
  drawn.counted = units.counted;
  drawn.matches = matches_of(state, count);
  for (UnitValues& own : units.elements) {
    drawn.are_means.push_back(is_mean_of_units(own, drawn.basis));
    drawn.replicates.push_back(std::move(own.without));
  }
  return drawn;
}

Intervals UnitEngine::intervals(const AnyState& state,
                                const RowCount& count) const {
  const DrawnUnits drawn = units_of(state, count);
  std::vector<Bounds> bounds;
  UnitBasis nothing = drawn.basis;
  nothing.deciding = 0;
  for (std::size_t v = 0; v < drawn.elements.size(); ++v) {
    const bool is_missing =
        v < drawn.are_missing.size() && drawn.are_missing[v];
    bounds.push_back(Bounds::of(
        unit_interval(drawn.elements[v], is_missing ? nothing : drawn.basis,
                      sampling_.range, options_.level())));
  }
  Interval unfilled = this->unfilled(
      count, static_cast<std::int64_t>(drawn.basis.sizes.size()));
  unfilled.units = drawn.basis.units;
  unfilled.counted = drawn.counted;
  unfilled.flags.add(IntervalFlag::kMissingClass, drawn.has_missing_class);
  return make_intervals(drawn.value, bounds, unfilled);
}

}  // namespace tally::internal::intervals
