#include "tally/testing/metric_laws.h"

#include <c10/util/Exception.h>
#include <c10/util/Type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "tally/testing/internal/cpp_text.h"
#include "tally/testing/internal/cuts.h"
#include "tally/testing/internal/law_check.h"
#include "tally/testing/internal/shrink.h"

namespace tally::testkit {
namespace internal {
namespace {

void check_options(const MetricMaker& make, const MetricLawOptions& options) {
  TORCH_CHECK_VALUE(make, "expected a function that makes the metric");
  TORCH_CHECK_VALUE(options.rounds() > 0 && options.rows() > 0,
                    "expected at least one round and one row, got ",
                    options.rounds(), " rounds of ", options.rows(), " rows");
  const std::vector<int>& ranks = options.ranks();
  TORCH_CHECK_VALUE(
      !ranks.empty() && *std::min_element(ranks.begin(), ranks.end()) > 0,
      "expected numbers of ranks of at least 1, got ",
      c10::ArrayRef<int>(ranks));
  TORCH_CHECK_VALUE(!options.metric_options().communicator(),
                    "expected MetricOptions without a communicator: the laws "
                    "have ranks of their own");
}

std::int64_t checked_rows(const Batch& rows) {
  TORCH_CHECK_VALUE(!rows.empty(), "expected a batch of at least one input");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    TORCH_CHECK_VALUE(rows[i].rows() == rows[0].rows() && rows[i].rows() > 0,
                      "expected as many rows in every input, and at least "
                      "one, got ",
                      rows[i].rows(), " in input ", i, " and ", rows[0].rows(),
                      " in input 0");
  }
  return rows[0].rows();
}

// Uneven batches, fewer where there are few rows.
std::vector<Batch> batches_of(const Batch& rows) {
  const auto at = cuts(rows.front().rows(), {3, 1, 2});
  std::vector<Batch> batches;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    if (at[i] < at[i + 1]) batches.push_back(rows_of(rows, at[i], at[i + 1]));
  }
  return batches;
}

class LawRun {
 public:
  LawRun(const MetricMaker& make, const MetricLawOptions& options)
      : make_(make), options_(options) {
    for (const MetricLaw law : all_laws()) {
      const auto& without = options.without();
      const bool wanted =
          std::find(without.begin(), without.end(), law) == without.end();
      if (!wanted) continue;
      if (law == MetricLaw::kThreads && !options.check_threads()) continue;
      if (law == MetricLaw::kDevice && !options.device()) continue;
      laws_.push_back(law);
    }
  }

  const std::vector<MetricLaw>& laws() const { return laws_; }

  LawCheck check_of(const Batch& rows, const std::vector<int>& ranks,
                    std::uint64_t seed) const {
    LawSubject subject;
    subject.make = make_;
    subject.options = MetricLawOptions(options_).ranks(ranks);
    subject.batches = batches_of(rows);
    subject.seed = seed;
    return LawCheck(std::move(subject));
  }

  FailingCase shrunk(MetricLaw law, const Batch& rows, const Finding& finding,
                     std::uint64_t seed) const {
    FailingCase failing{rows, options_.ranks(), finding};
    if (law == MetricLaw::kThreads) return failing;  // which tiles the rows
    return shrink(std::move(failing), is_over_ranks(law),
                  [&](const Batch& fewer, const std::vector<int>& ranks) {
                    return check_of(fewer, ranks, seed).check(law);
                  });
  }

