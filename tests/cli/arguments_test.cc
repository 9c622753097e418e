#include "tally/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_THAT(others.csv, ElementsAre("x=y.csv"));
  EXPECT_EQ(others.columns, "a,b");
  EXPECT_EQ(others.ranks, 0);
  EXPECT_EQ(others.format, Format::kTable);

  const Arguments short_names =
      parsed({"evaluate", "-i", "-", "y.npy", "-m", "A", "--labels", "cat,dog",
              "--format", "table"});
  EXPECT_EQ(short_names.metrics, "A");
  EXPECT_THAT(short_names.inputs, ElementsAre("-", "y.npy"));
  EXPECT_THAT(short_names.csv_options.labels, ElementsAre("cat", "dog"));
  const files::CsvOptions csv = parsed({"evaluate", "-m", "A", "--csv", "-",
                                        "--delimiter", "tab", "--missing=nan"})
                                    .csv_options;
  EXPECT_EQ(csv.delimiter, '\t');
  EXPECT_EQ(csv.missing, files::Missing::kNan);

  const Arguments report = parsed(
      {"report", "-m", "A", "--csv", "x.csv", "--title=T", "-o", "x.html"});
  EXPECT_EQ(report.command, Command::kReport);
  EXPECT_THAT(report.csv, ElementsAre("x.csv"));
  EXPECT_EQ(report.title, "T");
  EXPECT_EQ(report.output, "x.html");
  const Arguments log =
      parsed({"report", "--log", "l", "--labels", "cat,dog", "--title", "-"});
  EXPECT_EQ(log.logs, std::vector<std::string>{"l"});
  EXPECT_EQ(log.title, "-");

  const Arguments compared = parsed(
      {"compare", "a", "--level", "0.9", "b", "--format=csv", "-o", "c"});
  EXPECT_EQ(compared.command, Command::kCompare);
  EXPECT_THAT(compared.runs, ElementsAre("a", "b"));
  EXPECT_EQ(compared.level, 0.9);
  EXPECT_EQ(compared.format, Format::kCsv);
  EXPECT_EQ(compared.output, "c");
  EXPECT_EQ(parsed({"compare", "-", "b"}).level, 0.95);
  EXPECT_EQ(parsed({"evaluate", "-m", "A", "-i", "x", "--replicates", "r"})
                .replicates,
            "r");

  EXPECT_EQ(parsed({"--version"}).command, Command::kVersion);
  EXPECT_EQ(parsed({"plan", "width", "--proportion", "1", "--rows", "2"}).name,
            "width");
  EXPECT_EQ(parsed({"completion", "zsh"}).command, Command::kCompletion);
  EXPECT_EQ(parsed({"list"}).command, Command::kList);
  const Arguments list = parsed({"list", "AUROC", "exact", "--format=json"});
  EXPECT_THAT(list.words, ElementsAre("AUROC", "exact"));
  EXPECT_EQ(list.format, Format::kJson);
  EXPECT_EQ(parsed({"describe", "A"}).command, Command::kDescribe);
  EXPECT_EQ(parsed({"describe", "A"}).name, "A");
  EXPECT_EQ(parsed({"describe", "A", "--format=json"}).format, Format::kJson);
  EXPECT_EQ(parsed({"describe", "--format", "json"}).name, "");
  EXPECT_TRUE(parsed({"describe", "--format", "json-schema"}).json_schema);
  EXPECT_EQ(arguments_error({"describe", "A", "--format=json-schema"}),
            "describe: expected no name with json-schema, got 1");
  EXPECT_EQ(arguments_error({"list", "--format=json-schema"}),
            "--format: expected table, json or csv, got 'json-schema'");
  for (const char* word : {"--help", "-h", "help"}) {
    EXPECT_EQ(parsed({word}).command, Command::kHelp);
    EXPECT_EQ(parsed({"evaluate", word}).command, Command::kHelp);
  }
}

