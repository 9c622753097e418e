#include "tally/testing/pretend_device.h"

#include <c10/util/Exception.h>

#include "tally/testing/internal/pretend_backend.h"
#include "tally/testing/internal/pretend_counts.h"

namespace tally::testkit {
namespace {

// LibTorch looks for devices once, and threads of autograd are started for
// those there are: it must come before main().
const bool is_registered = internal::register_pretend_device();

template <class Map>
Map difference(Map now, const Map& before) {
  for (const auto& [name, count] : before) {
    const auto place = now.find(name);
    place->second -= count;
    if (place->second == 0) now.erase(place);
  }
  return now;
}

}  // namespace

bool has_pretend_device() { return is_registered; }

c10::Device pretend_device(int index) {
  TORCH_CHECK_VALUE(index >= 0 && index < kPretendDevices,
                    "expected a pretend device from 0 to ", kPretendDevices - 1,
                    ", got ", index);
  TORCH_CHECK(is_registered,
              "expected a LibTorch for the CPU for the pretend device, got one "
              "with CUDA, which has devices of that name itself");
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

c10::Device first_gpu() {
  return has_pretend_device() ? pretend_device() : c10::Device(at::kCUDA, 0);
}

DeviceRecord::DeviceRecord()
    : counts_(internal::pretend_counts()), calls_(internal::pretend_calls()) {}

DeviceCounts DeviceRecord::counts() const {
  DeviceCounts now = internal::pretend_counts();
  for (std::int64_t DeviceCounts::*const each :
       {&DeviceCounts::launches, &DeviceCounts::unordered_sums,
        &DeviceCounts::items, &DeviceCounts::copies_to_host,
        &DeviceCounts::copies_to_device, &DeviceCounts::sizes,
        &DeviceCounts::bytes_to_host, &DeviceCounts::bytes_to_device,
        &DeviceCounts::allocations}) {
    now.*each -= counts_.*each;
  }
  return now;
}

std::map<std::string, std::int64_t> DeviceRecord::calls() const {
  return difference(internal::pretend_calls(), calls_);
}

DeviceCapture::DeviceCapture() {
  TORCH_CHECK(internal::begin_capture(),
              "expected one DeviceCapture at a time, got a second");
}

DeviceCapture::~DeviceCapture() { internal::end_capture(); }

bool is_device_lost() { return internal::is_lost(); }

void restore_device() { internal::restore(); }

}  // namespace tally::testkit
