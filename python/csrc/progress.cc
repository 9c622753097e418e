#include "tally/sinks/progress.h"

#include <c10/util/Exception.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/progress.h"
#include "tally/python/csrc/library.h"
#include "tally/python/csrc/object.h"

namespace tally::python {
namespace {

/// A function of ctypes; not 0 if it failed.
using Callback = int (*)(const char* unit, std::int64_t done, std::int64_t all);

thread_local std::vector<std::unique_ptr<ProgressGuard>> guards;

void push_progress(std::int64_t address, double pause) {
  const auto callback =
      reinterpret_cast<Callback>(static_cast<std::uintptr_t>(address));
  guards.push_back(std::make_unique<ProgressGuard>(
      [callback](const ComputeProgress& progress) {
        TORCH_CHECK(
            callback(progress.unit.c_str(), progress.done, progress.all) == 0,
            "the function that is told of the progress failed");
      },
      std::chrono::milliseconds(static_cast<std::int64_t>(1000 * pause))));
}

void pop_progress() { guards.pop_back(); }

/// A line of progress as the text that Python writes, whose clock Python reads.
class ProgressLine {
 public:
  ProgressLine(const std::string& style, std::string unit, double now)
      : now_(now), progress_(&out_, style_of(style), std::move(unit), [this] {
          return Progress::Clock::time_point(
              std::chrono::duration_cast<Progress::Clock::duration>(
                  std::chrono::duration<double>(now_)));
        }) {}

  /// What `call(progress)` writes, at that time.
  template <class Call>
  std::string text_of(double now, const Call& call) {
    now_ = now;
    call(progress_);
    std::string text = out_.str();
    out_.str("");
    return text;
  }

 private:
  static ProgressStyle style_of(const std::string& name) {
    if (name == "terminal") return ProgressStyle::kTerminal;
    if (name == "notebook") return ProgressStyle::kNotebook;
    TORCH_CHECK_VALUE(name == "log",
                      "style: expected terminal, notebook or log, got ", name);
    return ProgressStyle::kLog;
  }

  double now_;
  std::ostringstream out_;
  Progress progress_;
};

void define_line(torch::Library& m) {
  using Self = ObjectPtr<ProgressLine>;
  auto c = m.class_<Object<ProgressLine>>("ProgressLine");
  c.def(torch::init(
      [](const std::string& style, const std::string& unit, double now) {
        return make_object(std::make_shared<ProgressLine>(style, unit, now));
      }));
  // Runs `call`, and returns what is to be written.
  const auto at = [](const Self& self, double now, const auto& call) {
    return self->use(
        [&](ProgressLine& held) { return held.text_of(now, call); });
  };
  c.def("start", [at](const Self& self, double now, const std::string& unit) {
    return at(self, now, [&](Progress& line) { line.start(unit); });
  });
  c.def(
      "start_outer", [at](const Self& self, double now, const std::string& unit,
                          std::int64_t number, std::int64_t all) {
        return at(self, now,
                  [&](Progress& line) { line.start_outer(unit, number, all); });
      });
  c.def("add_mean", [at](const Self& self, double now, const std::string& name,
                         double value) {
    return at(self, now, [&](Progress& line) { line.add_mean(name, value); });
  });
  c.def("set", [at](const Self& self, double now, const std::string& name,
                    double value) {
    return at(self, now, [&](Progress& line) { line.set(name, value); });
  });
  c.def("show_memory", [at](const Self& self, double now, bool shows) {
    return at(self, now, [&](Progress& line) { line.show_memory(shows); });
  });
  c.def("update", [at](const Self& self, double now, std::int64_t done,
                       std::int64_t all) {
    return at(self, now, [&](Progress& line) { line.update(done, all); });
  });
  c.def("end", [at](const Self& self, double now) {
    return at(self, now, [&](Progress& line) { line.end(); });
  });
}

struct ProgressCalls final : torch::CustomClassHolder {};

}  // namespace

void define_progress(torch::Library& m) {
  define_line(m);
  m.class_<ProgressCalls>("Progress")
      .def_static("push", &push_progress)
      .def_static("pop", &pop_progress);
}

}  // namespace tally::python
