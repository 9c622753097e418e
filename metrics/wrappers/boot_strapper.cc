#include "tally/metrics/wrappers/boot_strapper.h"

#include <ATen/ops/quantile.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tally/metrics/common/hash.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/core/input_conversion.h"
#include "tally/metrics/core/metric_traits.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/resampling/replicate_weights.h"
#include "tally/metrics/wrappers/stacked_results.h"
#include "tally/state/state_parts.h"

namespace tally {
namespace {

// SplitMix64: the same numbers on every machine, and streams for any key.
class Random {
 public:
  explicit Random(std::initializer_list<std::int64_t> key) {
    for (const std::int64_t part : key) {
      state_ = internal::mixed(state_ ^ static_cast<std::uint64_t>(part));
    }
  }

  std::uint64_t next() {
    const std::uint64_t number = internal::mixed(state_);
    state_ += internal::kGoldenRatio;
    return number;
  }
  // In [0, 1), with 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_ = 0;
};

using Places = std::vector<std::int64_t>;

Places draw(Random& random, std::int64_t rows) {
  Places drawn(static_cast<std::size_t>(rows));
  for (std::int64_t& place : drawn) {
    place = std::min(
        static_cast<std::int64_t>(random.uniform() * static_cast<double>(rows)),
        rows - 1);
  }
  return drawn;
}

// Of rows that have none.
SampleIds ids_by_place(const BatchOrigin& origin, std::int64_t rows) {
  std::vector<std::int64_t> ids;
  for (std::int64_t row = 0; row < rows; ++row) {
    Random random({origin.rank(), origin.index(), row});
    ids.push_back(static_cast<std::int64_t>(random.next()));
  }
  return SampleIds(std::move(ids));
}

// Of `weights` [rows, copies].
Places draw_by_weights(const at::Tensor& weights, std::int64_t copy) {
  Places drawn;
  drawn.reserve(static_cast<std::size_t>(weights.size(0)));
  const std::uint8_t* weight = weights.const_data_ptr<std::uint8_t>() + copy;
  for (std::int64_t i = 0; i < weights.size(0); ++i, weight += weights.size(1))
    drawn.insert(drawn.end(), *weight, i);
  return drawn;
}

constexpr const char* kIds = "ids";

// What is resampled: inputs with rows as they are, and 0-dim tensors alone as
// one row each.
class Batch {
 public:
  Batch(std::vector<InputRef> inputs, c10::ArrayRef<InputInfo> declared)
      : inputs_(std::move(inputs)) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::int64_t rows = inputs_[i].rows();
      if (rows < 0 && !inputs_[i].as<at::Tensor>()) {
        internal::refuse_input_type(BootStrapper::kName, i, declared,
                                    typeid(at::Tensor), inputs_[i].type());
      }
      if (rows < 0) continue;
      TORCH_CHECK_VALUE(rows_ == -1 || rows == rows_, BootStrapper::kName,
                        ": expected inputs with the same number of rows, got ",
                        rows_, " and ", rows);
      rows_ = rows;
    }
    if (rows_ == -1) give_rows();
  }

  std::int64_t rows() const { return rows_; }

  /// Calls `use` with the rows at those places.
  template <class Use>
  void sample(const Places& places, const Use& use) const {
    std::vector<InputValue> drawn;
    drawn.reserve(inputs_.size());
    std::vector<InputRef> refs = inputs_;
    for (InputRef& ref : refs) {
      if (ref.rows() < 0) continue;
      drawn.push_back(ref.select(places));
      ref = drawn.back().ref();
    }
    use(Inputs(refs));
  }

 private:
  void give_rows() {
    single_.reserve(inputs_.size());
    for (InputRef& input : inputs_) {
      if (input.is_none()) continue;
      single_.push_back(input.as<at::Tensor>()->unsqueeze(0));
      input = InputRef::of(single_.back());
      rows_ = 1;
    }
  }

  std::vector<InputRef> inputs_;
  std::vector<at::Tensor> single_;
  std::int64_t rows_ = -1;
};

}  // namespace

void BootStrapperOptions::visit(OptionVisitor& v) {
  v("num_bootstraps", num_bootstraps_, OptionRole::kSize,
    "Number of resampled copies.");
  v("mean", mean_, OptionRole::kValue,
    "Whether to return the mean over the copies.");
  v("std", std_, OptionRole::kValue,
    "Whether to return the standard deviation over the copies.");
  v("quantile", quantile_, OptionRole::kValue,
    "Quantiles over the copies to return, each in [0, 1].");
  v("raw", raw_, OptionRole::kValue,
    "Whether to return the value of each copy.");
  v("sampling_strategy", sampling_strategy_,
    "How the rows of a batch are resampled.");
  v("seed", seed_, internal::words::kSeed);
}

void BootStrapperOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(num_bootstraps_ > 0, metric,
                    ": expected num_bootstraps to be at least 1, got ",
                    num_bootstraps_);
  for (const double q : quantile_) {
    TORCH_CHECK_VALUE(q >= 0 && q <= 1, metric,
                      ": expected quantiles in [0, 1], got ", q);
  }
  TORCH_CHECK_VALUE(mean_ || std_ || raw_ || !quantile_.empty(), metric,
                    ": expected at least one of mean, std, quantile and raw");
}

