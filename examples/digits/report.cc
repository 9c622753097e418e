#include "tally/examples/digits/report.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace digits {
namespace {

using Json = nlohmann::ordered_json;

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char line[100];
  std::snprintf(line, sizeof line, pattern, args...);
  return line;
}

Json to_json(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

Json to_json(const at::Tensor& value) {
  if (value.dim() > 0) {
    Json list = Json::array();
    for (std::int64_t i = 0; i < value.size(0); ++i) {
      list.push_back(to_json(value[i]));
    }
    return list;
  }
  if (!value.is_floating_point()) return value.item<std::int64_t>();
  return to_json(value.item<double>());
}

/// NaN, where there is one among the inputs, reaches the counts too.
std::string count(const at::Tensor& value) {
  const double number = value.item<double>();
  return number == 0 ? "." : format("%.0f", number);
}

void print_digits(std::ostream& out, const tally::Results& test) {
  const at::Tensor images = test["confusion"].sum(1);
  out << "digit  images  accuracy  precision  recall      f1\n";
  for (std::int64_t i = 0; i < images.size(0); ++i) {
    const auto value = [&](const char* name) {
      return test[name][i].item<double>();
    };
    out << format("%5d  %6s  %8.4f  %9.4f  %6.4f  %6.4f\n", static_cast<int>(i),
                  count(images[i]).c_str(), value("digit.accuracy"),
                  value("digit.precision"), value("digit.recall"),
                  value("digit.f1"));
  }
}

void print_confusion(std::ostream& out, const at::Tensor& confusion) {
  const std::int64_t classes = confusion.size(0);
  out << "images of each digit (rows) by what they were taken for\n     ";
  for (std::int64_t j = 0; j < classes; ++j) {
    out << format("%5d", static_cast<int>(j));
  }
  out << '\n';
  for (std::int64_t i = 0; i < classes; ++i) {
    out << format("%5d", static_cast<int>(i));
    for (std::int64_t j = 0; j < classes; ++j) {
      out << format("%5s", count(confusion[i][j]).c_str());
    }
    out << '\n';
  }
}

}  // namespace

void print_progress(std::ostream& out, const Epoch& epoch,
                    std::int64_t epochs) {
  const int width = static_cast<int>(std::to_string(epochs).size());
  out << format("epoch %*lld/%lld  loss %.4f  test accuracy %.4f\n", width,
                static_cast<long long>(epoch.number),
                static_cast<long long>(epochs), epoch.loss,
                epoch.test["accuracy"].item<double>())
      << std::flush;
}

void print_report(std::ostream& out, const tally::Results& test) {
  out << "\non the test images\n";
  for (const auto& [name, value] : test) {
    if (value.dim() > 0) continue;
    out << format("%-9s  %.4f\n", name.c_str(), value.item<double>());
  }
  out << '\n';
  print_digits(out, test);
  out << '\n';
  print_confusion(out, test["confusion"]);
}

void write_json(const std::string& path, int ranks, const Outcome& outcome) {
  Json json;
  json["ranks"] = ranks;
  json["loss"] = Json::array();
  for (double loss : outcome.losses) json["loss"].push_back(to_json(loss));
  json["metrics"] = Json::object();
  for (const auto& [name, value] : outcome.test) {
    json["metrics"][name] = to_json(value);
  }
  std::ofstream file(path);
  file << json.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace digits
