#include "tally/tests/fuzz/entries.h"

namespace tally::fuzz {

const std::vector<Entry>& base_entries() {
  static const std::vector<Entry> list = {
      {"arguments", read_arguments},
      {"coco", read_coco},
      {"csv", read_csv},
      {"environment", read_environment},
      {"json_lines", read_json_lines},
      {"npy", read_npy},
      {"png", read_png},
      {"state", read_state, state_seeds},
      {"text", read_text},
  };
  return list;
}

}  // namespace tally::fuzz
