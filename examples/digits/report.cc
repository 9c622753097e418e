#include "tally/examples/digits/report.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tally/metrics/results_json.h"
#include "tally/metrics/results_table.h"

namespace digits {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

void print_progress(std::ostream& out, const Epoch& epoch,
                    std::int64_t epochs) {
  const int width = static_cast<int>(std::to_string(epochs).size());
  char line[100];
  std::snprintf(line, sizeof line,
                "epoch %*lld/%lld  loss %.4f  test accuracy %.4f", width,
                static_cast<long long>(epoch.number),
                static_cast<long long>(epochs), epoch.loss,
                epoch.test["accuracy"].item<double>());
  out << line << std::endl;
}

void print_report(std::ostream& out, const tally::Results& test) {
  std::vector<std::string> digits;
  for (int i = 0; i < 10; ++i) digits.push_back(std::to_string(i));
  out << "\non the test images\n" << tally::to_table(test, digits);
}

tally::Results logged(const Epoch& epoch) {
  tally::Results results = epoch.test;
  results.add("loss", at::full({}, epoch.loss, at::kDouble));
  return results;
}

void write_json(const std::string& path, int ranks, const Outcome& outcome) {
  tally::Results losses;
  losses.add("loss", at::tensor(outcome.losses, at::kDouble));
  Json json = Json::parse(tally::to_json(losses));
  json["ranks"] = ranks;
  json["metrics"] = Json::parse(tally::to_json(outcome.test));
  std::ofstream file(path);
  file << json.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace digits
