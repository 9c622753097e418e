#include "tally/tests/fuzz/entries.h"

namespace tally::fuzz {

const std::vector<Entry>& file_entries() {
  static const std::vector<Entry> list = {
      {"arguments", read_arguments},
      {"csv", read_csv},
      {"json_lines", read_json_lines},
      {"npy", read_npy},
      {"text", read_text},
  };
  return list;
}

}  // namespace tally::fuzz