BootStrapper::BootStrapper(OwnedMetric metric, Options options)
    : MetricWrapper(kName, std::move(metric)), options_(std::move(options)) {
  options_.validate(kName);
  const AnyState identity = this->metric().make_state();
  TORCH_CHECK_VALUE(
      !this->metric().make_kept().defined(), kName,
      ": expected a metric that does not store computed values, got ",
      this->metric().repr());
  std::vector<std::pair<std::string, AnyState>> copies;
  for (std::int64_t i = 0; i < options_.num_bootstraps(); ++i) {
    copies.emplace_back(std::to_string(i), identity);
  }
  set_state(AnyState::of(StateParts(std::move(copies))),
            internal::RowParts::kResampled);
  inputs_ = this->metric().inputs().vec();
  change_inputs(inputs_);
}

void BootStrapper::change_inputs(std::vector<InputInfo>& inputs) {
  if (inputs.empty() || internal::place_of(inputs, kIds)) return;
  inputs.push_back({kIds, InputKind::kKeys, "int ids [N], or texts",
                    /*is_optional=*/true});
}

std::optional<SampleIds> BootStrapper::take_ids(
    std::vector<InputRef>& inputs) const {
  for (auto input = inputs.begin(); input != inputs.end(); ++input) {
    if (const auto* given = input->as<SampleIds>()) {
      SampleIds ids = *given;
      inputs.erase(input);
      return ids;
    }
  }
  const auto declared = internal::place_of(inputs_, kIds);
  if (!declared || *declared >= inputs.size()) return std::nullopt;
  const std::size_t place = *declared;
  const InputRef given = inputs[place];
  // A BootStrapper inside this one has the same ids.
  if (place >= metric().inputs().size()) {
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(place));
  }
  if (given.is_none()) return std::nullopt;
  const auto keys = internal::InputConversion<Keys>::of(given);
  if (!keys) {
    internal::refuse_input_type(kName, place, inputs_, typeid(at::Tensor),
                                given.type());
  }
  return SampleIds(keys->tensor());
}

StateKey BootStrapper::key() const {
  return std::string(kName) + "(" + options_state_key(options_) + "; " +
         metric().state_key() + ")";
}

void BootStrapper::observe_into(AnyState& fresh, Inputs inputs,
                                const BatchOrigin& origin) const {
  std::vector<InputRef> rows = inputs.vec();
  const std::optional<SampleIds> ids = take_ids(rows);
  // Whether it is accepted must not depend on what is drawn.
  AnyState whole = metric().make_state();
  metric().observe_into(whole, rows, origin);

  const Batch batch(std::move(rows), metric().inputs());
  const bool is_poisson =
      options_.sampling_strategy() == SamplingStrategy::kPoisson;
  if (ids) {
    TORCH_CHECK_VALUE(
        is_poisson, kName,
        ": expected ids with sampling_strategy poisson, got multinomial, whose "
        "draws depend on the batch");
    TORCH_CHECK_VALUE(ids->size() == batch.rows(), kName,
                      ": expected an id for each of ", batch.rows(),
                      " rows, got ", ids->size());
  }
  at::Tensor weights;
  if (is_poisson && batch.rows() > 0) {
    weights = ReplicateWeights(options_.seed(), WeightKind::kPoisson,
                               options_.num_bootstraps())(
        ids ? *ids : ids_by_place(origin, batch.rows()));
  }
  const std::int64_t rank = origin.rank();
  const std::int64_t index = origin.index();
  std::int64_t number = 0;
  for (AnyState& copy : fresh.get<StateParts>().parts()) {
    if (batch.rows() <= 0) {
      copy = whole;
      continue;
    }
    Random random({options_.seed(), rank, index, number});
    const Places drawn = is_poisson ? draw_by_weights(weights, number)
                                    : draw(random, batch.rows());
    ++number;
    if (drawn.empty()) continue;
    batch.sample(drawn, [&](Inputs sample) {
      metric().observe_into(copy, sample, origin);
    });
  }
}

void BootStrapper::evaluate_into(const AnyState& state, const std::string& name,
                                 Results& results) const {
  std::vector<Results> copies;
  for (const AnyState& part : state.get<StateParts>().parts()) {
    copies.push_back(results_of(part));
  }
  Results statistics;
  const Results all = internal::stacked(copies, kName, Dimension::kReplicate);
  for (const auto& [part, given] : all) {
    const at::Tensor values = given.detach().to(at::kDouble);
    const Dimensions dimensions = all.dimensions(part);
    if (options_.mean()) {
      statistics.add(joined(part, "mean"), values.mean(0), dimensions);
    }
    if (options_.std()) {
      statistics.add(joined(part, "std"),
                     values.size(0) > 1 ? values.std(0)
                                        : values.select(0, 0).mul(std::nan("")),
                     dimensions);
    }
    if (!options_.quantile().empty()) {
      const at::Tensor places = at::tensor(options_.quantile(), at::kDouble);
      Dimensions own = dimensions;
      own.front() = Dimension::kQuantile;
      statistics.add(joined(part, "quantile"),
                     at::quantile(values, places.to(values.device()), 0),
                     std::move(own));
    }
    if (options_.raw()) {
      statistics.add(joined(part, "raw"), given.detach(), dimensions);
    }
  }
  add_results(std::move(statistics), name, results);
}

}  // namespace tally
