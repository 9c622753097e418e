#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "tally/tests/fuzz/entries.h"

// The program that libFuzzer drives:
//
//   fuzzer --entry=NAME [libFuzzer's options] CORPUS...
//   fuzzer --entry=NAME --seeds=FOLDER    writes the inputs to begin with
//   fuzzer --list                         names the entries

namespace {

const tally::fuzz::Entry* chosen = nullptr;

/// Behind "--name=" among the arguments; empty if it is not there.
std::string option(int argc, char** argv, const std::string& name) {
  const std::string begin = "--" + name + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], begin.c_str(), begin.size()) == 0) {
      return argv[i] + begin.size();
    }
  }
  return {};
}

void write_seeds(const std::string& folder) {
  if (chosen->seeds == nullptr) return;
  int number = 0;
  for (const std::string& seed : chosen->seeds()) {
    std::ofstream(folder + "/seed-" + std::to_string(number++)) << seed;
  }
}

}  // namespace

// libFuzzer leaves alone what begins with two dashes.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (const auto& entry : tally::fuzz::fuzzed_entries()) {
    if (*argc > 1 && std::strcmp((*argv)[1], "--list") == 0) {
      std::cout << entry.name << "\n";
    } else if (option(*argc, *argv, "entry") == entry.name) {
      chosen = &entry;
    }
  }
  if (*argc > 1 && std::strcmp((*argv)[1], "--list") == 0) std::exit(0);
  if (chosen == nullptr) {
    std::cerr << "expected --entry=NAME, a name of --list\n";
    std::exit(2);
  }
  const std::string folder = option(*argc, *argv, "seeds");
  if (folder.empty()) return 0;
  write_seeds(folder);
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
