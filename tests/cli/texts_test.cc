#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tally/cli/arguments.h"
#include "tally/cli/columns.h"
#include "tally/cli/describe.h"
#include "tally/cli/output.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Arguments parsed(std::vector<std::string> words) {
  words.insert(words.begin(), "tally");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return parse_arguments(static_cast<int>(pointers.size()), pointers.data());
}

std::string arguments_error(const std::vector<std::string>& words) {
  return refusal_of([&] { parsed(words); });
}

std::string evaluate_error(std::vector<std::string> words) {
  words.insert(words.begin(), "evaluate");
  return arguments_error(words);
}

TEST(ArgumentsTest, AreRead) {
  const Arguments arguments =
      parsed({"evaluate", "--metrics", "A(b=--c)", "--inputs", "x.npy", "y.npy",
              "--ranks=3", "--split", "12,6,0", "--batch-size", "7", "--format",
              "json", "--output", "out"});
  EXPECT_EQ(arguments.command, Command::kEvaluate);
  EXPECT_EQ(arguments.metrics, "A(b=--c)");
  EXPECT_THAT(arguments.inputs, ElementsAre("x.npy", "y.npy"));
  EXPECT_EQ(arguments.ranks, 3);
  EXPECT_THAT(arguments.split, ElementsAre(12, 6, 0));
  EXPECT_EQ(arguments.batch_size, 7);
  EXPECT_EQ(arguments.format, Format::kJson);
  EXPECT_EQ(arguments.output, "out");

  const Arguments others =
      parsed({"evaluate", "--config=c", "--csv=x=y.csv", "--columns", "a,b"});
  EXPECT_EQ(others.config, "c");
  EXPECT_EQ(others.csv, "x=y.csv");
  EXPECT_EQ(others.columns, "a,b");
  EXPECT_EQ(others.ranks, 0);
  EXPECT_EQ(others.format, Format::kTable);

  const Arguments short_names =
      parsed({"evaluate", "-i", "-", "y.npy", "-m", "A", "--labels", "cat,dog",
              "--format", "table"});
  EXPECT_EQ(short_names.metrics, "A");
  EXPECT_THAT(short_names.inputs, ElementsAre("-", "y.npy"));
  EXPECT_THAT(short_names.csv_options.labels, ElementsAre("cat", "dog"));
  const CsvOptions csv = parsed({"evaluate", "-m", "A", "--csv", "-",
                                 "--delimiter", "tab", "--missing=nan"})
                             .csv_options;
  EXPECT_EQ(csv.delimiter, '\t');
  EXPECT_EQ(csv.missing, Missing::kNan);

  const Arguments report = parsed(
      {"report", "-m", "A", "--csv", "x.csv", "--title=T", "-o", "x.html"});
  EXPECT_EQ(report.command, Command::kReport);
  EXPECT_EQ(report.csv, "x.csv");
  EXPECT_EQ(report.title, "T");
  EXPECT_EQ(report.output, "x.html");
  const Arguments log =
      parsed({"report", "--log", "l", "--labels", "cat,dog", "--title", "-"});
  EXPECT_EQ(log.logs, std::vector<std::string>{"l"});
  EXPECT_EQ(log.title, "-");

  EXPECT_EQ(parsed({"--version"}).command, Command::kVersion);
  EXPECT_EQ(parsed({"completion", "zsh"}).command, Command::kCompletion);
  EXPECT_EQ(parsed({"list"}).command, Command::kList);
  const Arguments list = parsed({"list", "AUROC", "exact", "--format=json"});
  EXPECT_THAT(list.words, ElementsAre("AUROC", "exact"));
  EXPECT_EQ(list.format, Format::kJson);
  EXPECT_EQ(parsed({"describe", "A"}).command, Command::kDescribe);
  EXPECT_EQ(parsed({"describe", "A"}).name, "A");
  EXPECT_EQ(parsed({"describe", "A", "--format=json"}).format, Format::kJson);
  EXPECT_EQ(parsed({"describe", "--format", "json"}).name, "");
  for (const char* word : {"--help", "-h", "help"}) {
    EXPECT_EQ(parsed({word}).command, Command::kHelp);
    EXPECT_EQ(parsed({"evaluate", word}).command, Command::kHelp);
  }
}

