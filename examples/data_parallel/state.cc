#include "tally/examples/data_parallel/state.h"

#include <torch/serialize.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tally/metrics/classification/log_loss.h"
#include "tally/sync/broadcast_parameters.h"
#include "tally/sync/communicator.h"

namespace data_parallel {
namespace {

/// Alternates between two names: a state file always refers to its own metric
/// file.
std::string metric_path(const std::string& path, std::int64_t saves) {
  return path + (saves % 2 == 0 ? ".metric.a" : ".metric.b");
}

void require(const absl::Status& status) {
  TORCH_CHECK(status.ok(), status.ToString());
}

template <class State, class Visitor>
void visit(State& state, const Visitor& visitor) {
  visitor("model", *state.model);
  visitor("optimizer", state.optimizer);
  visitor("sampler", state.sampler);
}

}  // namespace

State::State(std::size_t samples)
    : sampler(samples),
      loss(tally::MulticlassLogLoss(tally::MulticlassLogLossOptions(10).input(
          tally::ScoreKind::kLogits))) {
  model->to(at::kDouble);
  tally::sync::broadcast_parameters(model->parameters());
}

std::ptrdiff_t State::epochs_since_best() const {
  const auto best = std::max_element(accuracies.begin(), accuracies.end());
  return best == accuracies.end() ? 0 : accuracies.end() - best - 1;
}

void print_last_epoch(const State& state) {
  std::printf("epoch %2zu  loss %.4f  accuracy %.4f\n", state.losses.size(),
              state.losses.back(), state.accuracies.back());
  std::fflush(stdout);
}

void write_json(const State& state, const std::string& path) {
  const nlohmann::json json = {{"loss", state.losses},
                               {"accuracy", state.accuracies}};
  std::ofstream(path) << json.dump(1) << '\n';
}

void save(State& state, const std::string& path) {
  ++state.saves;
  require(state.loss->metric().save(metric_path(path, state.saves),
                                    tally::CheckpointRanks::kOneFile));
  if (tally::sync::default_communicator()->rank() != 0) return;
  torch::serialize::OutputArchive archive;
  visit(state, [&](const char* name, const auto& part) {
    torch::serialize::OutputArchive own;
    part.save(own);
    archive.write(name, own);
  });
  archive.write("losses", c10::IValue(state.losses));
  archive.write("accuracies", c10::IValue(state.accuracies));
  archive.write("saves", c10::IValue(state.saves));
  archive.save_to(path + ".new");
  std::filesystem::rename(path + ".new", path);
}

void load(State& state, const std::string& path) {
  torch::serialize::InputArchive archive;
  archive.load_from(path);
  visit(state, [&](const char* name, auto& part) {
    torch::serialize::InputArchive own;
    archive.read(name, own);
    part.load(own);
  });
  c10::IValue losses, accuracies, saves;
  archive.read("losses", losses);
  archive.read("accuracies", accuracies);
  archive.read("saves", saves);
  state.losses = losses.toDoubleVector();
  state.accuracies = accuracies.toDoubleVector();
  state.saves = saves.toInt();
  require(state.loss->metric().load(metric_path(path, state.saves),
                                    tally::CheckpointRanks::kOneFile));
}

}  // namespace data_parallel
