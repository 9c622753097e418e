#include "tally/training/shard_sampler.h"

#include <ATen/ops/tensor.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "tally/sync/shard.h"

namespace tally::training {
namespace {

// Positions of all ranks' steps are int64.
constexpr std::size_t kMostSamples = std::size_t{1} << 48;

void check_size(std::size_t size) {
  TORCH_CHECK_VALUE(size <= kMostSamples,
                    "ShardSampler: expected a number of samples, got ", size);
}

std::uint64_t below(std::uint64_t end, std::mt19937_64& generator) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t multiple = most - most % end;
  std::uint64_t number = generator();
  while (number >= multiple) number = generator();
  return number % end;
}

// std::shuffle may give another order with every library.
std::vector<std::size_t> shuffled(std::size_t size, std::uint64_t seed,
                                  std::int64_t epoch) {
  const auto e = static_cast<std::uint64_t>(epoch);
  std::seed_seq sequence{seed & 0xffffffff, seed >> 32, e & 0xffffffff,
                         e >> 32};
  std::mt19937_64 generator(sequence);
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = size; i > 1; --i) {
    std::swap(order[i - 1], order[below(i, generator)]);
  }
  return order;
}

void write(torch::serialize::OutputArchive& archive, const char* key,
           std::int64_t value) {
  archive.write(key, at::tensor(value, at::kLong), /*is_buffer=*/true);
}

std::int64_t read(torch::serialize::InputArchive& archive,
                  const std::string& key) {
  at::Tensor value;
  TORCH_CHECK(archive.try_read(key, value, /*is_buffer=*/true) &&
                  value.scalar_type() == at::kLong && value.numel() == 1,
              "ShardSampler: expected the output of save(), but there is no ",
              "integer '", key, "'");
  return value.item<std::int64_t>();
}

}  // namespace

struct ShardSampler::State {
  ShardSamplerOptions options;
  std::shared_ptr<sync::Communicator> communicator;
  std::size_t size = 0;
  std::int64_t epoch = 0;
  std::int64_t start = 0;  // of this pass, in the order
  std::size_t batch_size = 0;
  std::int64_t batches = 0;  // handed to the loader
  std::int64_t steps = 0;
  bool at_end = false;
  std::vector<std::size_t> order;  // empty: not made yet, or not shuffled

  std::int64_t samples() const { return static_cast<std::int64_t>(size); }
  std::int64_t samples_in_step() const {
    const auto each = static_cast<std::int64_t>(batch_size);
    return options.global_batch() ? each : each * communicator->size();
  }
  std::int64_t steps_in_pass() const {
    return (samples() - start + samples_in_step() - 1) / samples_in_step();
  }
  std::size_t sample(std::int64_t place) const {
    return options.shuffle() ? order[place] : static_cast<std::size_t>(place);
  }
  void begin_at(std::int64_t place) {
    start = place;
    batch_size = 0;
    batches = 0;
    steps = 0;
    at_end = false;
  }
};

ShardSampler::ShardSampler(std::size_t size, ShardSamplerOptions options)
    : state_(std::make_shared<State>()) {
  check_size(size);
  state_->communicator = options.communicator() ? options.communicator()
                                                : sync::default_communicator();
  state_->options = std::move(options);
  state_->size = size;
}

void ShardSampler::set_epoch(std::int64_t epoch) {
  TORCH_CHECK_VALUE(epoch >= 0, "ShardSampler: expected an epoch of at least ",
                    "0, got ", epoch);
  if (epoch == state_->epoch) return;
  state_->epoch = epoch;
  state_->order.clear();
  state_->begin_at(0);
}

std::int64_t ShardSampler::epoch() const { return state_->epoch; }

void ShardSampler::step() {
  State& state = *state_;
  // A rank that has run out of batches goes along with the others.
  const std::int64_t most = state.at_end && state.batch_size > 0
                                ? state.steps_in_pass()
                                : state.batches;
  TORCH_CHECK(state.steps < most,
              "ShardSampler: step() expected a completed batch, but ",
              state.steps, " steps were completed of ", most);
  ++state.steps;
}

std::int64_t ShardSampler::position() const {
  return std::min(state_->start + state_->steps * state_->samples_in_step(),
                  state_->samples());
}

std::size_t ShardSampler::size() const { return state_->size; }

