#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/cli/messages.h"
#include "tally/cli/source.h"
#include "tally/files/column_list.h"
#include "tally/files/csv.h"
#include "tally/metrics/registry/registry.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

// What messages propose, and the names of columns that need quotes.

namespace tally::cli {
namespace {

using files::CsvFile;
using files::CsvKind;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testkit::refusal_of;
using Words = std::vector<std::string>;

TEST(ColumnListTest, NamesMayBeInQuotes) {
  const Words known = {"a,b", "x:y", "say \"hi\"", "preds=a", "c"};
  const auto items = files::parse_columns(
      "\"a,b\":\"x:y\",x:y,\"say \"\"hi\"\"\",preds=a,c:\"a,b\"", known);
  ASSERT_EQ(items.size(), 5u);
  EXPECT_TRUE(items[0].is_range);
  EXPECT_EQ(items[0].text(), "a,b:x:y");
  EXPECT_EQ(items[0].last, "x:y");
  EXPECT_EQ(items[1].first, "x:y");
  EXPECT_EQ(items[2].first, "say \"hi\"");
  EXPECT_EQ(items[3].first, "preds=a");
  EXPECT_EQ(items[3].input, "");
  EXPECT_EQ(items[4].first + "|" + items[4].last, "c|a,b");
  const auto named = files::parse_columns("preds=\"a,b\",target=c", known);
  EXPECT_EQ(named[0].input + "|" + named[0].first, "preds|a,b");
  EXPECT_EQ(named[1].input + "|" + named[1].first, "target|c");
  EXPECT_TRUE(files::parse_columns("", known).empty());
}

TEST(ColumnListTest, SaysWhatIsWrong) {
  const auto refusal = [](const std::string& columns) {
    return refusal_of([&] { files::parse_columns(columns, {"a"}); });
  };
  EXPECT_EQ(refusal("a,\"b"), "--columns: expected a closing \" in 'a,\"b'");
  EXPECT_EQ(refusal("\"a\"b,c"),
            "--columns: expected a comma or colon after a name in quotes, got "
            "'\"a\"b'");
  EXPECT_EQ(refusal("a:\"b\"c"),
            "--columns: expected a comma or colon after a name in quotes, got "
            "'\"b\"c'");
  EXPECT_EQ(refusal("preds=a,b"),
            "--columns: expected names for all inputs or for none, got "
            "'preds=a,b'");
  EXPECT_THAT(files::split_list("--by", "\"a,b\",c"),
              ElementsAre("\"a,b\"", "c"));
  EXPECT_EQ(files::unquoted("\"a,\"\"b\"\"\""), "a,\"b\"");
  EXPECT_EQ(files::unquoted("\"a"), "\"a");
}

TEST(ColumnListTest, OfCsvFiles) {
  const Folder folder;
  const std::string path =
      folder.write("x.csv", "\"a,b\",x:y,c\n1,2,3\n4,5,6\n");
  const auto read = [&](const std::string& columns) {
    CsvFile file(path, columns);
    file.scan({CsvKind::kEither});
    return file.read(0, 2)[0];
  };
  EXPECT_TRUE(read("\"a,b\"").equal(at::tensor({1, 4}, at::kLong)));
  EXPECT_TRUE(read("x:y").equal(at::tensor({2, 5}, at::kLong)));
  EXPECT_TRUE(read("\"a,b\":\"x:y\"")
                  .equal(at::tensor({1, 2, 4, 5}, at::kLong).reshape({2, 2})));
  EXPECT_THAT(refusal_of([&] { read("a,b"); }),
              EndsWith("x.csv: no column 'a'; a name with a comma or colon is "
                       "written in quotes, '\"a,b\"'"));
  EXPECT_THAT(refusal_of([&] { read("x"); }), EndsWith("in quotes, '\"x:y\"'"));
  EXPECT_THAT(refusal_of([&] { read("d"); }), EndsWith("no column 'd'"));
}

class AdviceTest : public ::testing::Test {
 protected:
  std::string refusal(const std::string& metric, const std::string& text,
                      bool is_json = false) {
    Arguments arguments;
    const std::string path = folder_.write(is_json ? "x.jsonl" : "x.csv", text);
    (is_json ? arguments.inputs : arguments.csv) = {path};
    return refusal_of([&] {
      open_source(arguments,
                  {{metric, builtin_registry().inputs(metric), metric}});
    });
  }

