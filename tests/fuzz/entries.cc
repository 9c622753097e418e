#include "tally/tests/fuzz/entries.h"

namespace tally::fuzz {

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list = {
      {"arguments", read_arguments},
      {"checkpoint", read_checkpoint_file, checkpoint_seeds},
      {"config", read_config},
      {"csv", read_csv},
      {"environment", read_environment},
      {"exchange", read_exchange, exchange_seeds},
      {"metric_state", read_metric_state, metric_state_seeds},
      {"npy", read_npy},
      {"state", read_state, state_seeds},
  };
  return list;
}

}  // namespace tally::fuzz
