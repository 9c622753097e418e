#include "tally/metrics/intervals/replicates.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/drawn_replicates.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/proportions.h"

namespace tally {
namespace internal::intervals {

std::optional<Replicates> drawn_replicates(const IntervalEngine& engine,
                                           const AnyState& state,
                                           std::int64_t rows,
                                           std::int64_t digest) {
  const auto drawn = engine.draw(state, rows);
  if (!drawn) return std::nullopt;
  Replicates replicates;
  replicates.metric = engine.metric().repr();
  replicates.method = engine.method();
  replicates.seed = engine.options().seed();
  replicates.n = rows;
  replicates.digest = digest;
  const std::int64_t count = engine.method() == IntervalMethod::kJackknife
                                 ? engine.options().blocks()
                                 : engine.options().replicates();
  auto element = drawn->replicates.begin();
  for (const auto& [name, value] : drawn->value.results) {
    const std::int64_t elements = value.numel();
    at::Tensor numbers = at::empty({elements, count}, at::kDouble);
    auto* into = numbers.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < elements; ++i, ++element) {
      into = std::copy(element->begin(), element->end(), into);
    }
    auto sizes = value.sizes().vec();
    sizes.insert(sizes.begin(), count);
    replicates.values.add(name, value);
    replicates.replicates.add(name, numbers.t().contiguous().reshape(sizes));
  }
  return replicates;
}

}  // namespace internal::intervals

namespace intervals = internal::intervals;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "tally replicates";
constexpr int kVersion = 1;

Json json_of(const at::Tensor& tensor) {
  Json numbers = Json::array();
  const auto* const begin = tensor.const_data_ptr<double>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) numbers.push_back(begin[i]);
  return numbers;
}

at::Tensor tensor_from(const Json& numbers,
                       const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    TORCH_CHECK_VALUE(size >= 0 && size <= (std::int64_t{1} << 40) /
                                               std::max<std::int64_t>(count, 1),
                      "replicates: expected sizes of at least 0, got ", size);
    count *= size;
  }
  TORCH_CHECK_VALUE(static_cast<std::int64_t>(numbers.size()) == count,
                    "replicates: expected ", count, " numbers, got ",
                    numbers.size());
  at::Tensor tensor = at::empty(sizes, at::kDouble);
  auto* into = tensor.mutable_data_ptr<double>();
  for (const Json& number : numbers) {
    *into++ = number.is_null() ? internal::kNaN : number.get<double>();
  }
  return tensor;
}

Replicates replicates_of(const Json& json) {
  Replicates replicates;
  replicates.metric = json.at("metric").get<std::string>();
  const auto refusal = internal::OptionType<IntervalMethod>::parse(
      json.at("method").get<std::string>(), replicates.method);
  TORCH_CHECK_VALUE(!refusal, "replicates: expected a method, got ",
                    json.at("method").dump());
  replicates.seed = json.at("seed").get<std::int64_t>();
  replicates.n = json.at("n").get<std::int64_t>();
  replicates.digest = json.at("digest").get<std::int64_t>();
  const auto count = json.at("replicates").get<std::int64_t>();
  for (const Json& part : json.at("parts")) {
    const auto name = part.at("name").get<std::string>();
    auto sizes = part.at("sizes").get<std::vector<std::int64_t>>();
    replicates.values.add(name, tensor_from(part.at("value"), sizes));
    sizes.insert(sizes.begin(), count);
    replicates.replicates.add(name, tensor_from(part.at("replicates"), sizes));
  }
  return replicates;
}

template <class Value>
void check_same(const char* what, const Value& first, const Value& second) {
  TORCH_CHECK_VALUE(first == second, "compare: expected the same ", what,
                    ", got ", first, " and ", second);
}

double bootstrap_p_value(const std::vector<double>& differences) {
  std::int64_t up = 0;
  std::int64_t down = 0;
  for (const double difference : differences) {
    up += difference >= 0;
    down += difference <= 0;
  }
  const double tail = 1 + static_cast<double>(std::min(up, down));
  return std::min(1.0,
                  2 * tail / (1 + static_cast<double>(differences.size())));
}

/// A difference with its interval and p-value.
struct Tested {
  intervals::Bounds bounds;
  double p_value = internal::kNaN;
};

Tested test_of(ComparisonMethod method, double difference,
               std::vector<double> differences, double level) {
  Tested tested;
  if (method != ComparisonMethod::kJackknife) {
    // NaN are left out.
    tested.bounds = intervals::replicate_bounds(
        difference, differences, ReplicateInterval::kPercentile, level);
    if (!std::isnan(tested.bounds.low)) {
      tested.p_value = bootstrap_p_value(differences);
    }
    return tested;
  }
  tested.bounds = intervals::jackknife_bounds(difference, differences, level);
  const double error = tested.bounds.standard_error;
  if (std::isnan(error)) return tested;
  const auto blocks =
      static_cast<std::int64_t>(differences.size()) - tested.bounds.undefined;
  tested.p_value = difference == 0 ? 1
                                   : intervals::student_t_p_value(
                                         difference / error,
                                         static_cast<double>(blocks - 1));
  return tested;
}

}  // namespace

