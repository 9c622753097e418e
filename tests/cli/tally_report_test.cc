#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/tests/cli/files.h"
#include "tally/tests/examples/program.h"
#include "tally/tests/testing/markup.h"

namespace tally::cli {
namespace {

using tally::testkit::Program;
using tally::testkit::run_program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

/// The page that the program writes with these words.
std::string page_of(const Folder& folder, Words words) {
  words.insert(words.begin(), {"cli/tally", "report"});
  words.insert(words.end(), {"-o", folder.path("report.html")});
  const Program::Result result = run_program(words);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "");
  const std::string html = read_file(folder.path("report.html"));
  EXPECT_TRUE(testkit::is_well_formed(html)) << html;
  return html;
}

Words predictions(Words words = {}) {
  words.insert(words.begin(),
               {"--metrics",
                "accuracy=MulticlassAccuracy(num_classes=3, average=micro); "
                "f1=MulticlassF1Score(num_classes=3, average=none)",
                "--inputs", data_file("preds.npy"), data_file("target.npy")});
  return words;
}

/// Without what may differ: the command, and the ranks of the first paragraph.
std::string without_command(std::string html) {
  html.erase(html.rfind("<h2"));
  const std::size_t on = html.find(" on ");
  return html.erase(on, html.find("</p>", on) - on);
}

TEST(TallyReportTest, ShowsWhatAClassifierDoes) {
  const Folder folder;
  const std::string one = page_of(folder, predictions());
  EXPECT_THAT(
      one,
      AllOf(HasSubstr("<h1>Evaluation</h1>"),
            HasSubstr("<p>19 rows on 1 rank.</p>"),
            HasSubstr(">accuracy</th><td data-value=\"0."),
            HasSubstr("-title\">f1</title>"),
            HasSubstr("Confusion matrix of 3 classes"),
            HasSubstr(">ROC. 0: area 0."),
            HasSubstr("Precision and recall. 0: average precision 0."),
            HasSubstr("Confidence in the predicted class of 19"),
            HasSubstr("<pre><code>tally report --metrics "
                      "&#39;accuracy=MulticlassAccuracy(num_classes=3, ")));
  // The same on any number of ranks.
  for (const char* ranks : {"2", "3", "5"}) {
    EXPECT_EQ(without_command(page_of(folder, predictions({"--ranks", ranks}))),
              without_command(one));
  }
  EXPECT_EQ(without_command(page_of(folder, predictions({"--split=0,19"}))),
            without_command(one));
}

TEST(TallyReportTest, ShowsABinaryClassifierBySlices) {
  const Folder folder;
  std::string csv = "p,y,site\n";
  for (int i = 0; i < 100; ++i) {
    csv += std::to_string(i / 100.0) + "," + (i * i % 100 < i ? "1," : "0,") +
           (i % 3 == 0 ? "<north>\n" : "south & west\n");
  }
  const std::string file = folder.write("x.csv", csv);
  const Words words = {"--csv",     file,
                       "--columns", "preds=p,target=y",
                       "--by",      "site",
                       "--labels",  "no,<yes>",
                       "-m",        "BinaryF1Score; all=BinaryAccuracy",
                       "--title",   "A & B"};
  const std::string html = page_of(folder, words);
  EXPECT_THAT(html,
              AllOf(HasSubstr("<h1>A &amp; B</h1>"),
                    HasSubstr("<th scope=\"row\">&lt;north&gt;</th>"
                              "<td data-value=\"34\">34</td>"),
                    HasSubstr("south &amp; west"), HasSubstr("&lt;yes&gt;"),
                    HasSubstr("Calibration of 100 predictions in 10 bins"),
                    HasSubstr(">ROC. area 0."), Not(HasSubstr("<yes>")),
                    HasSubstr("BinaryF1Score: no slice is compared: fewer than "
                              "30 rows decide the value"),
                    HasSubstr("all: slices against all other rows"),
                    HasSubstr("q: p adjusted for the 2 slices of this "
                              "metric (Benjamini and Hochberg)")));
}

TEST(TallyReportTest, LeavesOutWhatTheRowsDoNotHave) {
  const Folder folder;
  // Labels, which no curve can be drawn of.
  const std::string labels =
      folder.write("labels.csv", "preds,target\n0,0\n1,2\n2,2\n");
  const std::string html =
      page_of(folder, {"-m", "MulticlassAccuracy(num_classes=3)", "--csv",
                       labels, "--columns", "preds=preds,target=target"});
  EXPECT_THAT(html, AllOf(HasSubstr("Confusion matrix"), Not(HasSubstr("ROC")),
                          Not(HasSubstr("alibration"))));
  // Scores are ranked; without a scale they are neither counted nor calibrated.
  const std::string scores =
      folder.write("scores.csv", "preds,target\n-3.5,0\n7.5,1\n2.5,0\n");
  EXPECT_THAT(
      page_of(folder, {"-m", "BinaryAUROC(input=scores)", "--csv", scores,
                       "--columns", "preds=preds,target=target"}),
      AllOf(HasSubstr("area 1<"), Not(HasSubstr("Confusion matrix")),
            Not(HasSubstr("alibration"))));
  EXPECT_THAT(page_of(folder, {"-m",
                               "BinaryAUROC(input=scores); "
                               "BinaryF1Score(input=scores, threshold=2.5)",
                               "--csv", scores, "--columns",
                               "preds=preds,target=target"}),
              AllOf(HasSubstr("area 1<"), HasSubstr("Confusion matrix"),
                    Not(HasSubstr("alibration"))));
  const std::string decisions =
      folder.write("decisions.csv", "preds,target\n0,0\n1,1\n0,1\n");
  EXPECT_THAT(
      page_of(folder,
              {"-m", "BinaryAccuracy(input=scores, threshold=9)", "--csv",
               decisions, "--columns", "preds=preds,target=target"}),
      HasSubstr("Confusion matrix"));
  EXPECT_THAT(page_of(folder, {"-m", "MeanSquaredError", "--csv", scores,
                               "--columns", "preds=preds,target=target"}),
              Not(HasSubstr("Classification")));
  const std::string none = folder.write("none.csv", "preds,target\n");
  EXPECT_THAT(page_of(folder, {"-m", "BinaryAccuracy", "--csv", none}),
              HasSubstr("0 rows"));
}

TEST(TallyReportTest, ShowsPredictionsOfNumbers) {
  const Folder folder;
  std::string csv = "target,preds\n";
  for (int i = 0; i < 2500; ++i) {
    csv +=
        std::to_string(i / 7.0) + "," + std::to_string(i / 7.0 + i % 5) + "\n";
  }
  const Words words = {"-m",        "MeanSquaredError",
                       "--csv",     folder.write("x.csv", csv),
                       "--columns", "preds=preds,target=target"};
  const std::string one = page_of(folder, words);
  EXPECT_THAT(one, AllOf(HasSubstr("Of 2500 rows, 834 equally spaced ones"),
                         HasSubstr("Residuals of 834 rows"),
                         HasSubstr("Predicted and true values of 834 rows")));
  Words several = words;
  several.insert(several.end(),
                 {"--split", "1100,0,1400", "--batch-size", "100"});
  EXPECT_EQ(without_command(page_of(folder, several)), without_command(one));
}

TEST(TallyReportTest, ShowsALog) {
  const Folder folder;
  const std::string log = folder.write(
      "log.jsonl",
      "{\"tally_log\":1,\"run\":\"<run>\",\"command\":\"train --lr "
      "'1'\",\"first_step\":0,\"time\":1.0}\n"
      "{\"step\":1,\"time\":2.0,\"dimensions\":{\"f1\":[\"class\"]},"
      "\"results\":{\"loss\":0.5,\"f1\":[0.5,1]}}\n"
      "{\"step\":2,\"time\":3.0,\"results\":{\"loss\":0.25,\"f1\":[1,1]}}\n");
  EXPECT_THAT(
      page_of(folder, {"--log", log, "--labels", "cat,dog"}),
      AllOf(HasSubstr("<h1>&lt;run&gt;</h1>"), HasSubstr("Results of step 2"),
            HasSubstr("loss: last 0.25"), HasSubstr("dog: last 1"),
            HasSubstr("<code>train --lr &#39;1&#39;</code>")));
}

TEST(TallyReportTest, ShowsIntervalsOnAnyRanks) {
  const Folder folder;
  std::string csv = "preds,target\n";
  for (int i = 0; i < 90; ++i) {
    // Sums of these numbers are exact.
    csv += std::to_string(i % 64 / 64.0) + (i * i % 100 < i ? ",1\n" : ",0\n");
  }
  const Words words = {
      "-m",         "accuracy=BinaryAccuracy; error=MeanSquaredError",
      "--csv",      folder.write("x.csv", csv),
      "--columns",  "preds=preds,target=target",
      "--interval", "0.9"};
  const std::string one = page_of(folder, words);
  EXPECT_THAT(one,
              AllOf(HasSubstr(">low</button>"), HasSubstr(">high</button>"),
                    HasSubstr("<p>90% intervals of 90 rows: jackknife "
                              "(error), wilson (accuracy).</p>")));
  for (const char* ranks : {"2", "3"}) {
    Words several = words;
    several.insert(several.end(), {"--ranks", ranks, "--batch-size", "7"});
    EXPECT_EQ(without_command(page_of(folder, several)), without_command(one));
  }
}

TEST(TallyReportTest, ComparesLogs) {
  const Folder folder;
  const auto log = [&](const std::string& file, const std::string& run,
                       double loss) {
    return folder.write(
        file, "{\"tally_log\":1,\"run\":\"" + run + "\",\"command\":\"train " +
                  file +
                  "\",\"first_step\":0,\"time\":1.0}\n"
                  "{\"step\":1,\"time\":2.0,\"results\":{\"loss\":" +
                  std::to_string(loss) + ",\"loss.low\":0,\"loss.high\":9}}\n");
  };
  const std::string first = log("first", "a", 2),
                    second = log("second", "b", 1),
                    nameless = log("third", "", 3);
  const std::string html = page_of(folder, {"--log", first, "--log", second});
  EXPECT_THAT(html,
              AllOf(HasSubstr("<h1>Runs</h1>"), HasSubstr("loss of 2 runs"),
                    HasSubstr("a: last 2; b: last 1"),
                    HasSubstr("<p>b</p>\n<pre><code>train second</code>")));
  // Without names of their own, by their files.
  EXPECT_THAT(
      page_of(folder, {"--log", first, "--log", nameless, "--title", "Two"}),
      AllOf(HasSubstr("<h1>Two</h1>"), HasSubstr(first + ": last 2"),
            HasSubstr(nameless + ": last 3")));
}

void expect_refusal(const Folder& folder, Words words,
                    const std::string& what) {
  SCOPED_TRACE(what);
  const std::size_t files = folder.size();
  words.insert(words.begin(), {"cli/tally", "report"});
  const Program::Result result = run_program(words);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, AllOf(StartsWith("tally: "), HasSubstr(what)));
  EXPECT_EQ(result.errors.find('\n'), result.errors.size() - 1);
  EXPECT_EQ(folder.size(), files);
}

