#include <ATen/ops/arange.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tally/report/log_report.h"
#include "tally/report/results_report.h"
#include "tally/tests/testing/markup.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testkit::attributes;
using testkit::refusal_of;

constexpr const char* kNasty = "</title><script>alert(\"1\")</script>&'\x01";

/// That elements are closed, ids unique and references lead to one, and that
/// every chart and table has what assistive technology needs.
void expect_sound(const std::string& html) {
  EXPECT_TRUE(testkit::is_well_formed(html)) << html;
  const auto ids = attributes(html, "id");
  const std::set<std::string> unique(ids.begin(), ids.end());
  EXPECT_EQ(unique.size(), ids.size());
  for (const char* name : {"aria-labelledby", "aria-describedby"}) {
    for (const std::string& id : attributes(html, name)) {
      EXPECT_EQ(unique.count(id), 1u) << name << " " << id;
    }
  }
  for (const std::string& link : attributes(html, "href")) {
    ASSERT_EQ(link[0], '#');
    EXPECT_EQ(unique.count(link.substr(1)), 1u) << link;
  }
  const auto count = [&](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = html.find(text); at != html.npos;
         at = html.find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  const std::size_t charts = count("<svg ");
  EXPECT_EQ(count("<title id="), charts);
  EXPECT_EQ(count("<desc id="), charts);
  EXPECT_EQ(count("role=\"img\""), charts);
  EXPECT_EQ(count("<details><summary>"), charts);
  EXPECT_EQ(
      count("<th scope=\"col\" aria-sort=\"none\"><button type=\"button\""),
      count("<th scope=\"col\""));
  EXPECT_EQ(count("<div class=\"scroller\" role=\"region\" tabindex=\"0\""),
            count("<table>"));
  // Its own script, and nothing from elsewhere.
  EXPECT_EQ(count("<script"), 1u);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("src=")), Not(HasSubstr("url(")),
                          Not(HasSubstr("@import"))));
}

TEST(ReportPageTest, ShowsWhatItIsGiven) {
  ReportPage page("Digits");
  page.section("First");
  page.text("a paragraph");
  page.table(
      {"Numbers",
       {"name", "value"},
       {{"a", 0.5}, {"b", std::nan("")}, {"c", std::int64_t{12345678}}}});
  page.section("Second");
  page.chart(bar_plot(at::tensor({1.0, 2.0})),
             {"Bars", {"class", "value"}, {{"0", 1.0}, {"1", 2.0}}});
  page.chart(bar_plot(at::tensor({1.0})), {"More", {"class"}, {}});
  page.code("tally report");
  const std::string html = page.html();
  expect_sound(html);
  EXPECT_THAT(
      html,
      AllOf(HasSubstr("<title>Digits</title>"), HasSubstr("<h1>Digits</h1>"),
            HasSubstr("<a href=\"#section-2\">Second</a>"),
            HasSubstr("<td data-value=\"0.5\">0.5</td>"),
            HasSubstr("<td>undefined</td>"),
            HasSubstr("<td data-value=\"12345678\">12345678</td>"),
            HasSubstr("<summary>Data: Bars</summary>"),
            HasSubstr("<pre><code>tally report</code></pre>")));
  expect_sound(ReportPage("").html());
}

TEST(ReportPageTest, ShowsMarkupAsText) {
  ReportPage page(kNasty);
  page.section(kNasty);
  page.text(kNasty);
  page.code(kNasty);
  page.table({kNasty, {kNasty}, {{kNasty}}});
  page.chart(bar_plot(at::tensor({1.0}), {kNasty}, PlotOptions().title(kNasty)),
             {kNasty, {kNasty}, {{kNasty}}});
  expect_sound(page.html());
  EXPECT_THAT(page.html(), Not(HasSubstr("<script>alert")));
}

TEST(ReportPageTest, ReplacesWhatIsNotUtf8) {
  ReportPage page("a\xFF\xC3z \xC3\xA9");
  EXPECT_THAT(page.html(),
              HasSubstr("<h1>a\xEF\xBF\xBD\xEF\xBF\xBDz \xC3\xA9</h1>"));
}

TEST(ReportPageTest, SaysWhatIsWrong) {
  ReportPage page("a");
  EXPECT_EQ(refusal_of([&] {
              page.table({"t", {"a", "b"}, {{"1"}}});
            }),
            "ReportPage: expected 2 cells in each row of 't', got 1");
  EXPECT_EQ(refusal_of([&] { page.chart("<img/>", {}); }),
            "ReportPage: expected a chart as SVG with a title and a "
            "description, got '<img/>'");
  EXPECT_EQ(refusal_of([&] {
              page.chart(bar_plot(at::tensor({1.0})), {"t", {}, {{"1"}}});
            }),
            "ReportPage: expected 0 cells in each row of 't', got 1");
  expect_sound(page.html());
}