TEST(ArgumentsTest, InputsAndColumnsTakeBlanksAndCommas) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"preds=a.npy", "target=b.npy"},
        std::vector<std::string>{"preds=a.npy,target=b.npy"}}) {
    std::vector<std::string> all = {"evaluate", "-m", "A", "--inputs"};
    all.insert(all.end(), words.begin(), words.end());
    const Arguments arguments = parsed(all);
    EXPECT_EQ(arguments.input_names,
              (std::vector<std::string>{"preds", "target"}));
    EXPECT_EQ(arguments.inputs.size(), 2u);
  }
  EXPECT_EQ(parsed({"evaluate", "-m", "A", "--csv", "x.csv", "--columns",
                    "preds=a", "target=b"})
                .columns,
            "preds=a,target=b");
  // A file whose name has a comma.
  const std::string path = ::testing::TempDir() + "a,b.npy";
  std::ofstream(path) << "x";
  EXPECT_EQ(parsed({"evaluate", "-m", "A", "--inputs",
                    "preds=" + path + ",target=c.npy"})
                .inputs.size(),
            2u);
}

TEST(ArgumentsTest, PathsAreFromWhereTheUserIs) {
  setenv("BUILD_WORKING_DIRECTORY", "/home/user", 1);
  const Arguments arguments = parsed({"evaluate", "--config", "c", "--inputs",
                                      "x", "/y", "-", "--output", "o"});
  EXPECT_EQ(arguments.config, "/home/user/c");
  EXPECT_THAT(arguments.inputs, ElementsAre("/home/user/x", "/y", "-"));
  EXPECT_EQ(arguments.output, "/home/user/o");
  const auto ids_of = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"evaluate", "-m", "A", "--interval", "0.9"});
    const Arguments with_ids = parsed(std::move(words));
    return with_ids.ids + id_path(with_ids);
  };
  EXPECT_EQ(ids_of({"-i", "x", "--ids", "y"}), "/home/user/y/home/user/y");
  EXPECT_EQ(ids_of({"-i", "x.jsonl", "--ids", "y"}), "y");
  EXPECT_EQ(ids_of({"--csv", "x", "--ids", "y"}), "y");
  unsetenv("BUILD_WORKING_DIRECTORY");
}

TEST(ArgumentsTest, SayWhatIsWrong) {
  EXPECT_EQ(
      arguments_error({}),
      "expected list, describe, evaluate, report, compare, plan, merge or "
      "show; see "
      "--help");
  EXPECT_EQ(arguments_error({"evalute"}),
            "unknown command 'evalute'; did you mean 'evaluate'?");
  EXPECT_EQ(arguments_error({"list", "--all"}), "list: unknown option '--all'");
  EXPECT_EQ(arguments_error({"list", "--format", "csv"}),
            "list: expected the format table or json, got csv");
  EXPECT_EQ(arguments_error({"completion"}),
            "completion: expected bash or zsh, got 0");
  EXPECT_EQ(arguments_error({"describe"}),
            "describe: expected the name of one metric or loss, such as "
            "BinaryAUROC, got none; tally list has all, --format json "
            "describes them");
  EXPECT_EQ(arguments_error({"describe", "A", "B", "--format=json"}),
            "describe: expected the name of one metric or loss, such as "
            "BinaryAUROC, got 2; tally list has all, --format json "
            "describes them");
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
              HasSubstr("debiased_gaps, got 'wald'"));
  EXPECT_EQ(evaluate_error({"-m", "A", "--csv", "x", "--ids", "a"}),
            "--ids: requires --interval, --replicates or --by");
  EXPECT_EQ(evaluate_error({"-m", "A", "--coco", "x", "y", "--interval", "0.9",
                            "--groups", "a"}),
            "--groups: requires --csv or --inputs");
  EXPECT_EQ(
      evaluate_error(
          {"-m", "A", "-i", "-", "x", "--interval", "0.9", "--ids", "-"}),
      "--inputs and --ids: - (standard input) can be given only once, got "
      "it 2 times");
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

