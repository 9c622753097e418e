#include "tally/tests/fuzz/entries.h"

namespace tally::fuzz {

const std::vector<Entry>& fuzzed_entries() { return entries(); }

}  // namespace tally::fuzz
