#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tally/testing/pretend_device.h"

namespace tally::testkit::internal {

DeviceCounts pretend_counts();
std::map<std::string, std::int64_t> pretend_calls();

void count_launch(const std::string& name);
void count_unordered_sum();
void count_allocation();

/// Throws while a capture lasts.
void count_wait(std::int64_t DeviceCounts::*counter, const std::string& why,
                std::int64_t DeviceCounts::*bytes_counter = nullptr,
                std::int64_t bytes = 0);

/// False if one lasts already.
bool begin_capture();
void end_capture();

void lose_device();
bool is_lost();
void restore();

/// Throws if the device is lost.
void check_not_lost();

}  // namespace tally::testkit::internal