TEST(ArgumentsTest, PathsAreFromWhereTheUserIs) {
  setenv("BUILD_WORKING_DIRECTORY", "/home/user", 1);
  const Arguments arguments = parsed({"evaluate", "--config", "c", "--inputs",
                                      "x", "/y", "-", "--output", "o"});
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(arguments.config, "/home/user/c");
  EXPECT_THAT(arguments.inputs, ElementsAre("/home/user/x", "/y", "-"));
  EXPECT_EQ(arguments.output, "/home/user/o");
}

TEST(ArgumentsTest, SayWhatIsWrong) {
  EXPECT_EQ(arguments_error({}),
            "expected list, describe, evaluate or report; see --help");
  EXPECT_EQ(arguments_error({"evalute"}),
            "unknown command 'evalute'; did you mean 'evaluate'?");
  EXPECT_EQ(arguments_error({"list", "--all"}), "list: unknown option '--all'");
  EXPECT_EQ(arguments_error({"list", "--format", "csv"}),
            "list: expected the format table or json, got csv");
  EXPECT_EQ(arguments_error({"completion"}),
            "completion: expected bash or zsh, got 0");
  EXPECT_EQ(arguments_error({"describe"}),
            "describe: expected the name of one metric, got 0");
  EXPECT_EQ(arguments_error({"describe", "A", "B", "--format=json"}),
            "describe: expected the name of one metric, got 2");
  EXPECT_EQ(arguments_error({"describe", "--all"}),
            "describe: unknown option '--all'");
  EXPECT_EQ(arguments_error({"describe", "A", "--format=csv"}),
            "describe: expected the format table or json, got csv");
  EXPECT_EQ(evaluate_error({"x"}), "expected an option, got 'x'; see --help");
  EXPECT_EQ(evaluate_error({"--batchsize", "5"}),
            "unknown option '--batchsize'; did you mean '--batch-size'?");
  EXPECT_EQ(evaluate_error({"--metrics"}),
            "--metrics: expected a value, got none");
  EXPECT_EQ(evaluate_error({"--metrics", "--config", "c"}),
            "--metrics: expected a value, got none");
  EXPECT_EQ(evaluate_error({"--metrics="}),
            "--metrics: expected a value, got none");
  EXPECT_EQ(evaluate_error({"--ranks", "2", "--ranks=2"}),
            "--ranks: given twice");
  for (const char* text : {"0", "-1", "257", "x", "2x", "2.0"}) {
    EXPECT_EQ(evaluate_error({"--ranks", text}),
              "--ranks: expected an integer from 1 to 256, got '" +
                  std::string(text) + "'");
  }
  EXPECT_THAT(evaluate_error({"--batch-size", "0"}),
              HasSubstr("expected an integer from 1 to"));
  EXPECT_THAT(evaluate_error({"--split", "1,,2"}), HasSubstr("got ''"));
  EXPECT_THAT(evaluate_error({"--split", "1,-2"}), HasSubstr("got '-2'"));
  std::string many = "1";
  for (int i = 0; i < 256; ++i) many += ",1";
  EXPECT_EQ(evaluate_error({"--split", many}),
            "--split: expected at most 256 ranks, got 257");
  EXPECT_EQ(evaluate_error({"--format", "xml"}),
            "--format: expected table, json or csv, got 'xml'");
  EXPECT_EQ(evaluate_error({"--missing", "0"}),
            "--missing: expected error, skip or nan, got '0'");
  EXPECT_EQ(evaluate_error({"--delimiter", ", "}),
            "--delimiter: expected one character or tab, got ', '");
  EXPECT_EQ(evaluate_error({"-m", "A", "-i", "x", "--by", "a"}),
            "--by: requires --csv");
  EXPECT_EQ(evaluate_error({"-m", "A", "--csv", "x", "--slices", "3"}),
            "--slices: requires --by");
  EXPECT_EQ(evaluate_error({"--interval", "95"}),
            "--interval: expected a level in (0, 1), such as 0.95, got '95'");
  EXPECT_THAT(evaluate_error({"--interval-method", "wald"}),
              HasSubstr("jackknife, got 'wald'"));
  EXPECT_EQ(evaluate_error({"-m", "A", "--csv", "x", "--ids", "a"}),
            "--ids: requires --interval");
  EXPECT_EQ(evaluate_error(
                {"-m", "A", "-i", "x", "--interval", "0.9", "--groups", "a"}),
            "--groups: requires --csv");
  EXPECT_EQ(evaluate_error({"-m", "A", "--csv", "x", "--interval", "0.9",
                            "--ids", "a", "--groups", "b"}),
            "expected one of --ids and --groups, got both");
  EXPECT_EQ(evaluate_error({"--by", "a,b,a"}),
            "--by: expected each column once, got 'a' twice");
  EXPECT_EQ(evaluate_error({"--labels", "a,b,a"}),
            "--labels: expected each label once, got 'a' twice");
  EXPECT_EQ(evaluate_error({"--labels", "a,,b"}),
            "--labels: expected each label once, got ''");
  EXPECT_EQ(evaluate_error({"-x", "a"}),
            "expected an option, got '-x'; see --help");
}