std::string to_text(const NamedReplicates& replicates) {
  Json metrics = Json::array();
  for (const auto& [name, each] : replicates) {
    Json parts = Json::array();
    std::int64_t count = 0;
    for (const auto& [part, value] : each.values) {
      const at::Tensor& drawn = each.replicates[part];
      count = drawn.size(0);
      parts.push_back({{"name", part},
                       {"sizes", value.sizes().vec()},
                       {"value", json_of(value)},
                       {"replicates", json_of(drawn.contiguous())}});
    }
    metrics.push_back({{"name", name},
                       {"metric", each.metric},
                       {"method", intervals::text_of(each.method)},
                       {"seed", each.seed},
                       {"n", each.n},
                       {"digest", each.digest},
                       {"replicates", count},
                       {"parts", std::move(parts)}});
  }
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"metrics", std::move(metrics)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

NamedReplicates parse_replicates(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    TORCH_CHECK_VALUE(json.value("format", "") == kFormat,
                      "replicates: expected the format '", kFormat, "'");
    const int version = json.at("version").get<int>();
    TORCH_CHECK_VALUE(version == kVersion, "replicates: expected version ",
                      kVersion, ", got ", version,
                      version > kVersion ? ", of a newer Tally" : "");
    NamedReplicates replicates;
    for (const Json& each : json.at("metrics")) {
      replicates.emplace_back(each.at("name").get<std::string>(),
                              replicates_of(each));
    }
    return replicates;
  } catch (const Json::exception& error) {
    TORCH_CHECK_VALUE(false, "replicates: ", error.what());
  }
}

ComparisonMethod intervals::comparison_method(IntervalMethod method) {
  switch (method) {
    case IntervalMethod::kPoisson:
      return ComparisonMethod::kPoisson;
    case IntervalMethod::kDoubleOrNothing:
      return ComparisonMethod::kDoubleOrNothing;
    case IntervalMethod::kJackknife:
      return ComparisonMethod::kJackknife;
    default:
      TORCH_CHECK_VALUE(false,
                        "compare: expected replicates of method poisson, "
                        "double_or_nothing or jackknife, got ",
                        intervals::text_of(method));
  }
}

Comparisons compare(const Replicates& first, const Replicates& second,
                    double level) {
  intervals::check_level(level);
  check_same("metric", first.metric, second.metric);
  check_same("method", intervals::text_of(first.method),
             intervals::text_of(second.method));
  check_same("seed", first.seed, second.seed);
  check_same("number of rows", first.n, second.n);
  TORCH_CHECK_VALUE(first.digest == second.digest,
                    "compare: expected the same ids of rows, got others");
  Comparisons parts;
  for (const auto& [name, value] : first.values) {
    TORCH_CHECK_VALUE(second.values.contains(name),
                      "compare: expected the same parts, got '", name,
                      "' in one");
    const at::Tensor& a = first.replicates[name];
    const at::Tensor& b = second.replicates[name];
    check_same("sizes of replicates", c10::str(a.sizes()), c10::str(b.sizes()));
    const at::Tensor drawn = a.sub(b).reshape({a.size(0), -1}).contiguous();
    Comparison part;
    part.level = level;
    part.method = intervals::comparison_method(first.method);
    part.n = first.n;
    part.replicates = a.size(0);
    part.first = value;
    part.second = second.values[name];
    part.difference = value.sub(part.second).contiguous();
    for (at::Tensor* tensor : {&part.low, &part.high, &part.p_value}) {
      *tensor = at::empty(value.sizes(), at::kDouble);
    }
    const std::int64_t elements = value.numel();
    for (std::int64_t i = 0; i < elements; ++i) {
      std::vector<double> differences;
      for (std::int64_t r = 0; r < a.size(0); ++r) {
        differences.push_back(drawn.const_data_ptr<double>()[r * elements + i]);
      }
      const auto tested =
          test_of(part.method, part.difference.const_data_ptr<double>()[i],
                  std::move(differences), level);
      part.low.mutable_data_ptr<double>()[i] = tested.bounds.low;
      part.high.mutable_data_ptr<double>()[i] = tested.bounds.high;
      part.p_value.mutable_data_ptr<double>()[i] = tested.p_value;
      part.undefined = std::max(part.undefined, tested.bounds.undefined);
    }
    parts.add(name, std::move(part));
  }
  return parts;
}

}  // namespace tally
