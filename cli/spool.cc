#include "tally/cli/spool.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "tally/files/input_file.h"

namespace tally::cli {
namespace {

/// Paths of the copies that the launcher made, in the order of the arguments.
constexpr const char* kVariable = "TALLY_SPOOLED";

std::vector<std::string> streams_of(const Arguments& arguments) {
  std::vector<std::string> paths = arguments.inputs;
  paths.push_back(arguments.csv);
  paths.push_back(arguments.config);
  paths.push_back(id_path(arguments));
  paths.insert(paths.end(), arguments.runs.begin(), arguments.runs.end());
  std::vector<std::string> streams;
  for (const std::string& path : paths) {
    struct stat status {};
    const bool is_pipe =
        stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
    if (path == files::kStandardInput || is_pipe) streams.push_back(path);
  }
  return streams;
}

void write_temporary(int to, const char* bytes, ssize_t count) {
  while (count > 0) {
    const ssize_t done = write(to, bytes, static_cast<std::size_t>(count));
    if (done < 0 && errno == EINTR) continue;
    TORCH_CHECK_VALUE(done >= 0, "a temporary file cannot be written: ",
                      std::strerror(errno));
    bytes += done;
    count -= done;
  }
}

}  // namespace

Spool::Spool(const Arguments& arguments, bool is_rank) {
  const std::vector<std::string> streams = streams_of(arguments);
  if (streams.empty()) return;
  const char* made = is_rank ? std::getenv(kVariable) : nullptr;
  TORCH_CHECK_VALUE(!is_rank || made != nullptr, streams[0],
                    ": expected a file that all ranks can read; with --ranks, "
                    "ranks can share a pipe");
  std::istringstream copies(made == nullptr ? "" : made);
  std::string all;
  for (const std::string& stream : streams) {
    std::string path;
    if (made != nullptr) {
      std::getline(copies, path, ':');
    } else {
      path = copy(stream);
    }
    files::read_instead(stream, path);
    all += (all.empty() ? "" : ":") + path;
  }
  if (made == nullptr) setenv(kVariable, all.c_str(), 1);
}

Spool::~Spool() {
  for (const int descriptor : copies_) close(descriptor);
}

std::string Spool::copy(const std::string& path) {
  const int from = path == files::kStandardInput
                       ? dup(STDIN_FILENO)
                       : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  TORCH_CHECK_VALUE(from >= 0, path,
                    ": cannot be opened: ", std::strerror(errno));
  std::string name = std::filesystem::temp_directory_path() / "tally-XXXXXX";
  const int to = mkostemp(name.data(), O_CLOEXEC);
  if (to < 0) close(from);
  TORCH_CHECK_VALUE(to >= 0, name,
                    ": cannot be written: ", std::strerror(errno));
  copies_.push_back(to);
  unlink(name.c_str());
  std::vector<char> buffer(1 << 16);
  ssize_t count = 0;
  do {
    count = read(from, buffer.data(), buffer.size());
    if (count > 0) write_temporary(to, buffer.data(), count);
  } while (count > 0 || (count < 0 && errno == EINTR));
  const int error = errno;
  close(from);
  TORCH_CHECK_VALUE(count == 0, path,
                    ": cannot be read: ", std::strerror(error));
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(to);
}

}  // namespace tally::cli