TEST(ArgumentsTest, SayWhatDoesNotGoTogether) {
  EXPECT_EQ(evaluate_error({}),
            "expected either --metrics or --config, got neither");
  EXPECT_EQ(evaluate_error({"--metrics", "A", "--config", "c"}),
            "expected either --metrics or --config, got both");
  EXPECT_EQ(evaluate_error({"--metrics", "A"}),
            "expected one of --inputs, --csv and --coco, got none");
  EXPECT_EQ(evaluate_error({"--metrics", "A", "--inputs", "x", "--csv", "y"}),
            "expected one of --inputs, --csv and --coco, got several");
  EXPECT_EQ(
      evaluate_error({"--metrics", "A", "--inputs", "x", "--columns", "y"}),
      "--columns: requires --csv or one .jsonl file as --inputs");
  EXPECT_EQ(evaluate_error({"-m", "A", "-i", "x.jsonl", "y.txt"}),
            "--inputs: expected x.jsonl alone and without a name, as it holds "
            "all inputs; use --columns to choose them");
  EXPECT_EQ(evaluate_error({"-m", "A", "-i", "x", "--missing", "skip"}),
            "--missing: requires --csv");
  EXPECT_EQ(evaluate_error({"-m", "A", "-i", "-", "-"}),
            "--inputs: expected - once, got it 2 times");
  EXPECT_EQ(evaluate_error({"--metrics", "A", "--inputs", "x", "--ranks", "3",
                            "--split", "1,2"}),
            "--split: expected one number for each of 3 ranks, got 2");
}

Report sample_report() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Report report{2, 18, {}, "", "", {}, {}, {}};
  report.results.add("mean", at::scalar_tensor(0.1, at::kDouble));
  report.results.add("float", at::scalar_tensor(0.1, at::kFloat));
  report.results.add("count", at::scalar_tensor(9007199254740993, at::kLong));
  report.results.add("flag", at::scalar_tensor(true, at::kBool));
  report.results.add("none", at::Tensor());
  report.results.add(
      "odd \"name\", this",
      at::tensor({std::nan(""), kInfinity, -kInfinity, -0.0}, at::kDouble));
  report.results.add("matrix", at::tensor({1, 2, 3, 4}).view({2, 2}).t());
  return report;
}

TEST(OutputTest, JsonKeepsFullPrecision) {
  EXPECT_EQ(render(sample_report(), Format::kJson),
            "{\"ranks\":2,\"rows\":18,\"metrics\":{\"mean\":0.1,\"float\":"
            "0.10000000149011612,\"count\":9007199254740993,\"flag\":true,"
            "\"none\":null,\"odd \\\"name\\\", this\":[\"NaN\",\"Infinity\","
            "\"-Infinity\",-0.0],\"matrix\":[[1,3],[2,4]]}}\n");
  Report report;
  report.results.add("\xFF", at::tensor(1));
  EXPECT_THAT(render(report, Format::kJson), HasSubstr("\xEF\xBF\xBD"));
}

TEST(OutputTest, CsvHasALineForEachNumber) {
  EXPECT_EQ(render(sample_report(), Format::kCsv),
            "metric,index,value\n"
            "mean,,0.1\n"
            "float,,0.10000000149011612\n"
            "count,,9007199254740993\n"
            "flag,,true\n"
            "none,,null\n"
            "\"odd \"\"name\"\", this\",0,NaN\n"
            "\"odd \"\"name\"\", this\",1,Infinity\n"
            "\"odd \"\"name\"\", this\",2,-Infinity\n"
            "\"odd \"\"name\"\", this\",3,-0.0\n"
            "matrix,0 0,1\n"
            "matrix,0 1,3\n"
            "matrix,1 0,2\n"
            "matrix,1 1,4\n");
}

