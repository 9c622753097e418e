// The loop of docs/training_loop.md; its last line, also after a kill -9, is
//
//   epoch 27, best 0.152607 in epoch 23
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "tally/tally.h"

using namespace tally;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "run";
  const int processes = argc > 2 ? std::stoi(argv[2]) : 1;
  if (auto status = sync::launch_local(processes, argc, argv)) return *status;
  const auto ranks = sync::init_from_env();
  if (ranks->rank() == 0) std::filesystem::create_directories(folder);
  // In place of a data set: 20 batches, and one more for validation.
  const auto rows = torch::tensor(sync::shard_indices(32, *ranks));
  const auto all = torch::arange(21 * 32, torch::kDouble).view({21, 32, 1});
  const auto x = all.index_select(1, rows).sin(), y = x.mul(3).sin();
  torch::manual_seed(0);
  torch::nn::Linear model(1, 1);
  model->to(torch::kDouble);
  sync::broadcast_parameters(model->parameters());
  torch::optim::Adam optimizer(model->parameters(), 0.003);
  losses::MetricLoss loss{MeanSquaredError()};
  MetricTracker tracker{MeanSquaredError()};
  Throughput rate;
  training::ThroughputTimer timer(rate, /*warmup=*/2);
  auto progress = Progress::on_stderr("batches", ranks->rank() == 0);
  std::int64_t epoch = 0;  // those that are done
  if (std::ifstream(folder + "/last") >> epoch) {
    const auto from = folder + (epoch % 2 == 0 ? "/even." : "/odd.");
    torch::load(model, from + "model.pt");
    torch::load(optimizer, from + "optimizer.pt");
    const auto ok = tracker.load(from + "tracker", CheckpointRanks::kOneFile);
    TORCH_CHECK(ok.ok(), ok.ToString());
  }
  Run run;
  run.first_step = epoch + 1;
  MetricLogger logger(run);
  logger.add<CsvSink>(folder + "/log.csv", CsvLayout::kWide);
  const auto stopping = EarlyStoppingOptions(5).min_delta(1e-4);
  while (epoch < 200 && (epoch == 0 || !tracker.should_stop(stopping))) {
    progress.start_outer("epoch", ++epoch, 200);
    rate.reset();
    for (std::int64_t i = 0; i < 20; ++i) {
      const auto scope = timer.measure(static_cast<double>(rows.size(0)));
      optimizer.zero_grad();
      const auto value = loss->forward(model->forward(x[i]), y[i]);
      value.backward();
      sync::average_gradients(model->parameters());
      optimizer.step();
      progress.add_mean("loss", value.item<double>());
      progress.update(i + 1, 20);
    }
    tracker.increment(epoch);
    tracker.update(model->forward(x[20]).detach(), y[20]);
    Results results = tracker.compute();
    results.add("items_per_second", rate.compute().items_per_second);
    logger.write(epoch, results);
    const bool improved = tracker.improved();
    const auto best = tracker.best_metric();
    // Files take turns: those of the epoch that "last" names stay as they are.
    const auto to = folder + (epoch % 2 == 0 ? "/even." : "/odd.");
    const auto ok = tracker.save(to + "tracker", CheckpointRanks::kOneFile);
    TORCH_CHECK(ok.ok(), ok.ToString());
    if (ranks->rank() != 0) continue;
    if (improved) torch::save(model, folder + "/best.pt");
    torch::save(model, to + "model.pt");
    torch::save(optimizer, to + "optimizer.pt");
    std::ofstream(folder + "/last.new") << epoch;
    std::filesystem::rename(folder + "/last.new", folder + "/last");
    std::cout << "epoch " << epoch << ", best " << best.value << " in epoch "
              << best.label << std::endl;
  }
}
