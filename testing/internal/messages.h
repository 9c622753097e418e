#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tally::testkit::internal {

/// Messages between a rank's process and its runner.
enum class MessageKind : std::uint8_t {
  // Of a rank.
  kBegan,
  kNotThisTest,  ///< main() runs another test than the requested one
  kHolds,        ///< for a debugger, stopped
  kFailure,      ///< of an expectation
  kFatalFailure,
  kSkip,
  kThrew,  ///< number: a Weight
  kDone,
  kWillEnd,  ///< number: the status, 128 + that of a signal
  kWillStop,
  kResume,  ///< number: a rank
  kBarrier,
  kWaitForEnd,   ///< number: a rank
  kWaitForStop,  ///< number: a rank
  // Of the runner, to the last three.
  kGoOn,
  kRefused,  ///< with a text
};

struct Message {
  MessageKind kind;
  int number = 0;
  std::string file;
  int line = 0;
  std::string text;
};

/// Returns whether the other side is still able to read it.
bool send_message(int socket, const Message& message);

class MessageReader {
 public:
  /// Reads available data, waiting if there is none; returns whether there may
  /// be more.
  bool read(int socket);
  /// The next complete message.
  std::optional<Message> next();

 private:
  std::string bytes_;
};

}  // namespace tally::testkit::internal