Report sliced_report() {
  Report report{1, 9, {}, "", "", {"site", "a,b"}, {}, {}};
  report.results.add("mean", at::scalar_tensor(0.5, at::kDouble));
  const std::vector<std::vector<SliceValue>> keys = {
      {{}, std::string("x")}, {std::string("n,1"), std::string("y")}, {}};
  for (const auto& key : keys) {
    Slice slice{key, 3, {}};
    slice.results.add("mean", at::scalar_tensor(0.25, at::kDouble));
    slice.results.add("each", at::tensor({1, 2}));
    report.slices.push_back(std::move(slice));
  }
  return report;
}

TEST(OutputTest, SlicesFollowTheWhole) {
  EXPECT_EQ(render(sliced_report(), Format::kTable),
            "mean  0.5\n\n"
            "              rows  mean\n"
            "(missing), x     3  0.25\n"
            "n,1, y           3  0.25\n"
            "(other)          3  0.25\n");
  EXPECT_EQ(render(sliced_report(), Format::kCsv),
            "site,\"a,b\",rows,metric,index,value\n"
            "(all),(all),9,mean,,0.5\n"
            ",x,3,mean,,0.25\n"
            ",x,3,each,0,1\n"
            ",x,3,each,1,2\n"
            "\"n,1\",y,3,mean,,0.25\n"
            "\"n,1\",y,3,each,0,1\n"
            "\"n,1\",y,3,each,1,2\n"
            "(other),(other),3,mean,,0.25\n"
            "(other),(other),3,each,0,1\n"
            "(other),(other),3,each,1,2\n");
  EXPECT_EQ(render(sliced_report(), Format::kJson),
            "{\"ranks\":1,\"rows\":9,\"metrics\":{\"mean\":0.5},\"slices\":["
            "{\"key\":{\"site\":null,\"a,b\":\"x\"},\"rows\":3,\"metrics\":{"
            "\"mean\":0.25,\"each\":[1,2]}},"
            "{\"key\":{\"site\":\"n,1\",\"a,b\":\"y\"},\"rows\":3,\"metrics\":{"
            "\"mean\":0.25,\"each\":[1,2]}},"
            "{\"key\":null,\"rows\":3,\"metrics\":{\"mean\":0.25,\"each\":[1,2]"
            "}}]}\n");
}

TEST(OutputTest, TablesShowMatricesThatFit) {
  const std::string table = render(sample_report(), Format::kTable);
  EXPECT_THAT(table, HasSubstr("mean              0.1\n"));
  EXPECT_THAT(table, EndsWith("\nmatrix  0  1\n0       1  3\n1       2  4\n"));
  EXPECT_THAT(render(sample_report(), Format::kTable, {"cat", "dog"}),
              EndsWith("\nmatrix  cat  dog\ncat       1    3\ndog       2    "
                       "4\n"));
}

TEST(OutputTest, FilesAreReplacedAsAWhole) {
  const Folder folder;
  const std::string file = folder.write("out", "before");
  ASSERT_EQ(chmod(file.c_str(), 0640), 0);
  check_output(file);
  write_output(file, "after");
  EXPECT_EQ(read_file(file), "after");
  struct stat status {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);

  const std::string link = folder.path("link");
  std::filesystem::create_symlink(file, link);
  write_output(link, "linked");
  EXPECT_EQ(read_file(file), "linked");
  EXPECT_TRUE(std::filesystem::is_symlink(link));

  write_output(folder.path("new"), "new");
  EXPECT_EQ(read_file(folder.path("new")), "new");
  EXPECT_EQ(folder.size(), 3u);
}

TEST(OutputTest, DevicesAreWrittenTo) {
  check_output("/dev/null");
  write_output("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(refusal_of([] { write_output("/dev/full", "text"); }),
            "/dev/full: cannot be written: No space left on device");
}

TEST(OutputTest, SaysWhatCannotBeWritten) {
  const Folder folder;
  EXPECT_THAT(refusal_of([&] { check_output(folder.path("")); }),
              EndsWith("expected a file, got a folder"));
  for (auto* call : {check_output, +[](const std::string& path) {
                       write_output(path, "text");
                     }}) {
    EXPECT_THAT(refusal_of([&] { call(folder.path("none/out")); }),
                EndsWith("cannot be written: No such file or directory"));
  }
  EXPECT_EQ(folder.size(), 0u);
}

