#include "tally/cli/output.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tally/metrics/file.h"
#include "tally/metrics/results_json.h"
#include "tally/metrics/results_table.h"

namespace tally::cli {
namespace {

/// The format that to_json uses.
std::string number_text(bool value) { return value ? "true" : "false"; }
std::string number_text(std::int64_t number) { return std::to_string(number); }
std::string number_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return nlohmann::json(number).dump();
}

std::string render_json(const Report& report) {
  return "{\"ranks\":" + std::to_string(report.ranks) +
         ",\"rows\":" + std::to_string(report.rows) +
         ",\"metrics\":" + to_json(report.results) + "}\n";
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

/// Reads elements at `next` and advances it past them.
template <class Element>
void add_csv(const std::string& name, const std::string& place,
             at::IntArrayRef sizes, const Element*& next, std::string& text) {
  if (sizes.empty()) {
    text += name + "," + place + "," + number_text(*next++) + "\n";
    return;
  }
  for (std::int64_t i = 0; i < sizes.front(); ++i) {
    add_csv(name, place + (place.empty() ? "" : " ") + std::to_string(i),
            sizes.slice(1), next, text);
  }
}

template <class Element>
void add_csv(const std::string& name, const at::Tensor& value,
             at::ScalarType dtype, std::string& text) {
  const at::Tensor elements = value.to(dtype).contiguous();
  const auto* next = static_cast<const Element*>(elements.data_ptr());
  add_csv(name, "", elements.sizes(), next, text);
}

std::string render_csv(const Report& report) {
  std::string text = "metric,index,value\n";
  for (const auto& [name, value] : report.results) {
    const std::string field = csv_field(name);
    if (!value.defined()) {
      text += field + ",,null\n";
    } else if (value.scalar_type() == at::kBool) {
      add_csv<bool>(field, value, at::kBool, text);
    } else if (value.is_floating_point()) {
      add_csv<double>(field, value, at::kDouble, text);
    } else {
      add_csv<std::int64_t>(field, value, at::kLong, text);
    }
  }
  return text;
}

[[noreturn]] void refuse(const std::string& path) {
  TORCH_CHECK_VALUE(false, path, ": cannot be written: ", std::strerror(errno));
}

/// Writes all of the text; false on failure.
bool write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count =
        write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    done += count;
  }
  return true;
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
      return render_csv(report);
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
    const bool written = write_all(descriptor, text);
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
