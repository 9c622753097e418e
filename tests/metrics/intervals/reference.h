#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace tally::testkit {

/// What tests/reference/intervals.py wrote.
inline const nlohmann::json& interval_values() {
  static const nlohmann::json values = nlohmann::json::parse(
      std::ifstream("tests/reference/data/intervals/values.json"));
  return values;
}

/// What tests/reference/tests_and_plans.py wrote.
inline const nlohmann::json& test_values() {
  static const nlohmann::json values = nlohmann::json::parse(
      std::ifstream("tests/reference/data/intervals/tests_and_plans.json"));
  return values;
}

inline at::Tensor tensor_of(const nlohmann::json& numbers) {
  return at::tensor(numbers.get<std::vector<double>>(), at::kDouble);
}

}  // namespace tally::testkit
