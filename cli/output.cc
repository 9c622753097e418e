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
#include <sstream>
#include <utility>

#include "tally/metrics/file.h"

namespace tally::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostRows = 20;
constexpr std::int64_t kMostColumns = 10;

Json to_json(bool value) { return value; }
Json to_json(std::int64_t number) { return number; }
Json to_json(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

/// Elements are taken from where `next` points to, which goes behind them.
template <class Element>
Json to_json(at::IntArrayRef sizes, const Element*& next) {
  if (sizes.empty()) return to_json(*next++);
  Json list = Json::array();
  for (std::int64_t i = 0; i < sizes.front(); ++i) {
    list.push_back(to_json(sizes.slice(1), next));
  }
  return list;
}

template <class Element>
Json to_json(const at::Tensor& value, at::ScalarType dtype) {
  const at::Tensor elements = value.to(dtype).contiguous();
  const auto* next = static_cast<const Element*>(elements.data_ptr());
  return to_json(elements.sizes(), next);
}

Json to_json(const at::Tensor& value) {
  if (!value.defined()) return nullptr;
  if (value.scalar_type() == at::kBool) return to_json<bool>(value, at::kBool);
  return value.is_floating_point() ? to_json<double>(value, at::kDouble)
                                   : to_json<std::int64_t>(value, at::kLong);
}

std::string dumped(const Json& json, int indent) {
  // Names come from the command line, in whatever encoding.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string render_json(const Report& report) {
  Json metrics = Json::object();
  for (const auto& [name, value] : report.results) {
    metrics[name] = to_json(value);
  }
  return dumped({{"ranks", report.ranks},
                 {"rows", report.rows},
                 {"metrics", std::move(metrics)}},
                -1) +
         "\n";
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

void add_csv(const std::string& name, const std::string& place,
             const Json& value, std::string& text) {
  if (!value.is_array()) {
    text += name + "," + place + "," +
            (value.is_string() ? value.get<std::string>() : value.dump()) +
            "\n";
    return;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    add_csv(name, place + (place.empty() ? "" : " ") + std::to_string(i),
            value[i], text);
  }
}

std::string render_csv(const Report& report) {
  std::string text = "metric,index,value\n";
  for (const auto& [name, value] : report.results) {
    add_csv(csv_field(name), "", to_json(value), text);
  }
  return text;
}

/// Matrices that fit are shown in full, below the line that names them.
std::string render_table(const Report& report) {
  std::ostringstream out;
  out << report.results;
  for (const auto& [name, value] : report.results) {
    if (!value.defined() || value.dim() != 2 || value.size(0) > kMostRows ||
        value.size(1) > kMostColumns) {
      continue;
    }
    out << '\n' << name << '\n';
    for (std::int64_t i = 0; i < value.size(0); ++i) {
      Results row;
      row.add("", value[i]);
      out << row;
    }
  }
  return out.str();
}

[[noreturn]] void refuse(const std::string& path) {
  TORCH_CHECK_VALUE(false, path, ": cannot be written: ", std::strerror(errno));
}

/// Takes all the text and closes the descriptor; false if that failed.
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

/// Of a device, or a pipe that someone reads: to wait for a reader could be for
/// ever.
int open_special(const std::string& path) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  TORCH_CHECK_VALUE(descriptor >= 0 || errno != ENXIO, path,
                    ": cannot be written: nobody reads it");
  if (descriptor >= 0) fcntl(descriptor, F_SETFL, 0);
  return descriptor;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::string render(const Report& report, Format format) {
  switch (format) {
    case Format::kJson:
      return render_json(report);
    case Format::kCsv:
      return render_csv(report);
    case Format::kTable:
      break;
  }
  return render_table(report);
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
  // In the wrong mode, so that using them is an error as before.
  const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int stream = 0; stream < 3; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", modes[stream]);
  }
}

}  // namespace tally::cli
