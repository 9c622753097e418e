#include "tally/tests/testing/fixtures.h"

#include <ATen/ops/empty.h>

#include <exception>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tally::testkit {
namespace {

using Json = nlohmann::json;

// Both Bazel's runfiles and the repository have it there.
constexpr const char* kData = "tests/reference/data/";
// What is in data/inputs, by family.
using Families = std::map<std::string, Json>;

at::ScalarType dtype_of(const std::string& name) {
  static const std::map<std::string, at::ScalarType> types = {
      {"float32", at::kFloat}, {"float64", at::kDouble}, {"bool", at::kBool},
      {"uint8", at::kByte},    {"int8", at::kChar},      {"int16", at::kShort},
      {"int32", at::kInt},     {"int64", at::kLong}};
  return types.at(name);
}

double to_double(const Json& number) {
  if (!number.is_string()) return number.get<double>();
  const auto text = number.get<std::string>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  if (text == "Infinity") return infinity;
  if (text == "-Infinity") return -infinity;
  throw std::runtime_error("expected a number, got '" + text + "'");
}

std::int64_t to_integer(const Json& number) {
  return number.is_boolean() ? number.get<bool>() : number.get<std::int64_t>();
}

at::Tensor to_tensor(const Json& json) {
  const at::ScalarType dtype = dtype_of(json.at("dtype"));
  const auto shape = json.at("shape").get<std::vector<std::int64_t>>();
  const Json& data = json.at("data");
  const bool floating = at::isFloatingType(dtype);
  at::Tensor wide = at::empty(shape, floating ? at::kDouble : at::kLong);
  if (wide.numel() != static_cast<std::int64_t>(data.size())) {
    throw std::runtime_error("expected as many numbers as the shape has");
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (floating) {
      wide.mutable_data_ptr<double>()[i] = to_double(data[i]);
    } else {
      wide.mutable_data_ptr<std::int64_t>()[i] = to_integer(data[i]);
    }
  }
  return wide.to(dtype);
}

// A tensor, or a list of texts, of lists of texts, or of tensors by name.
BatchInput to_input(const Json& json) {
  if (json.is_object()) return to_tensor(json);
  if (json.empty()) throw std::runtime_error("expected rows in a list");
  if (json.front().is_string()) return json.get<BatchInput::Texts>();
  if (json.front().is_array()) return json.get<BatchInput::TextLists>();
  BatchInput::Ragged rows;
  for (const Json& row : json) {
    rows.emplace_back();
    for (const auto& [name, value] : row.items()) {
      rows.back()[name] = to_tensor(value);
    }
  }
  return rows;
}

std::string to_text(const Json& option) {
  if (option.is_string()) return option.get<std::string>();
  return option.is_null() ? "none" : option.dump();
}

Json read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  try {
    return Json::parse(file);
  } catch (const Json::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

// Batches that stand in a case, or those that "family/name" says.
Json batches_of(const Json& batches, Families& families) {
  if (!batches.is_string()) return batches;
  const auto text = batches.get<std::string>();
  const std::size_t slash = text.find('/');
  const std::string family = text.substr(0, slash);
  if (families.count(family) == 0) {
    families[family] = read_json(kData + ("inputs/" + family) + ".json");
  }
  for (const Json& one : families[family].at("cases")) {
    if (one.at("name") == text.substr(slash + 1)) return one.at("batches");
  }
  throw std::runtime_error("expected the name of inputs, got '" + text + "'");
}

FixtureCase to_case(const Json& json, Families& families) {
  FixtureCase result;
  result.name = json.at("name");
  for (const auto& [name, value] : json.at("options").items()) {
    result.options[name] = to_text(value);
  }
  for (const Json& batch : batches_of(json.at("batches"), families)) {
    Batch inputs;
    for (const Json& input : batch.at("inputs")) {
      inputs.push_back(to_input(input));
    }
    result.batches.push_back(std::move(inputs));
  }
  for (const auto& [name, value] : json.at("expected").items()) {
    result.expected[name] = to_tensor(value);
  }
  result.rtol = json.at("rtol");
  result.atol = json.at("atol");
  result.row_split = json.value("row_split", true);
  return result;
}

}  // namespace

std::vector<FixtureCase> read_fixture(const std::string& metric) {
  const std::string path = kData + metric + ".json";
  const Json json = read_json(path);
  std::vector<FixtureCase> cases;
  Families families;
  try {
    for (const Json& one : json.at("cases")) {
      cases.push_back(to_case(one, families));
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  return cases;
}

}  // namespace tally::testkit