 private:
  const MetricMaker& make_;
  const MetricLawOptions& options_;
  std::vector<MetricLaw> laws_;
};

std::string enumerator(MetricLaw law) {
  std::string name = "k";
  bool upper = true;
  for (const char c : std::string(to_string(law))) {
    if (c == ' ') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = false;
  }
  return name;
}

// The options as a call gives them: those that shape what is checked.
std::string options_text(MetricLaw law, const MetricLawOptions& options,
                         const std::vector<int>& ranks, std::uint64_t seed) {
  const MetricLawOptions other;
  std::string text = "MetricLawOptions()";
  const auto flag = [&](const char* name, bool value, bool otherwise) {
    if (value == otherwise) return;
    text += c10::str(".", name, "(", value ? "true" : "false", ")");
  };
  const auto list = [&](const char* name, const std::string& values) {
    text += c10::str(".", name, "({", values, "})");
  };
  if (is_over_ranks(law)) list("ranks", c10::Join(", ", ranks));
  if (options.rtol() != other.rtol()) {
    text += c10::str(".rtol(", options.rtol(), ")");
  }
  if (law == MetricLaw::kDevice) {
    text += c10::str(".device(c10::Device(\"", *options.device(), "\"))");
  }
  flag("takes_empty_batches", options.takes_empty_batches(), true);
  flag("order_matters", options.order_matters(), false);
  if (options.differentiable_inputs() != other.differentiable_inputs()) {
    list("differentiable_inputs",
         c10::Join(", ", options.differentiable_inputs()));
  }
  if (law == MetricLaw::kBadInput && !options.bad_inputs().empty()) {
    text += c10::str(".seed(", seed, ").bad_inputs(bad_inputs)");
  }
  return text == "MetricLawOptions()" ? "" : text;
}

std::string test_text(MetricLaw law, const FailingCase& failing,
                      const MetricLawOptions& options, std::uint64_t seed,
                      const LawCaller& caller) {
  const std::string given = options_text(law, options, failing.ranks, seed);
  return c10::str(
      "TEST(", caller.suite, ", ", enumerator(law).substr(1),
      ") {\n  using namespace tally::testkit;\n  const Batch rows = ",
      cpp_of(failing.rows), ";\n  check_metric_law", caller.metric, "(",
      caller.maker, "MetricLaw::", enumerator(law), ", rows",
      given.empty() ? "" : ",\n      " + given, ");\n}\n");
}

std::string rows_text(std::int64_t rows) {
  return c10::str(rows, rows == 1 ? " row" : " rows");
}

std::string place_of(MetricLaw law, const FailingCase& failing) {
  std::string text = rows_text(failing.rows.front().rows());
  if (is_over_ranks(law)) {
    text += c10::str(" over ", c10::Join(", ", failing.ranks),
                     failing.ranks == std::vector<int>{1} ? " rank" : " ranks");
  }
  return text;
}

// The first law that is broken, and the names of the others.
std::string complaint(const LawRun& run, const Batch& rows, std::uint64_t seed,
                      const MetricLawOptions& options,
                      const std::string& metric, const LawCaller& caller) {
  LawCheck check = run.check_of(rows, options.ranks(), seed);
  std::string text, others;
  for (const MetricLaw law : run.laws()) {
    const std::vector<Finding> findings = check.check(law);
    if (findings.empty()) continue;
    if (!text.empty()) {
      others += c10::str(others.empty() ? "" : ", ", law);
      continue;
    }
    const FailingCase failing = run.shrunk(law, rows, findings.front(), seed);
    text = c10::str(metric, " breaks the law of ", law, ": ",
                    failing.finding.text(), "\nShrunk from ",
                    rows_text(rows.front().rows()), " of seed ", seed, " to ",
                    place_of(law, failing), ". As a test:\n\n",
                    test_text(law, failing, options, seed, caller));
  }
  if (!others.empty()) text += "\nIt also breaks the laws of " + others + '.';
  return text;
}

}  // namespace

LawCaller caller_of(const std::type_info& metric, const char* file, int line) {
  std::string name = c10::demangle(metric.name());
  const std::string anonymous = "(anonymous namespace)::";
  for (std::size_t at = name.find(anonymous); at != name.npos;
       at = name.find(anonymous)) {
    name.erase(at, anonymous.size());
  }
  std::string suite = name.substr(name.rfind(':') + 1);
  suite.erase(
      std::remove_if(suite.begin(), suite.end(),
                     [](unsigned char c) { return std::isalnum(c) == 0; }),
      suite.end());
  return {suite + "Laws", "<" + name + ">", "", file, line};
}

void check_metric_laws(const MetricMaker& make, const BatchGenerator& generator,
                       const MetricLawOptions& options,
                       const LawCaller& caller) {
  check_options(make, options);
  TORCH_CHECK_VALUE(generator, "expected a generator of batches");
  const std::string metric = make(options.metric_options())->repr();
  const LawRun run(make, options);
  for (std::int64_t round = 0; round < options.rounds(); ++round) {
    const std::uint64_t seed =
        options.seed() + static_cast<std::uint64_t>(round);
    const Batch rows = generator(seed, options.rows());
    TORCH_CHECK_VALUE(checked_rows(rows) == options.rows(), "expected ",
                      options.rows(), " rows of the generator, got ",
                      rows[0].rows());
    const std::string text =
        complaint(run, rows, seed, options, metric, caller);
    if (text.empty()) continue;
    ADD_FAILURE_AT(caller.file, caller.line) << text;
    return;
  }
}

void check_metric_law(const MetricMaker& make, MetricLaw law, const Batch& rows,
                      const MetricLawOptions& options,
                      const LawCaller& caller) {
  check_options(make, options);
  checked_rows(rows);
  LawCheck check =
      LawRun(make, options).check_of(rows, options.ranks(), options.seed());
  for (const Finding& finding : check.check(law)) {
    ADD_FAILURE_AT(caller.file, caller.line)
        << make(options.metric_options())->repr() << " breaks the law of "
        << law << ": " << finding.text();
  }
}

}  // namespace internal

namespace {

internal::LawCaller caller_with_maker(const char* file, int line) {
  return {"MetricLaws", "", "make, ", file, line};
}

}  // namespace

void check_metric_laws(const MetricMaker& make, const BatchGenerator& generator,
                       const MetricLawOptions& options, const char* file,
                       int line) {
  internal::check_metric_laws(make, generator, options,
                              caller_with_maker(file, line));
}

void check_metric_law(const MetricMaker& make, MetricLaw law, const Batch& rows,
                      const MetricLawOptions& options, const char* file,
                      int line) {
  internal::check_metric_law(make, law, rows, options,
                             caller_with_maker(file, line));
}

}  // namespace tally::testkit
