#include "tally/testing/internal/stacks.h"

#include <cxxabi.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "tally/testing/internal/flags.h"

namespace tally::testkit::internal {
namespace {

int stack_file = -1;
pid_t stack_process = 0;  // a child of this process is another one
char alternative_stack[1 << 16];

// This function, the handler, and what called it.
constexpr int kOwnFrames = 3;
// Between the body and main().
const char* const kRunnersFrame = "tally::testkit::internal::ProcessCase<";

// Only what signal handlers may do: backtrace() has been called before, and so
// has loaded what it needs.
void write_stack() {
  if (getpid() != stack_process) return;
  void* frames[64];
  const int count = backtrace(frames, 64);
  if (count <= kOwnFrames) return;
  backtrace_symbols_fd(frames + kOwnFrames, count - kOwnFrames, stack_file);
}

void write_and_die(int signal) {
  write_stack();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void write_and_exit(int) {
  write_stack();
  _exit(kLateExit);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  if (now.sa_handler != SIG_DFL || (now.sa_flags & SA_SIGINFO) != 0) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

/// The functions of this program, those too that it does not export.
class Symbols {
 public:
  Symbols() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    image_ = text.str();
    const auto* header = at<Elf64_Ehdr>(0);
    if (header == nullptr || header->e_ident[EI_CLASS] != ELFCLASS64) return;
    for (int i = 0; i < header->e_shnum; ++i) {
      const auto* section = at<Elf64_Shdr>(
          header->e_shoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Shdr));
      if (section == nullptr || section->sh_type != SHT_SYMTAB) continue;
      const auto* strings = at<Elf64_Shdr>(
          header->e_shoff + section->sh_link * sizeof(Elf64_Shdr));
      if (strings == nullptr) continue;
      names_ = strings->sh_offset;
      first_ = section->sh_offset;
      count_ = section->sh_size / sizeof(Elf64_Sym);
    }
  }

  std::string name_at(std::uint64_t address) const {
    for (std::uint64_t i = 0; i < count_; ++i) {
      const auto* symbol = at<Elf64_Sym>(first_ + i * sizeof(Elf64_Sym));
      if (symbol == nullptr) break;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
          address < symbol->st_value ||
          address >= symbol->st_value + symbol->st_size) {
        continue;
      }
      return image_.c_str() + names_ + symbol->st_name;
    }
    return "";
  }

 private:
  template <class T>
  const T* at(std::uint64_t offset) const {
    if (offset + sizeof(T) > image_.size()) return nullptr;
    return reinterpret_cast<const T*>(image_.data() + offset);
  }

  std::string image_;
  std::uint64_t names_ = 0, first_ = 0, count_ = 0;
};

// "file(name+0x12) [0x...]", as backtrace_symbols_fd writes it.
std::string readable(const std::string& line, const std::string& program,
                     const Symbols& symbols) {
  const std::size_t open = line.rfind('('), plus = line.find('+', open);
  const std::size_t close = line.find(')', open);
  if (open == std::string::npos || plus == std::string::npos ||
      close == std::string::npos || plus > close) {
    return line;
  }
  std::string name = line.substr(open + 1, plus - open - 1);
  const std::size_t folder = line.rfind('/', open);
  const std::size_t file = folder == std::string::npos ? 0 : folder + 1;
  if (name.empty() && line.substr(file, open - file) == program) {
    const std::string offset = line.substr(plus + 1, close - plus - 1);
    name = symbols.name_at(std::strtoull(offset.c_str(), nullptr, 16));
  }
  if (name.empty()) return line.substr(file, close + 1 - file);
  return demangled(name) + " (" + line.substr(file, open - file) + ")";
}

}  // namespace

void write_stacks_to(const std::string& path) {
  void* frame[1];
  backtrace(frame, 1);
  stack_file =
      open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  stack_process = getpid();
  stack_t stack{};
  stack.ss_sp = alternative_stack;
  stack.ss_size = sizeof alternative_stack;
  sigaltstack(&stack, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS}) {
    handle(signal, write_and_die);
  }
  handle(stack_signal(), write_and_exit);
}

int stack_signal() { return SIGRTMIN + 6; }

std::string read_stack(const std::string& path) {
  const std::string started_as = arguments_for_ranks()[0];
  const std::string program =
      started_as.substr(started_as.find_last_of('/') + 1);
  std::ifstream file(path);
  std::unique_ptr<Symbols> symbols;
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (!symbols) symbols = std::make_unique<Symbols>();
    const std::string frame = readable(line, program, *symbols);
    if (frame.find(kRunnersFrame) == 0) break;
    text += "\n    " + frame;
  }
  return text;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace tally::testkit::internal
