#include "tally/tests/fuzz/entries.h"

namespace tally::fuzz {

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list = [] {
    std::vector<Entry> all = {
        {"checkpoint", read_checkpoint_file, checkpoint_seeds},
        {"comparison", read_comparison, comparison_seeds},
        {"config", read_config},
        {"exchange", read_exchange, exchange_seeds},
        {"interval", read_interval, interval_seeds},
        {"metric_state", read_metric_state, metric_state_seeds},
        {"old_slices", read_old_slices, old_slices_seeds},
        {"old_tracker", read_old_tracker, old_tracker_seeds},
        {"portable", read_portable, portable_seeds},
        {"slices", read_slices, slices_seeds},
        {"tracker", read_tracker, tracker_seeds},
    };
    all.insert(all.begin(), base_entries().begin(), base_entries().end());
    return all;
  }();
  return list;
}

}  // namespace tally::fuzz