const ShardSamplerOptions& ShardSampler::options() const {
  return state_->options;
}

const std::shared_ptr<sync::Communicator>& ShardSampler::communicator() const {
  return state_->communicator;
}

std::string ShardSampler::description() const {
  const State& state = *state_;
  std::string text = c10::str("ShardSampler of ", state.size, " samples, ");
  if (state.options.shuffle()) {
    text += c10::str("shuffled with seed ", state.options.seed());
  } else {
    text += "in order";
  }
  text += c10::str(", epoch ", state.epoch, " from sample ", state.start);
  if (state.options.global_batch()) text += ", by global batches";
  return text;
}

void ShardSampler::reset(std::optional<std::size_t> new_size) {
  State& state = *state_;
  const bool other_size = new_size && *new_size != state.size;
  if (other_size) {
    check_size(*new_size);
    state.size = *new_size;
    state.order.clear();
  }
  // What load() has set holds until a pass has begun there.
  const bool begun = state.batches > 0 || state.at_end;
  state.begin_at(begun || other_size ? 0 : state.start);
}

std::optional<ShardRequest> ShardSampler::next(std::size_t batch_size) {
  State& state = *state_;
  TORCH_CHECK_VALUE(batch_size > 0 && batch_size <= kMostSamples,
                    "ShardSampler: expected a batch_size of at least 1, got ",
                    batch_size);
  TORCH_CHECK_VALUE(state.batch_size == 0 || state.batch_size == batch_size,
                    "ShardSampler: expected the same batch_size for all of a ",
                    "pass, ", state.batch_size, ", got ", batch_size);
  state.batch_size = batch_size;
  if (state.options.shuffle() && state.order.size() != state.size) {
    state.order = shuffled(state.size, state.options.seed(), state.epoch);
  }
  const sync::Communicator& ranks = *state.communicator;
  const std::int64_t first =
      state.start + state.batches * state.samples_in_step();
  const std::int64_t end =
      std::min(first + state.samples_in_step(), state.samples());
  std::vector<std::size_t> indices;
  if (state.options.global_batch()) {
    const auto part =
        sync::shard_range(std::max<std::int64_t>(end - first, 0), ranks);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      indices.push_back(state.sample(first + i));
    }
  } else {
    for (std::int64_t i = first + ranks.rank(); i < end; i += ranks.size()) {
      indices.push_back(state.sample(i));
    }
  }
  const std::size_t size =
      state.options.global_batch()
          ? static_cast<std::size_t>(std::max<std::int64_t>(end - first, 0))
          : indices.size();
  if (size == 0) {
    state.at_end = true;
    return std::nullopt;
  }
  ++state.batches;
  return ShardRequest(std::move(indices), size);
}

void ShardSampler::save(torch::serialize::OutputArchive& archive) const {
  const State& state = *state_;
  write(archive, "size", state.samples());
  write(archive, "shuffle", state.options.shuffle() ? 1 : 0);
  write(archive, "seed", static_cast<std::int64_t>(state.options.seed()));
  write(archive, "epoch", state.epoch);
  write(archive, "position", position());
}

void ShardSampler::load(torch::serialize::InputArchive& archive) {
  State& state = *state_;
  const std::int64_t size = read(archive, "size");
  TORCH_CHECK(size == state.samples(), "ShardSampler: expected the position ",
              "in a data set of ", state.size, " samples, got one of ", size);
  const bool shuffle = read(archive, "shuffle") != 0;
  const auto seed = static_cast<std::uint64_t>(read(archive, "seed"));
  TORCH_CHECK(shuffle == state.options.shuffle() &&
                  (!shuffle || seed == state.options.seed()),
              "ShardSampler: expected the position in a data set with shuffle ",
              state.options.shuffle(), " and seed ", state.options.seed(),
              ", got one with ", shuffle, " and ", seed);
  const std::int64_t epoch = read(archive, "epoch");
  const std::int64_t position = read(archive, "position");
  TORCH_CHECK(epoch >= 0 && position >= 0 && position <= size,
              "ShardSampler: expected a position up to ", size,
              " in an epoch, got ", position, " in ", epoch);
  if (epoch != state.epoch) state.order.clear();
  state.epoch = epoch;
  state.begin_at(position);
}

}  // namespace tally::training
