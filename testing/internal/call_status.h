#pragma once

#include <string>

#include "tally/testing/faulty_communicator.h"

namespace tally::testkit::internal {

/// The collective that a rank is in, stored in a file that its runner can read
/// even if the rank is unresponsive.
class CallStatus final : public CallWatch {
 public:
  /// For use by the rank.
  explicit CallStatus(const std::string& path);
  ~CallStatus() override;
  CallStatus(const CallStatus&) = delete;
  CallStatus& operator=(const CallStatus&) = delete;

  void enter(const char* collective, std::int64_t call) noexcept override;
  void leave() noexcept override;

  /// For the runner: "waits in all_gather, collective 3 of its group", "is in
  /// no collective of its group", or "" if it is in none and has not entered
  /// any.
  static std::string read(const std::string& path);

 private:
  struct Page;
  Page* page_ = nullptr;
};

}  // namespace tally::testkit::internal
