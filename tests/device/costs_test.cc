#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <torch/headeronly/version.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tally/losses/registry/loss_registry.h"
#include "tally/testing/pretend_device.h"
#include "tally/tests/device/device_cases.h"
#include "tally/tests/device/loss_cases.h"

/// What each metric and loss asks of a GPU: kernel launches, and waits of the
/// host. TALLY_COSTS=FILE writes the table, to be put in the place of
/// costs.tsv.
namespace tally {
namespace {

using testkit::Batch;
using testkit::DeviceRecord;

struct Cost {
  std::int64_t launches = 0;
  std::int64_t waits = 0;
};

std::ostream& operator<<(std::ostream& out, const Cost& cost) {
  return out << cost.launches << '/' << cost.waits;
}

template <class Call>
Cost cost_of(const Call& call) {
  const DeviceRecord record;
  call();
  const testkit::DeviceCounts counts = record.counts();
  return {counts.launches, counts.waits()};
}

// Of a second batch, so that the state is there.
std::string line_of_metric(const std::string& name) {
  const auto cases = testkit::device_cases(name, 1);
  const auto metric = registry_cases::metric_of(name, cases[0]);
  const c10::Device device = testkit::pretend_device();
  const Batch first = testkit::moved_to(device, cases[0].batches.front());
  const Batch next = testkit::moved_to(device, cases[0].batches.back());
  std::ostringstream line;
  const auto with = [&](const Batch& batch, const auto& call) {
    registry_cases::with_inputs(batch, call);
  };
  with(first, [&](Inputs inputs) { metric->update_inputs(inputs); });
  with(next, [&](Inputs inputs) {
    line << "update " << cost_of([&] { metric->update_inputs(inputs); });
    line << "\tforward " << cost_of([&] { metric->forward_inputs(inputs); });
  });
  line << "\tcompute " << cost_of([&] { metric->compute_results(); });
  return line.str();
}

std::string line_of_loss(const losses::device_cases::Case& each) {
  const c10::Device device = testkit::pretend_device();
  at::manual_seed(7);
  const auto loss = losses::make_loss(each.text);
  loss->module().to(device, at::kDouble);
  const auto& entry =
      losses::loss_entry(losses::device_cases::name_of(each.text));
  losses::device_cases::Tensors inputs = each.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    inputs[i] = inputs[i].to(device).detach();
    if (losses::device_cases::is_learned(entry.inputs.at(i), inputs[i])) {
      inputs[i].requires_grad_();
    }
  }
  at::Tensor sum = at::full({}, 0.0, at::kDouble).to(device);
  std::ostringstream line;
  losses::device_cases::Tensors values;
  line << "forward " << cost_of([&] { values = loss->forward(inputs); });
  for (const at::Tensor& value : values) {
    if (value.requires_grad()) sum = sum + value.square().sum();
  }
  line << "\tbackward " << cost_of([&] { sum.backward(); });
  return line.str();
}

using Table = std::map<std::string, std::string>;

Table measured() {
  Table table;
  for (const std::string& name : testkit::device_metrics()) {
    table[name] = line_of_metric(name);
  }
  for (const auto& each : losses::device_cases::kCases) {
    table[each.text] = line_of_loss(each);
  }
  return table;
}

// Operators differ between versions.
std::string version() {
  return "# LibTorch " + std::to_string(TORCH_VERSION_MAJOR) + "." +
         std::to_string(TORCH_VERSION_MINOR);
}

std::string path_of_table() {
  const char* sources = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  const std::string root = sources == nullptr || workspace == nullptr
                               ? ""
                               : std::string(sources) + "/" + workspace + "/";
  return root + "tests/device/costs.tsv";
}

TEST(CostsTest, AreThoseOfTheTable) {
  const Table now = measured();
  if (const char* path = std::getenv("TALLY_COSTS")) {
    std::ofstream file(path);
    file << version() << ": launches / waits of a second batch.\n";
    for (const auto& [name, line] : now) file << name << '\t' << line << '\n';
  }
  std::ifstream file(path_of_table());
  std::string line;
  ASSERT_TRUE(std::getline(file, line)) << "no table";
  const bool same_version = line.rfind(version() + ":", 0) == 0;
  Table before;
  while (std::getline(file, line)) {
    const std::size_t tab = line.find('\t');
    before[line.substr(0, tab)] = line.substr(tab + 1);
  }
  for (const auto& [name, cost] : now) {
    EXPECT_EQ(before.count(name), 1u) << "no row of " << name;
    if (same_version) {
      EXPECT_EQ(cost, before[name]) << name << ": got, and in the table";
    }
    before.erase(name);
  }
  for (const auto& [name, cost] : before) {
    ADD_FAILURE() << "a row of " << name << ", which there is not";
  }
}

}  // namespace
}  // namespace tally