Results all_kinds() {
  Results results;
  results.add("accuracy", at::scalar_tensor(0.875, at::kDouble));
  results.add("rows", at::scalar_tensor(7, at::kLong));
  results.add("nothing", at::Tensor());
  const Dimensions classes{Dimension::kClass};
  results.add("f1", at::tensor({0.5, std::nan("")}), classes);
  results.add("recall", at::tensor({0.25, 1.0}), classes);
  results.add("groups", at::tensor({0, 1}), {Dimension::kPair});
  results.add("confusion", at::tensor({3, 1, 0, 3}).view({2, 2}),
              {Dimension::kClass, Dimension::kClass});
  results.add("correlation", at::tensor({1.0, -0.5, -0.5, 1.0}).view({2, 2}));
  const at::Tensor x = at::linspace(0, 1, 5);
  results.add("roc.fpr", x);
  results.add("roc.tpr", x.sqrt());
  results.add("roc.thresholds", x.flip(0));
  results.add("pr.precision", at::tensor({0.5, 1.0, 1.0}));
  results.add("pr.recall", at::tensor({1.0, 0.5, 0.0}));
  results.add("pr.thresholds", at::tensor({0.25, 0.75}));
  return results;
}

TEST(ResultsReportTest, ShowsEachKindOfResult) {
  ReportPage page("Results");
  page.section("Results");
  add_results(page, all_kinds(), {"cat", "dog"},
              {{"accuracy",
                {at::scalar_tensor(0.5, at::kDouble),
                 at::scalar_tensor(0.97, at::kDouble)}},
               {"recall", {at::tensor({0.125, 0.5}), at::tensor({0.5, 1.0})}}});
  const std::string html = page.html();
  expect_sound(html);
  EXPECT_THAT(
      html,
      AllOf(HasSubstr(">accuracy</th><td data-value=\"0.875\">0.875</td>"
                      "<td data-value=\"0.5\">0.5</td>"
                      "<td data-value=\"0.96999999999999997\">0.97</td></tr>"),
            HasSubstr(">rows</th><td data-value=\"7\">7</td><td></td>"),
            HasSubstr(">nothing</th><td>undefined</td>"),
            HasSubstr(">correlation</th><td>Double [2, 2]</td>"),
            HasSubstr(">dog</th><td>undefined</td><td data-value=\"1\">1</td>"),
            HasSubstr("<th scope=\"row\">cat</th><td data-value=\"0.25\">0.25"
                      "</td><td data-value=\"0.125\">0.125</td>"),
            HasSubstr("confusion of 2 classes"), HasSubstr(">area 0."),
            HasSubstr("By class"), HasSubstr("By pair"),
            // Labels are names of classes.
            HasSubstr("<th scope=\"row\" data-value=\"1\">1</th>"
                      "<td data-value=\"1\">1</td></tr>"),
            HasSubstr("average precision 0.75")));
  EXPECT_THAT(html, Not(HasSubstr(">roc.fpr<")));
  // Labels for another number of classes are not those of these.
  ReportPage other("Results");
  add_results(other, all_kinds(), {"a", "b", "c"});
  expect_sound(other.html());
  EXPECT_THAT(other.html(), HasSubstr("<th scope=\"row\" data-value=\"1\">1<"));
  add_results(other, {});
}

TEST(ResultsReportTest, ALargeMatrixListsItsErrors) {
  at::Tensor matrix = at::zeros({40, 40}, at::kLong);
  matrix[3][4] = 7;
  matrix[5][6] = 9;
  matrix[8][8] = 100;
  ReportPage page("Matrix");
  add_confusion_matrix(page, matrix);
  expect_sound(page.html());
  EXPECT_THAT(page.html(),
              HasSubstr("<tr><th scope=\"row\">5</th><td>6</td>"
                        "<td data-value=\"9\">9</td></tr>\n<tr>"
                        "<th scope=\"row\">3</th><td>4</td>"
                        "<td data-value=\"7\">7</td></tr>\n</tbody>"));
}