TEST(DescribeTest, ListsEveryMetricOnALine) {
  const std::string list = list_metrics(builtin_registry());
  EXPECT_THAT(list, StartsWith("aggregation\n  CatMetric "));
  EXPECT_THAT(list, HasSubstr("\n\nclassification\n  Binary"));
  std::istringstream lines(list);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LT(line.size(), 120u) << line;
    count += line.substr(0, 2) == "  ";
  }
  EXPECT_EQ(count, builtin_registry().entries().size());
}

TEST(DescribeTest, ListsWhatHasAllWords) {
  EXPECT_THAT(list_metrics(builtin_registry(), {"regression", "log"}),
              ::testing::AllOf(StartsWith("regression\n  "),
                               HasSubstr("\n  MeanSquaredLogError ")));
  const auto json = nlohmann::json::parse(
      list_metrics(builtin_registry(), {"multiclassaccuracy"}, Format::kJson));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0].at("name"), "MulticlassAccuracy");
  EXPECT_EQ(json[0].at("domain"), "classification");
  EXPECT_EQ(json[0].at("higher_is_better"), true);
  EXPECT_EQ(refusal_of([] {
              list_metrics(builtin_registry(), {"x1", "y"});
            }),
            "no metric has 'x1' and 'y' in its name, domain or description");
}

TEST(DescribeTest, CompletionKnowsMetricsAndOptions) {
  const std::string bash = completion(builtin_registry(), "bash");
  EXPECT_THAT(bash, HasSubstr(" MulticlassAccuracy "));
  EXPECT_THAT(bash, EndsWith("\ncomplete -F _tally tally\n"));
  EXPECT_THAT(completion(builtin_registry(), "zsh"),
              ::testing::AllOf(HasSubstr("bashcompinit\n"), EndsWith(bash)));
  EXPECT_EQ(refusal_of([] { completion(builtin_registry(), "fish"); }),
            "completion: expected bash or zsh, got 'fish'");
  // The options that --help tells of, and no others.
  const std::size_t begin = bash.find("--metrics --config");
  ASSERT_NE(begin, bash.npos);
  const std::string words = bash.substr(begin, bash.find('"', begin) - begin);
  std::istringstream options(words);
  for (std::string option; options >> option;) {
    EXPECT_THAT(kHelp, HasSubstr(option));
  }
  std::istringstream help(kHelp);
  for (std::string word; help >> word;) {
    if (word.rfind("--", 0) != 0 || word == "--version") continue;
    word.erase(word.find_last_not_of(",:;") + 1);
    EXPECT_THAT(bash, HasSubstr(word));
  }
}

TEST(ColumnsTest, AreFoundByName) {
  const std::vector<MetricInputs> metrics = {
      {"accuracy",
       {{"preds", InputKind::kFloat, "scores"},
        {"target", InputKind::kReal, "labels"},
        {"weight", InputKind::kReal, "real", true}}}};
  using Columns = std::vector<std::pair<std::string, std::size_t>>;
  EXPECT_EQ(match_columns({"id", "Label", "prediction"}, metrics),
            (Columns{{"preds", 2}, {"target", 1}}));
  EXPECT_EQ(match_columns({"y", "sample_weight", "preds"}, metrics),
            (Columns{{"preds", 2}, {"target", 0}, {"weight", 1}}));
  EXPECT_EQ(refusal_of([&] {
              match_columns({"a", "b", "label"}, metrics);
            }),
            "no column found for preds among 'a', 'b', 'label'; assign columns "
            "with --columns preds=COLUMN,target=COLUMN");
  EXPECT_EQ(refusal_of([&] {
              match_columns({"score", "y", "pred"}, metrics);
            }),
            "columns 'score' and 'pred' could both be preds; choose one with "
            "--columns preds=COLUMN,...");
  const std::vector<MetricInputs> one = {
      {"mean", {{"value", InputKind::kReal, "real"}}}};
  EXPECT_EQ(match_columns({"loss"}, one), (Columns{{"value", 0}}));
  EXPECT_THAT(refusal_of([&] {
                match_columns({"loss", "time"}, one);
              }),
              StartsWith("no column found for value among 'loss', 'time'"));
}

