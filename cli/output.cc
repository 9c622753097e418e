#include "tally/cli/output.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "tally/cli/ending.h"
#include "tally/cli/set_arguments.h"
#include "tally/files/file_list.h"
#include "tally/metrics/checkpoint/file.h"
#include "tally/metrics/common/status_text.h"

namespace tally::cli {
namespace {

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

/// The files that a command reads.
std::vector<std::string> files_read(const Arguments& arguments) {
  std::vector<std::string> all;
  const auto add = [&](const std::vector<std::string>& words) {
    for (std::string& path : files::list_files(words)) {
      all.push_back(std::move(path));
    }
  };
  for (const Arguments& each : evaluations_of(arguments)) {
    add(each.csv);
    for (const std::string& input : each.inputs) add({input});
  }
  for (const std::string& word : arguments.coco) add({word});
  for (const auto* paths : {&arguments.runs, &arguments.logs}) {
    all.insert(all.end(), paths->begin(), paths->end());
  }
  for (std::string& path : files::list_files(arguments.states)) {
    all.push_back(std::move(path));
  }
  all.push_back(arguments.config);
  all.push_back(id_path(arguments));
  return all;
}

/// Those of panoptic files, if there are any.
std::vector<std::string> image_folders(const Arguments& arguments) {
  std::vector<std::string> folders = arguments.folders;
  for (const std::string& path : arguments.coco) {
    const std::filesystem::path file(path);
    if (file.extension() == ".json") {
      folders.push_back((file.parent_path() / file.stem()).string());
    }
  }
  return folders;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

}  // namespace

void check_output(const std::string& path) {
  if (path.empty()) return;
  const bool is_folder = std::filesystem::is_directory(path);
  TORCH_CHECK_VALUE(!is_folder, path, ": expected a file, got a folder");
  if (is_special(path)) return;
  if (access(folder_of(path).c_str(), W_OK | X_OK) != 0) refuse(path);
}

void check_outputs(const Arguments& arguments) {
  const std::vector<std::string> inputs = files_read(arguments);
  for (const std::string& path :
       {arguments.output, arguments.replicates, arguments.save}) {
    check_output(path);
    if (path.empty() || is_special(path)) continue;
    std::error_code none;  // where one does not exist
    const bool is_image = std::filesystem::path(path).extension() == ".png";
    for (const std::string& folder : image_folders(arguments)) {
      TORCH_CHECK_VALUE(
          !is_image ||
              !std::filesystem::equivalent(folder_of(path), folder, none),
          path, ": expected another file to write to, got an image");
    }
    for (const std::string& input : inputs) {
      TORCH_CHECK_VALUE(!std::filesystem::equivalent(path, input, none), path,
                        ": expected another file to write to, got an input");
    }
  }
}

void write_output(const std::string& path, const std::string& text) {
  if (path.empty() || is_special(path)) {
    const int descriptor =
        path.empty() ? dup(STDOUT_FILENO) : open_special(path);
    if (descriptor < 0) refuse(path.empty() ? "standard output" : path);
    const bool written = tally::internal::write_all(descriptor, text);
    if (!written && errno == EPIPE && path.empty()) end_by(SIGPIPE);
    if (!written || close(descriptor) != 0) {
      refuse(path.empty() ? "standard output" : path);
    }
    return;
  }
  const SignalDelay delay;
  const absl::Status status = tally::internal::write_file(path, text);
  TORCH_CHECK_VALUE(status.ok(), tally::internal::message_of(status));
}

void hold_closed_streams() {
  // Opened in the wrong mode, so that using them remains an error.
  const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int stream = 0; stream < 3; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", modes[stream]);
  }
}

SilentOutput::SilentOutput()
    : output_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  std::cout.flush();
  std::fflush(stdout);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (output_ >= 0 && nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
  if (nowhere >= 0) close(nowhere);
}

SilentOutput::~SilentOutput() {
  std::cout.flush();
  std::fflush(stdout);
  if (output_ < 0) return;
  dup2(output_, STDOUT_FILENO);
  close(output_);
}

}  // namespace tally::cli