TEST(TallyReportTest, WritesNothingIfSomethingIsWrong) {
  const Folder folder;
  const std::string page = folder.path("report.html");
  const auto with_page = [&](Words words) {
    words.insert(words.end(), {"-o", page});
    return words;
  };
  expect_refusal(folder, with_page(predictions({"--format", "json"})),
                 "--format: report writes HTML");
  expect_refusal(folder, with_page({"-m", "NoMetric", "--csv", "none.csv"}),
                 "NoMetric");
  expect_refusal(folder, with_page({}), "expected either --metrics or");
  expect_refusal(folder, with_page({"--log"}), "--log: expected a value");
  expect_refusal(folder, with_page({"--log=a", "--log=a"}),
                 "--log: got a twice");
  expect_refusal(folder, with_page({"--title=a", "--title=b"}),
                 "--title: given twice");
  Words many;
  for (char log = 'a'; log < 'j'; ++log)
    many.push_back({'-', '-', 'l', 'o', 'g', '=', log});
  expect_refusal(folder, with_page(many), "--log: expected at most 8, got 9");
  expect_refusal(folder, with_page({"--log=a", "--log=b", "--labels=x,y"}),
                 "--labels: expected one --log, got 2");
  expect_refusal(folder, with_page({"--log", "a", "--csv", "b.csv"}),
                 "--log: expected no other options than --labels, --output and "
                 "--title, got --csv");
  expect_refusal(folder, with_page({"--log", folder.path("none")}),
                 "none: cannot be read");
  const std::string newer = folder.write("newer", "{\"tally_log\":2}\n");
  expect_refusal(folder, with_page({"--log", newer}),
                 "expected a log of version 1 or older, got 2");
  const std::string bad =
      folder.write("bad.csv", "preds,target\n0.5,1\n0.5,7\n");
  for (const char* ranks : {"1", "2"}) {
    expect_refusal(folder,
                   with_page({"-m", "BinaryAccuracy", "--csv", bad, "--columns",
                              "preds,target", "--ranks", ranks}),
                   "7");
  }
  // Before anything is read.
  expect_refusal(folder, {"--log", "none", "-o", folder.path("no/x.html")},
                 "no/x.html: cannot be written");
  expect_refusal(
      folder,
      {"-m", "BinaryAccuracy", "--csv", "none", "-o", folder.path("no/x.html")},
      "no/x.html: cannot be written");
}

}  // namespace
}  // namespace tally::cli
