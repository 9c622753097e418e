#include "tally/tests/fuzz/entries.h"

namespace tally::fuzz {

const std::vector<Entry>& fuzzed_entries() { return base_entries(); }

}  // namespace tally::fuzz
