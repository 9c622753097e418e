#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The readers of bytes that nobody vouches for, each behind one function that
/// a fuzzer and an ordinary test call alike.
namespace tally::fuzz {

struct Entry {
  /// Also of its folder in corpus/.
  const char* name;
  /// Gives the bytes to the reader and uses what it makes of them. Catches what
  /// the reader says that it throws; whatever else it throws is a defect.
  void (*run)(std::string_view bytes);
  /// Inputs to begin with that are made, since they are no text; else null.
  std::vector<std::string> (*seeds)() = nullptr;
};

/// The readers that know no metrics, and need only a small part of the library.
const std::vector<Entry>& base_entries();
/// All of them.
const std::vector<Entry>& entries();
/// Those of the program that libFuzzer drives.
const std::vector<Entry>& fuzzed_entries();

void read_arguments(std::string_view bytes);
void read_checkpoint_file(std::string_view bytes);
void read_coco(std::string_view bytes);
void read_comparison(std::string_view bytes);
void read_config(std::string_view bytes);
void read_csv(std::string_view bytes);
void read_environment(std::string_view bytes);
void read_exchange(std::string_view bytes);
void read_interval(std::string_view bytes);
void read_json_lines(std::string_view bytes);
void read_metric_state(std::string_view bytes);
void read_npy(std::string_view bytes);
void read_old_slices(std::string_view bytes);
void read_old_tracker(std::string_view bytes);
void read_png(std::string_view bytes);
void read_portable(std::string_view bytes);
void read_slices(std::string_view bytes);
void read_state(std::string_view bytes);
void read_text(std::string_view bytes);
void read_tracker(std::string_view bytes);

std::vector<std::string> checkpoint_seeds();
std::vector<std::string> comparison_seeds();
std::vector<std::string> exchange_seeds();
std::vector<std::string> interval_seeds();
std::vector<std::string> metric_state_seeds();
std::vector<std::string> old_slices_seeds();
std::vector<std::string> old_tracker_seeds();
std::vector<std::string> portable_seeds();
std::vector<std::string> slices_seeds();
std::vector<std::string> state_seeds();
std::vector<std::string> tracker_seeds();

}  // namespace tally::fuzz