  Folder folder_;
};

TEST_F(AdviceTest, LabelsAreProposedForClassesOnly) {
  const std::string labels =
      "; --labels cat,dog reads texts as classes 0, 1, ..., in this order";
  const std::string words = "pred,target\ncat,cat\ndog,dog\n";
  EXPECT_THAT(refusal("MulticlassAccuracy(num_classes=2)", words),
              EndsWith(labels));
  EXPECT_THAT(refusal("MeanSquaredError", words), Not(HasSubstr("--labels")));
  EXPECT_THAT(refusal("BinaryAUROC", "pred,target\n0.5,cat\n0.1,dog\n"),
              EndsWith(labels));
  const std::string lines =
      "{\"pred\": \"cat\", \"target\": 1}\n{\"pred\": \"dog\", \"target\": "
      "0}\n";
  EXPECT_THAT(refusal("BinaryAccuracy", lines, true), EndsWith(labels));
  EXPECT_THAT(refusal("MeanSquaredError", lines, true),
              Not(HasSubstr("--labels")));
}

TEST_F(AdviceTest, WordsBesideNumbersAreNoLabels) {
  const std::string missing =
      "got 'high'; if the value is missing there, --missing skip:high drops "
      "such rows";
  EXPECT_THAT(refusal("BinaryAccuracy", "pred,target\n0.9,1\nhigh,1\n"),
              EndsWith(missing));
  EXPECT_THAT(refusal("BinaryAccuracy",
                      "{\"pred\": 0.9, \"target\": 1}\n"
                      "{\"pred\": \"high\", \"target\": 1}\n",
                      true),
              EndsWith(missing));
  EXPECT_THAT(refusal("BinaryAccuracy", "pred,target\n0.9,1\nx1,1\n"),
              EndsWith("got 'x1'"));
  EXPECT_THAT(refusal("BinaryAccuracy", "pred,target\n0.9,TRUE\n0.1,F\n"),
              EndsWith("got 'F'; true is written TRUE, True, true or 1, and "
                       "false FALSE, False, false or 0"));
}

TEST(MessagesTest, NameOptionsOfTheProgram) {
  EXPECT_EQ(option_words("IntervalMetric: expected no ids; for groups of them "
                         "use grouped"),
            "--interval: expected no ids; for groups of them use --groups");
  EXPECT_EQ(option_words("SlicedMetric: expected at most 5 slices "
                         "(max_slices), got 6"),
            "--by: expected at most 5 slices, got 6");
  EXPECT_EQ(option_words("--interval: A: A has no interval; use method "
                         "poisson, and draw the bins (calibration_plot)"),
            "--interval: A has no interval; use --interval-method poisson, and "
            "draw the bins (tally report)");
  EXPECT_EQ(option_words("expected method wilson for grouped rows, got x"),
            "expected --interval-method wilson with --groups, got x");
  EXPECT_EQ(option_words("x.csv, line 2: expected 5"),
            "x.csv, line 2: expected 5");
}

TEST(MessagesTest, ALossIsNoMetric) {
  const auto& losses = losses::loss_entries();
  EXPECT_THAT(program_message("unknown metric 'DiceLoss'", losses),
              StartsWith("expected a metric, got the loss 'DiceLoss', which a "
                         "program trains with (tally describe DiceLoss); did "
                         "you mean 'DiceScore'"));
  EXPECT_EQ(program_message("unknown metric 'Nothing'", losses),
            "unknown metric 'Nothing'");
  EXPECT_EQ(program_message("unknown metric 'MaxMetrik'; did you mean", {}),
            "unknown metric 'MaxMetrik'; did you mean");
}

}  // namespace
}  // namespace tally::cli
