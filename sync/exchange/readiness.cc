#include "tally/sync/exchange/readiness.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tally/state/outside_inference.h"

namespace tally::sync::internal {
namespace {

// What each rank says; a reason ends with a zero.
struct Report {
  std::int64_t failed = 0;
  std::array<char, 248> reason{};
};

std::vector<Report> gather_reports(Communicator& communicator,
                                   const Report& own, Timeout timeout) {
  const tally::internal::OutsideInference outside;
  const auto on_device =
      at::TensorOptions().dtype(at::kByte).device(communicator.device());
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Report));
  const at::Tensor input = at::empty({kBytes}, at::kByte);
  std::memcpy(input.mutable_data_ptr(), &own, sizeof own);
  at::Tensor output = at::empty({communicator.size() * kBytes}, on_device);
  communicator.all_gather(input.to(on_device), output, timeout);
  std::vector<Report> reports(static_cast<std::size_t>(communicator.size()));
  const at::Tensor here = output.cpu();
  std::memcpy(reports.data(), here.const_data_ptr(), here.nbytes());
  for (Report& report : reports) report.reason.back() = '\0';
  return reports;
}

}  // namespace

void make_ready(Communicator& communicator, const Announcement& announcement,
                std::int64_t bytes, c10::function_ref<void()> prepare) {
  if (communicator.size() == 1 || bytes < kAnnouncedBytes) {
    prepare();
    return;
  }
  Report own;
  std::exception_ptr error;
  try {
    prepare();
  } catch (...) {
    error = std::current_exception();
    own.failed = 1;
    const std::string reason = describe(error);
    std::copy_n(reason.begin(), std::min(reason.size(), own.reason.size() - 1),
                own.reason.begin());
  }
  SyncErrorDetails details;
  details.metric = std::string(announcement.label);
  details.rank = communicator.rank();
  details.sequence = announcement.sequence;
  details.phase = "payload";
  std::vector<Report> reports;
  try {
    reports = gather_reports(communicator, own, announcement.timeout);
  } catch (const SyncError& lost) {
    details.peers = lost.details().peers;
    throw SyncError(lost.code(), lost.message(), std::move(details));
  }
  if (error) {
    communicator.others_know(error);
    std::rethrow_exception(error);
  }
  std::string text;
  for (std::size_t r = 0; r < reports.size(); ++r) {
    if (reports[r].failed == 0) continue;
    details.peers.push_back(static_cast<int>(r));
    text += (text.empty() ? "rank " : "; rank ") + std::to_string(r) +
            " failed: " + reports[r].reason.data();
  }
  if (details.peers.empty()) return;
  throw SyncError(SyncErrorCode::kPeerFailed, text, std::move(details));
}

c10::Device likely_device(const Communicator& communicator,
                          c10::Device device) {
  return device == communicator.accelerator() ? device : communicator.device();
}

}  // namespace tally::sync::internal
