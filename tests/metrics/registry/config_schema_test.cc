#include "tally/metrics/registry/config_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tally/metrics/registry/collection_config.h"

namespace tally {
namespace {

using Json = nlohmann::json;

/// As far as the schema goes: anyOf, enum, const, type, properties, required,
/// items, additionalProperties and $ref.
bool fits(const Json& schema, const Json& value, const Json& root) {
  if (schema.contains("$ref")) {
    return fits(root.at("$defs").at("metric"), value, root);
  }
  if (schema.contains("anyOf")) {
    for (const Json& each : schema["anyOf"]) {
      if (fits(each, value, root)) return true;
    }
    return false;
  }
  if (schema.contains("enum")) {
    for (const Json& each : schema["enum"]) {
      if (each == value) return true;
    }
    return false;
  }
  if (schema.contains("const")) return schema["const"] == value;
  const std::string type = schema.at("type");
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "array") {
    if (!value.is_array()) return false;
    for (const Json& item : value) {
      if (schema.contains("items") && !fits(schema["items"], item, root)) {
        return false;
      }
    }
    return true;
  }
  if (!value.is_object()) return false;
  for (const Json& key : schema.value("required", Json::array())) {
    if (!value.contains(key.get<std::string>())) return false;
  }
  for (const auto& [key, item] : value.items()) {
    const Json properties = schema.value("properties", Json::object());
    if (properties.contains(key)) {
      if (!fits(properties[key], item, root)) return false;
    } else if (!schema.at("additionalProperties").is_object() ||
               !fits(schema["additionalProperties"], item, root)) {
      return false;
    }
  }
  return true;
}

TEST(ConfigSchemaTest, AgreesWithTheParser) {
  const Json schema = Json::parse(collection_config_schema());
  const auto accepted = [&](const std::string& text) {
    return fits(schema, Json::parse(text), schema);
  };
  for (
      const char* good : {
          R"json({"metrics": ["MeanSquaredError", "a=MeanAbsoluteError()"]})json",
          R"json({"prefix": "val_", "nan_policy": "ignore", "metrics": {
                "accuracy": "MulticlassAccuracy(num_classes=10)",
                "f1": {"metric": "MulticlassF1Score", "nan_policy": "error",
                       "options": {"num_classes": 10, "average": "macro",
                                   "ignore_index": null}}}})json",
          R"json({"metrics": {"auc": {"metric": "BinaryAUROC",
                "options": {"thresholds": [0.1, 0.5]}}}})json",
          R"json({"metrics": {"last": {"metric": "Running", "options": {
                "window": 3, "metric": {"metric": "MeanSquaredError",
                                        "options": {"squared": false}}}}}})json",
          R"json({"metrics": {"tasks": {"metric": "MultitaskWrapper", "options": {
                "tasks": {"age": {"metric": "MeanSquaredError"}}}}}})json",
      }) {
    EXPECT_TRUE(accepted(good)) << good;
    EXPECT_NO_THROW(make_collection(good)) << good;
  }
  for (const char* bad : {
           R"json({})json",
           R"json({"metrics": {}, "prefx": ""})json",
           R"json({"metrics": {"a": {"metric": "MeanSquaredErorr"}}})json",
           R"json({"metrics": {"a": {"metric": "MulticlassAccuracy"}}})json",
           R"json({"metrics": {"a": {"metric": "MulticlassAccuracy",
                "options": {"num_classes": 3, "avrage": "macro"}}}})json",
           R"json({"metrics": {"a": {"metric": "MulticlassAccuracy",
                "options": {"num_classes": 3, "average": "mean"}}}})json",
           R"json({"metrics": {"a": {"metric": "MulticlassAccuracy",
                "options": {"num_classes": "three"}}}})json",
       }) {
    EXPECT_FALSE(accepted(bad)) << bad;
    EXPECT_THROW(make_collection(bad), c10::ValueError) << bad;
  }
}

TEST(ConfigSchemaTest, SaysWhatOptionsDo) {
  const std::string text = collection_config_schema();
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "Number of classes; labels are 0 to num_classes - 1."));
  EXPECT_THAT(text, ::testing::HasSubstr("Fraction of samples classified"));
}

// Every registered metric's example is accepted.
TEST(ConfigSchemaTest, TakesEveryMetric) {
  const Json schema = Json::parse(collection_config_schema());
  for (const auto& [name, entry] : builtin_registry().entries()) {
    const Json config = {{"metrics", {{"a", entry.example()}}}};
    EXPECT_TRUE(fits(schema, config, schema)) << name;
  }
}

}  // namespace
}  // namespace tally
