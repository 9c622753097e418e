#include "tally/cli/spool.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "tally/cli/set_arguments.h"
#include "tally/files/file_list.h"
#include "tally/files/input_file.h"

namespace tally::cli {
namespace {

using files::Encoding;
using files::Packing;

/// Paths of the copies that the launcher made, in the order of the arguments.
constexpr const char* kVariable = "TALLY_SPOOLED";

bool is_stream(const std::string& path) {
  struct stat status {};
  return path == files::kStandardInput ||
         (stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode));
}

/// A file that has to be copied, and the encoding of its texts.
struct Original {
  std::string path;
  Encoding encoding = Encoding::kUtf8;
};

std::vector<Original> originals_of(const Arguments& arguments) {
  std::vector<Original> all;
  const auto add = [&](const std::vector<std::string>& words,
                       Encoding encoding) {
    for (const std::string& path : files::list_files(words)) {
      const bool is_copied = is_stream(path) ||
                             files::packing_of(path) != Packing::kNone ||
                             encoding != Encoding::kUtf8;
      if (is_copied) all.push_back({path, encoding});
    }
  };
  for (const Arguments& each : evaluations_of(arguments)) {
    add(each.csv, arguments.encoding);
    for (const std::string& input : each.inputs) {
      add({input}, arguments.encoding);
    }
  }
  add(arguments.coco, Encoding::kUtf8);
  for (const std::string& path : {arguments.config, id_path(arguments)}) {
    if (is_stream(path)) all.push_back({path});
  }
  for (const std::string& path : arguments.runs) {
    if (is_stream(path)) all.push_back({path});
  }
  return all;
}

/// Of a file or a stream; closed at its end.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : descriptor_(path == files::kStandardInput
                        ? dup(STDIN_FILENO)
                        : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    TORCH_CHECK_VALUE(descriptor_ >= 0, path,
                      ": cannot be opened: ", std::strerror(errno));
  }
  ~Descriptor() { close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

files::TemporaryFile copy_stream(const std::string& path) {
  const Descriptor from(path);
  files::TemporaryFile to;
  std::vector<char> buffer(1 << 16);
  ssize_t count = 0;
  do {
    count = read(from.get(), buffer.data(), buffer.size());
    if (count > 0) to.write({buffer.data(), static_cast<std::size_t>(count)});
  } while (count > 0 || (count < 0 && errno == EINTR));
  TORCH_CHECK_VALUE(count == 0, path,
                    ": cannot be read: ", std::strerror(errno));
  return to;
}

bool begins_as_array(int descriptor) {
  char start[6] = {};
  const ssize_t count = pread(descriptor, start, sizeof(start), 0);
  const std::string_view bytes(start, count < 0 ? 0 : count);
  return bytes == "\x93NUMPY" || bytes.substr(0, 4) == "PK\x03\x04";
}

}  // namespace

Spool::Spool(const Arguments& arguments, bool is_rank) {
  const std::vector<Original> originals = originals_of(arguments);
  if (originals.empty()) return;
  const char* made = is_rank ? std::getenv(kVariable) : nullptr;
  std::istringstream copies(made == nullptr ? "" : made);
  std::string all;
  for (const auto& [original, encoding] : originals) {
    std::string path;
    if (made != nullptr) {
      std::getline(copies, path, ':');
    } else {
      TORCH_CHECK_VALUE(!is_rank || !is_stream(original), original,
                        ": expected a file that all ranks can read; with "
                        "--ranks, ranks can share a pipe");
      path = copy(original, encoding);
    }
    files::read_instead(original, path);
    all += (all.empty() ? "" : ":") + path;
  }
  if (made == nullptr) setenv(kVariable, all.c_str(), 1);
}

Spool::~Spool() = default;

std::string Spool::copy(const std::string& path, Encoding encoding) {
  std::optional<Descriptor> file;
  int from = -1;
  if (is_stream(path)) {
    copies_.push_back(copy_stream(path));
    from = copies_.back().descriptor();
  } else {
    from = file.emplace(path).get();
  }
  const Packing packing = files::packing_of(from);
  if (packing != Packing::kNone) {
    files::TemporaryFile plain;
    files::unpack(from, packing, path,
                  [&](std::string_view piece) { plain.write(piece); });
    copies_.push_back(std::move(plain));
    from = copies_.back().descriptor();
  }
  if (encoding != Encoding::kUtf8 && !begins_as_array(from)) {
    files::TemporaryFile plain;
    files::to_utf8(from, encoding, path,
                   [&](std::string_view piece) { plain.write(piece); });
    copies_.push_back(std::move(plain));
  } else if (file && packing == Packing::kNone) {
    return path;  // an array has no encoding
  }
  return copies_.back().path();
}

}  // namespace tally::cli