TEST(ResultsReportTest, TablesOfCurvesHaveThePointsThatAreDrawn) {
  const at::Tensor x = at::linspace(0, 1, 100'001);
  ReportPage page("Curve");
  add_roc(page, {{"model", x, x.sqrt()}});
  expect_sound(page.html());
  EXPECT_LT(page.html().size(), 20'000u);
  EXPECT_THAT(page.html(), HasSubstr("area 0.667"));
}

TEST(ResultsReportTest, ShowsSlices) {
  SliceResult north{{std::string("<north>")}, 3, {}},
      none{{SliceValue()}, 1, {}};
  SliceResult other{{}, 2, {}};
  for (SliceResult* slice : {&north, &none, &other}) {
    slice->results.add("accuracy", at::scalar_tensor(0.5));
    slice->results.add("f1", at::tensor({0.5, 0.5}));
  }
  ReportPage page("Slices");
  add_slices(page, {"site"}, {north, none, other});
  expect_sound(page.html());
  EXPECT_THAT(page.html(),
              AllOf(HasSubstr("<th scope=\"row\">&lt;north&gt;</th>"
                              "<td data-value=\"3\">3</td>"
                              "<td data-value=\"0.5\">0.5</td></tr>"),
                    HasSubstr(">(missing)</th>"), HasSubstr(">(other)</th>")));
}

TEST(ResultsReportTest, TellsIntegersFromTexts) {
  std::vector<SliceResult> slices{{{std::int64_t{1}}, 3, {}},
                                  {{std::string("1")}, 4, {}},
                                  {{std::string("2")}, 5, {}}};
  ReportPage page("Slices");
  add_slices(page, {"site"}, slices);
  EXPECT_THAT(page.html(), AllOf(HasSubstr("<th scope=\"row\">1</th>"),
                                 HasSubstr("<th scope=\"row\">&quot;1&quot;<"),
                                 HasSubstr("<th scope=\"row\">2</th>")));
}

TEST(ResultsReportTest, ShowsComparedSlices) {
  ComparedSlice slice;
  slice.key = {std::string("<north>")};
  slice.rows = 40;
  slice.difference = -0.25;
  slice.q_value = 0.01;
  ReportPage page("Worst");
  add_compared_slices(page, "accuracy", std::vector<ComparedSlice>(60, slice));
  expect_sound(page.html());
  EXPECT_THAT(page.html(), HasSubstr("<th scope=\"row\">&lt;north&gt;</th><td "
                                     "data-value=\"40\">40</td>"));
  EXPECT_EQ(attributes(page.html(), "scope").size(), 11u + 50u);

  slice.units = 7;
  slice.flags.add(IntervalFlag::kFewUnits);
  ReportPage groups("Groups");
  add_compared_slices(groups, "accuracy", {slice}, "group");
  EXPECT_THAT(groups.html(), AllOf(HasSubstr(">40</td><td data-value=\"7\">"),
                                   HasSubstr("<td>few_units</td>")));
}

TEST(ResultsReportTest, ShowsPredictionsAndRetrieval) {
  ReportPage page("More");
  add_predicted(page, at::tensor({1.0, 2.0}), at::tensor({1.0, 2.5}));
  add_residuals(page, at::tensor({1.0, 2.0}), at::tensor({1.0, 2.5}));
  Results results;
  results.add("curve.precision", at::tensor({1.0, 0.5}));
  results.add("curve.recall", at::tensor({0.25, 0.5}));
  results.add("curve.top_k", at::tensor({1, 2}));
  add_results(page, results);
  expect_sound(page.html());
  EXPECT_THAT(page.html(),
              AllOf(HasSubstr("Predicted and true values of 2 rows"),
                    HasSubstr("Residuals of 2 rows"),
                    HasSubstr("precision: last 0.5; recall: last 0.5"),
                    Not(HasSubstr("By class"))));
}

TEST(LogReportTest, ShowsTheLastStepAndAllOfThem) {
  MetricLog log;
  for (std::int64_t i = 1; i <= 3; ++i) {
    MetricLog::Step step{i, 0, {}};
    step.results.add("loss", at::scalar_tensor(1.0 / static_cast<double>(i)));
    step.results.add("f1", at::tensor({0.5, 0.25}), {Dimension::kClass});
    if (i == 2) step.results.add("late", at::Tensor());
    log.steps.push_back(std::move(step));
  }
  ReportPage page("Log");
  add_log(page, log, {"cat", "dog"});
  const std::string html = page.html();
  expect_sound(html);
  EXPECT_THAT(html,
              AllOf(HasSubstr("Results of step 3"), HasSubstr("Over 3 steps"),
                    HasSubstr("loss: last 0.333"),
                    HasSubstr("cat: last 0.5; dog: last 0.25")));
  ReportPage empty("Log");
  add_log(empty, {});
  expect_sound(empty.html());
  EXPECT_THAT(empty.html(), HasSubstr("No step has been logged yet."));
}

MetricLog log_of(std::initializer_list<double> losses, bool has_intervals) {
  MetricLog log;
  for (const double loss : losses) {
    MetricLog::Step step{static_cast<std::int64_t>(log.steps.size()), 0, {}};
    step.results.add("loss", at::scalar_tensor(loss));
    if (has_intervals) {
      step.results.add("loss.low", at::scalar_tensor(loss - 0.25));
      step.results.add("loss.high", at::scalar_tensor(loss + 0.5));
    }
    step.results.add("f1", at::tensor({0.5, 0.25}));
    log.steps.push_back(std::move(step));
  }
  return log;
}

TEST(LogReportTest, ShowsIntervals) {
  ReportPage page("Log");
  add_log(page, log_of({2, 1}, /*has_intervals=*/true));
  const std::string html = page.html();
  expect_sound(html);
  EXPECT_THAT(html, AllOf(HasSubstr(">loss</th><td data-value=\"1\">1</td>"
                                    "<td data-value=\"0.75\">0.75</td>"
                                    "<td data-value=\"1.5\">1.5</td></tr>"),
                          HasSubstr(">loss low</button>"),
                          HasSubstr("<polygon"), Not(HasSubstr("loss.low"))));
  // Ends of no value, and of one of another size, are results like others.
  MetricLog other = log_of({1}, /*has_intervals=*/false);
  for (const char* name : {"x.low", "x.high", "f1.low", "f1.high", ".low"}) {
    other.steps[0].results.add(name, at::scalar_tensor(3.0));
  }
  ReportPage rest("Log");
  add_log(rest, other);
  expect_sound(rest.html());
  for (const char* name : {">x.low<", ">x.high<", ">f1.low<", ">.low<"}) {
    EXPECT_THAT(rest.html(), HasSubstr(name));
  }
}

TEST(LogReportTest, ComparesRuns) {
  MetricLog late = log_of({3, 2.5, 2.25}, /*has_intervals=*/false);
  late.steps[1].results.add("rate", at::scalar_tensor(0.125));
  ReportPage page("Runs");
  add_logs(page, {{"<a>", log_of({2, 1}, /*has_intervals=*/true)},
                  {"b", late},
                  {"none", {}}});
  const std::string html = page.html();
  expect_sound(html);
  EXPECT_THAT(
      html,
      AllOf(HasSubstr("<th scope=\"row\">&lt;a&gt;</th><td data-value=\"2\">2"
                      "</td><td data-value=\"1\">1</td><td data-value=\"1\">1"
                      "</td><td></td></tr>"),
            HasSubstr("<th scope=\"row\">b</th><td data-value=\"3\">3</td>"
                      "<td data-value=\"2\">2</td><td data-value=\"2.25\">2.25"
                      "</td><td data-value=\"0.125\">0.125</td></tr>"),
            HasSubstr("<th scope=\"row\">none</th><td data-value=\"0\">0</td>"
                      "<td></td><td></td><td></td></tr>"),
            HasSubstr("loss of 2 runs"), HasSubstr("rate of 1 runs"),
            HasSubstr("Over the steps"),
            HasSubstr("&lt;a&gt;: last 1; b: last 2.25"),
            Not(HasSubstr("f1"))));

  ReportPage empty("Runs");
  add_logs(empty, {{"a", {}}, {"b", {}}});
  expect_sound(empty.html());
  EXPECT_THAT(empty.html(), Not(HasSubstr("Over the steps")));
  const auto refusal = [](const std::vector<NamedLog>& logs) {
    ReportPage refused("Runs");
    return testkit::refusal_of([&] { add_logs(refused, logs); });
  };
  EXPECT_EQ(refusal({}), "expected from 1 to 8 logs, got 0");
  EXPECT_EQ(refusal(std::vector<NamedLog>(9)),
            "expected from 1 to 8 logs, got 9");
  EXPECT_EQ(refusal({{"a", {}}, {"a", {}}}),
            "expected logs of different names, got 'a' twice");
}

TEST(ResultsReportTest, ShowsRuns) {
  ReportPage page("Runs");
  add_runs(page, {{"a", 1, 0.5, 2}, {"b", 3, 4, 5}, {"c", 2}}, "loss");
  expect_sound(page.html());
  EXPECT_THAT(page.html(), AllOf(HasSubstr("loss of 3 runs"),
                                 // Of percentiles, for example.
                                 HasSubstr(">b</th><td data-value=\"3\">3</td>"
                                           "<td data-value=\"4\">4</td>")));
}

}  // namespace
}  // namespace tally
