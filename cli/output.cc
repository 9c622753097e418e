#include "tally/cli/output.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tally/metrics/file.h"
#include "tally/metrics/results_csv.h"
#include "tally/metrics/results_json.h"
#include "tally/metrics/results_table.h"
#include "tally/sinks/write_all.h"

namespace tally::cli {
namespace {

std::string render_json(const Report& report) {
  return "{\"ranks\":" + std::to_string(report.ranks) +
         ",\"rows\":" + std::to_string(report.rows) +
         ",\"metrics\":" + to_json(report.results) + "}\n";
}

[[noreturn]] void refuse(const std::string& path) {
  TORCH_CHECK_VALUE(false, path, ": cannot be written: ", std::strerror(errno));
}

bool is_special(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

/// Opens a device, or a pipe with a reader: waiting for a reader might never
/// end.
int open_special(const std::string& path) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  TORCH_CHECK_VALUE(descriptor >= 0 || errno != ENXIO, path,
                    ": cannot be written: the pipe has no reader");
  if (descriptor >= 0) fcntl(descriptor, F_SETFL, 0);
  return descriptor;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::string render(const Report& report, Format format,
                   const std::vector<std::string>& labels) {
  switch (format) {
    case Format::kJson:
      return render_json(report);
    case Format::kCsv:
      return to_csv(report.results);
    case Format::kTable:
      break;
  }
  return report.table.empty() ? to_table(report.results, labels) : report.table;
}

void check_output(const std::string& path) {
  if (path.empty()) return;
  const bool is_folder = std::filesystem::is_directory(path);
  TORCH_CHECK_VALUE(!is_folder, path, ": expected a file, got a folder");
  if (is_special(path)) return;
  if (access(folder_of(path).c_str(), W_OK | X_OK) != 0) refuse(path);
}

void write_output(const std::string& path, const std::string& text) {
  if (path.empty() || is_special(path)) {
    const int descriptor =
        path.empty() ? dup(STDOUT_FILENO) : open_special(path);
    if (descriptor < 0) refuse(path.empty() ? "standard output" : path);
    const bool written = tally::internal::write_all(descriptor, text);
    if (!written || close(descriptor) != 0) {
      refuse(path.empty() ? "standard output" : path);
    }
    return;
  }
  const absl::Status status = tally::internal::write_file(path, text);
  TORCH_CHECK_VALUE(status.ok(), std::string(status.message().data(),
                                             status.message().size()));
}

void hold_closed_streams() {
  // Opened in the wrong mode, so that using them remains an error.
  const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int stream = 0; stream < 3; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", modes[stream]);
  }
}

}  // namespace tally::cli