TEST(DescribeTest, SaysAllThereIsToKnow) {
  Registry registry;
  registry.add({"Loss",
                {"What it is.", "[0, inf)", "classes=5"},
                {{"classes", "0", "an integer"},
                 {"average", "macro", "one of macro, micro"}},
                true,
                false,
                false,
                {},
                {{"preds", InputKind::kFloat, "float [N]"},
                 {"weight", InputKind::kReal, "real [N]", true}}});
  registry.describe_option("Loss", "average", "How it is averaged.");
  EXPECT_EQ(describe_metric(registry, "Loss"),
            "Loss\n"
            "  What it is.\n"
            "\n"
            "options\n"
            "  classes  required  an integer; for example 5\n"
            "  average  macro     one of macro, micro\n"
            "      How it is averaged.\n"
            "\n"
            "inputs\n"
            "  preds   float [N]\n"
            "  weight  real [N]   (optional)\n"
            "\n"
            "range             [0, inf)\n"
            "differentiable    yes\n"
            "higher is better  no\n");
  registry.add({"Wrapper",
                {"What it wraps.", "any", "metric=Loss()"},
                {{"metric", "", "a metric", false, true}},
                std::nullopt,
                std::nullopt,
                true,
                {}});
  EXPECT_EQ(describe_metric(registry, "Wrapper"),
            "Wrapper\n"
            "  What it wraps.\n"
            "\n"
            "options\n"
            "  metric  required  a metric; for example Loss()\n"
            "\n"
            "inputs\n"
            "  those of 'metric'\n"
            "\n"
            "range             any\n"
            "differentiable    same as the wrapped metric\n"
            "higher is better  same as the wrapped metric\n");
  for (const auto& [name, entry] : builtin_registry().entries()) {
    EXPECT_THAT(describe_metric(builtin_registry(), name), HasSubstr("range"));
  }
  EXPECT_THAT(describe_metric(builtin_registry(), "BinaryTargetTransformer"),
              HasSubstr("inputs\n  those of 'metric', "
                        "with\n  target  real"));
  EXPECT_EQ(
      refusal_of([] { describe_metric(builtin_registry(), "MaxMetrik"); }),
      "unknown metric 'MaxMetrik'; did you mean 'MaxMetric'?");
}

TEST(DescribeTest, SaysItAsJson) {
  Registry registry;
  registry.add({"Loss",
                {"What it is.", "[0, inf)", "classes=5"},
                {{"classes", "0", "an integer"},
                 {"average", "macro", "one of macro, micro"}},
                true,
                std::nullopt,
                false,
                {},
                {{"preds", InputKind::kFloat, "float [N]"},
                 {"weight", InputKind::kReal, "real [N]", true}}});
  registry.describe_option("Loss", "average", "How it is averaged.");
  const std::string text = describe_metric(registry, "Loss", Format::kJson);
  const auto loss = nlohmann::json::parse(R"json({
      "name": "Loss", "domain": "custom", "what": "What it is.",
      "range": "[0, inf)", "differentiable": true, "higher_is_better": null,
      "wrapper": false,
      "options": [
        {"name": "classes", "example": "5", "expected": "an integer",
         "what": ""},
        {"name": "average", "default": "macro",
         "expected": "one of macro, micro", "what": "How it is averaged."}],
      "inputs": [
        {"name": "preds", "what": "float [N]", "optional": false},
        {"name": "weight", "what": "real [N]", "optional": true}]
})json");
  EXPECT_EQ(nlohmann::json::parse(text), loss);
  EXPECT_EQ(nlohmann::json::parse(describe_metric(registry, "", Format::kJson)),
            nlohmann::json::array({loss}));

  const auto all = nlohmann::json::parse(
      describe_metric(builtin_registry(), "", Format::kJson));
  EXPECT_EQ(all.size(), builtin_registry().entries().size());
  for (const auto& metric : all) {
    if (metric["name"] != "BinaryTargetTransformer") continue;
    EXPECT_EQ(metric["other_inputs"], "metric");
    EXPECT_EQ(metric["inputs"].size(), 1U);
    EXPECT_EQ(metric["inputs"][0]["name"], "target");
  }
}

}  // namespace
}  // namespace tally::cli
