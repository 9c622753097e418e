#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/json_fault.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/replicates.h"
#include "tally/metrics/intervals/row_matches.h"

namespace tally {

namespace intervals = internal::intervals;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "tally replicates";
constexpr int kVersion = 2;

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

// Infinities, which JSON has not, are those of a range without bounds.
double number_from(const Json& json, double otherwise) {
  return json.is_null() ? otherwise : json.get<double>();
}

Json json_of(const ReplicateUnits& units) {
  const auto bound = [](double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  return {{"unit", units.unit},
          {"are_groups", units.are_groups},
          {"units", units.units},
          {"counted", units.counted},
          {"ids", units.ids},
          {"sizes", units.sizes},
          {"deciding", bound(units.deciding)},
          {"range", {bound(units.range.low), bound(units.range.high)}},
          {"are_means", units.are_means},
          {"rows", units.matches.size()},
          {"matches", intervals::text_of_matches(units.matches)}};
}

ReplicateUnits units_from(const Json& json) {
  ReplicateUnits units;
  units.unit = json.at("unit").get<std::string>();
  units.are_groups = json.at("are_groups").get<bool>();
  units.units = json.at("units").get<double>();
  units.counted = json.at("counted").get<double>();
  units.ids = json.at("ids").get<std::vector<std::int64_t>>();
  units.sizes = json.at("sizes").get<std::vector<double>>();
  units.deciding = number_from(json.at("deciding"), internal::kNaN);
  units.range = {number_from(json.at("range").at(0), -internal::kInfinity),
                 number_from(json.at("range").at(1), internal::kInfinity)};
  units.are_means = json.at("are_means").get<std::vector<bool>>();
  units.matches =
      intervals::parse_matches(json.at("matches").get<std::string>(),
                               json.at("rows").get<std::size_t>());
  TORCH_CHECK_VALUE(units.sizes.size() == units.ids.size(),
                    "replicates: expected a size for each of ",
                    units.ids.size(), " units, got ", units.sizes.size());
  return units;
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
  replicates.is_selected = json.value("selected", false);
  const auto count = json.at("replicates").get<std::int64_t>();
  for (const Json& part : json.at("parts")) {
    const auto name = part.at("name").get<std::string>();
    auto sizes = part.at("sizes").get<std::vector<std::int64_t>>();
    replicates.values.add(name, tensor_from(part.at("value"), sizes));
    sizes.insert(sizes.begin(), count);
    replicates.replicates.add(name, tensor_from(part.at("replicates"), sizes));
  }
  if (json.contains("units")) {
    replicates.by_unit = units_from(json.at("units"));
    std::size_t elements = 0;
    for (const auto& [name, value] : replicates.values) {
      elements += static_cast<std::size_t>(value.numel());
    }
    TORCH_CHECK_VALUE(
        static_cast<std::size_t>(count) == replicates.by_unit->ids.size() &&
            replicates.by_unit->are_means.size() == elements,
        "replicates: expected values without each of ",
        replicates.by_unit->ids.size(), " units for ", elements,
        " numbers, got ", count, " for ", replicates.by_unit->are_means.size());
  }
  return replicates;
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
                       {"selected", each.is_selected},
                       {"replicates", count},
                       {"parts", std::move(parts)}});
    if (each.by_unit) metrics.back()["units"] = json_of(*each.by_unit);
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
    TORCH_CHECK_VALUE(version >= 1 && version <= kVersion,
                      "replicates: expected version 1 to ", kVersion, ", got ",
                      version, version > kVersion ? ", of a newer Tally" : "");
    NamedReplicates replicates;
    for (const Json& each : json.at("metrics")) {
      replicates.emplace_back(each.at("name").get<std::string>(),
                              replicates_of(each));
    }
    return replicates;
  } catch (const Json::parse_error& error) {
    TORCH_CHECK_VALUE(false, "replicates: ", internal::json_place(error),
                      ": expected a file of replicates, got ",
                      (internal::JsonFault{error, error.byte, text}.words()));
  } catch (const Json::exception& error) {
    TORCH_CHECK_VALUE(false, "replicates: expected a file of replicates, got: ",
                      internal::json_words(error));
  }
}

}  // namespace tally
