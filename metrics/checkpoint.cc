#include "tally/metrics/checkpoint.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tally/state/codec.h"
#include "tally/sync/errors.h"
#include "tally/sync/fingerprint.h"

namespace tally::internal {
namespace {

constexpr char kMagic[8] = {'T', 'A', 'L', 'L', 'Y', 'S', 'T', '\n'};
constexpr std::int64_t kVersion = 1;

struct Envelope {
  char magic[8];
  std::int64_t version;
  std::int64_t length;     // of what follows
  std::uint64_t checksum;  // of what follows
};

// absl's string_view is a type of its own here.
absl::Status data_loss(const std::string& message) {
  return absl::DataLossError(message.c_str());
}
absl::Status precondition(const std::string& message) {
  return absl::FailedPreconditionError(message.c_str());
}

absl::Status io_error(const std::string& path, const char* what) {
  const int error = errno;
  const std::string message = path + ": " + what + ": " + std::strerror(error);
  if (error == ENOENT) return absl::NotFoundError(message.c_str());
  if (error == EACCES || error == EPERM || error == EROFS) {
    return absl::PermissionDeniedError(message.c_str());
  }
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(message.c_str());
  }
  return absl::UnavailableError(message.c_str());
}

// Closes a file descriptor unless it was closed before.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }
  bool close() {
    return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0;
  }

 private:
  int descriptor_;
};

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string describe(const std::string& key, const std::string& schema) {
  return key + " {" + schema + "}";
}

void decode(Decoder& decoder, std::vector<CheckpointEntry>& entries,
            absl::Status& status) {
  const std::int64_t count = decoder.integer();
  if (count != static_cast<std::int64_t>(entries.size())) {
    status = precondition(c10::str("the checkpoint holds ", count,
                                   " states, expected ", entries.size()));
    return;
  }
  for (CheckpointEntry& entry : entries) {
    const std::string label = decoder.text();
    const std::string key = decoder.text();
    const std::string schema = decoder.text();
    const Fields fields = entry.state.fields();
    if (label != entry.label || key != entry.key || schema != fields.schema()) {
      status = precondition(c10::str("the checkpoint holds ", label, " = ",
                                     describe(key, schema), ", expected ",
                                     entry.label, " = ",
                                     describe(entry.key, fields.schema())));
      return;
    }
    entry.update_count = decoder.integer();
    decoder.fields(fields);
  }
  if (decoder.remaining() != 0) {
    status = data_loss(c10::str("the checkpoint has ", decoder.remaining(),
                                " bytes too many"));
  }
}

}  // namespace

std::string write_checkpoint(const std::vector<CheckpointEntry>& entries) {
  std::string bytes(sizeof(Envelope), '\0');
  Encoder encoder(bytes);
  encoder.integer(static_cast<std::int64_t>(entries.size()));
  for (const CheckpointEntry& entry : entries) {
    encoder.text(entry.label);
    encoder.text(entry.key);
    encoder.text(entry.state.fields().schema());
    encoder.integer(entry.update_count);
    encoder.fields(entry.state.fields());
  }
  const std::string_view body =
      std::string_view(bytes).substr(sizeof(Envelope));
  Envelope envelope{};
  std::memcpy(envelope.magic, kMagic, sizeof(kMagic));
  envelope.version = kVersion;
  envelope.length = static_cast<std::int64_t>(body.size());
  envelope.checksum = sync::fingerprint(body);
  std::memcpy(bytes.data(), &envelope, sizeof(envelope));
  return bytes;
}

absl::Status read_checkpoint(std::string_view bytes,
                             std::vector<CheckpointEntry>& entries) {
  Envelope envelope;
  if (bytes.size() < sizeof(envelope)) {
    return data_loss(
        c10::str("expected a Tally checkpoint, got ", bytes.size(), " bytes"));
  }
  std::memcpy(&envelope, bytes.data(), sizeof(envelope));
  const std::string_view body = bytes.substr(sizeof(envelope));
  if (std::memcmp(envelope.magic, kMagic, sizeof(kMagic)) != 0) {
    return data_loss(
        "expected a Tally checkpoint, got a file without its mark");
  }
  if (envelope.version != kVersion) {
    return precondition(c10::str("the checkpoint has version ",
                                 envelope.version, ", expected ", kVersion));
  }
  if (envelope.length != static_cast<std::int64_t>(body.size())) {
    return data_loss(c10::str("the checkpoint was cut: expected ",
                              envelope.length, " bytes, got ", body.size()));
  }
  if (envelope.checksum != sync::fingerprint(body)) {
    return data_loss("the checkpoint is damaged: its checksum does not match");
  }
  std::vector<CheckpointEntry> filled = entries;
  absl::Status status;
  try {
    Decoder decoder(body);
    decode(decoder, filled, status);
  } catch (const std::exception& error) {
    return data_loss("the checkpoint is damaged: " + sync::describe(error));
  }
  if (status.ok()) entries = std::move(filled);
  return status;
}

absl::Status write_file(const std::string& path, std::string_view bytes) {
  std::string temporary = path + ".XXXXXX";
  File file(::mkstemp(temporary.data()));
  if (!file.valid()) return io_error(path, "cannot be written");
  // mkstemp makes it private; a plain new file is as the umask says.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const bool written = ::fchmod(file.get(), 0666 & ~mask) == 0 &&
                       write_all(file.get(), bytes) &&
                       ::fsync(file.get()) == 0 && file.close() &&
                       std::rename(temporary.c_str(), path.c_str()) == 0;
  if (written) return absl::OkStatus();
  const absl::Status status = io_error(path, "cannot be written");
  ::unlink(temporary.c_str());
  return status;
}

absl::Status read_file(const std::string& path, std::string& bytes) {
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return io_error(path, "cannot be read");
  bytes.clear();
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got == 0) return absl::OkStatus();
    if (got < 0) {
      if (errno == EINTR) continue;
      return io_error(path, "cannot be read");
    }
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace tally::internal