TEST(ArgumentsTest, SayWhatIsWrongWithRuns) {
  const auto compare_error = [](std::vector<std::string> words) {
    words.insert(words.begin(), "compare");
    return arguments_error(words);
  };
  EXPECT_EQ(compare_error({}),
            "compare: expected two files, written by evaluate with "
            "--replicates, got 0");
  EXPECT_EQ(compare_error({"a", "b", "c"}),
            "compare: expected two files, written by evaluate with "
            "--replicates, got 3");
  EXPECT_EQ(compare_error({"-", "-"}),
            "compare: - (standard input) can be given only once");
  EXPECT_EQ(compare_error({"a", "b", "--levels", "0.9"}),
            "compare: unknown option '--levels'; did you mean '--level'?");
  EXPECT_EQ(compare_error({"a", "b", "--level", "2"}),
            "--level: expected a level in (0, 1), such as 0.95, got '2'");
  EXPECT_EQ(compare_error({"a", "b", "--level"}),
            "--level: expected a value, got none");
  EXPECT_EQ(compare_error({"a", "b", "-o", "c", "--output=c"}),
            "--output: given twice");
  EXPECT_EQ(compare_error({"a", "b", "--format", "xml"}),
            "--format: expected table, json or csv, got 'xml'");
  EXPECT_EQ(evaluate_error({"-m", "A", "-i", "x", "--replicates", "r",
                            "--interval-method", "wilson"}),
            "--replicates: expected --interval-method poisson, "
            "double_or_nothing or jackknife, got wilson");
  EXPECT_EQ(evaluate_error(
                {"-m", "A", "-i", "x", "--replicates", "r", "--output", "r"}),
            "--replicates: expected a file other than --output");
  EXPECT_EQ(arguments_error({"report", "-m", "A", "-i", "x", "--replicates=r"}),
            "--replicates: not written by report; see evaluate");
}

TEST(ArgumentsTest, SayWhatDoesNotGoTogether) {
  EXPECT_EQ(evaluate_error({}),
            "expected either --metrics or --config, got neither");
  EXPECT_EQ(evaluate_error({"--metrics", "A", "--config", "c"}),
            "expected either --metrics or --config, got both");
  EXPECT_EQ(
      evaluate_error({"--metrics", "A"}),
      "expected one of --inputs, --csv, --jsonl, --coco and --set, got none");
  EXPECT_EQ(evaluate_error({"--metrics", "A", "--inputs", "x", "--csv", "y"}),
            "expected one of --inputs, --csv, --jsonl, --coco and --set, got "
            "several");
  EXPECT_EQ(
      evaluate_error({"--metrics", "A", "--inputs", "x", "--columns", "y"}),
      "--columns: requires --csv or --jsonl, or a .jsonl or .npz file as "
      "--inputs");
  EXPECT_EQ(evaluate_error({"-m", "A", "-i", "x.jsonl", "y.txt"}),
            "--inputs: expected x.jsonl alone and without a name, as it holds "
            "all inputs; use --columns to choose them");
  EXPECT_EQ(evaluate_error({"-m", "A", "-i", "x", "--missing", "skip"}),
            "--missing: requires --csv or --jsonl, or a .jsonl file as "
            "--inputs");
  EXPECT_EQ(evaluate_error({"-m", "A", "-i", "x.json"}),
            "--inputs: expected files of arrays, of texts or of JSON lines, "
            "got x.json; --jsonl reads it if it has an object in each line");
  EXPECT_EQ(evaluate_error({"-m", "A", "-i", "-", "-"}),
            "--inputs: - (standard input) can be given only once, got it 2 "
            "times");
  EXPECT_EQ(evaluate_error({"--metrics", "A", "--inputs", "x", "--ranks", "3",
                            "--split", "1,2"}),
            "--split: expected one number for each of 3 ranks, got 2");
}

}  // namespace
}  // namespace tally::cli
