#include "tally/sync/environment.h"

#include <c10/util/Exception.h>

#include <map>
#include <sstream>

#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {

/// Lines of NAME=value.
void read_environment(std::string_view bytes) {
  std::map<std::string, std::string> variables;
  std::istringstream lines{std::string(bytes)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos) continue;
    variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  try {
    const sync::Environment e =
        sync::parse_environment([&](const char* name) -> const char* {
          const auto found = variables.find(name);
          return found == variables.end() ? nullptr : found->second.c_str();
        });
    require(e.rank >= 0 && e.rank < e.world_size, "a rank is one of all");
    const int most = e.local_world_size > 0 ? e.local_world_size : e.world_size;
    require(e.local_rank >= 0 && e.local_rank < most &&
                e.local_world_size <= e.world_size,
            "a local rank is one of those of its machine");
    const bool has_address = !e.master_address.empty() && e.master_port >= 1 &&
                             e.master_port <= 65535;
    require(e.world_size == 1 || !e.store_path.empty() || has_address,
            "several ranks have a place to meet");
  } catch (const c10::ValueError&) {
  }
}

}  // namespace tally::fuzz
