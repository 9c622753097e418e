#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tally/cli/arguments.h"
#include "tally/cli/columns.h"
#include "tally/cli/completion.h"
#include "tally/cli/describe.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(DescribeTest, ListsEveryMetricOnALine) {
  const std::string list = list_metrics(builtin_registry());
  EXPECT_THAT(list, StartsWith("aggregation\n  CatMetric "));
  EXPECT_THAT(list, HasSubstr("\n\nclassification\n  Binary"));
  std::istringstream lines(list);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LT(line.size(), 130u) << line;
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
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[1].at("domain"), "expressions");
  EXPECT_EQ(json[0].at("name"), "MulticlassAccuracy");
  EXPECT_EQ(json[0].at("domain"), "classification");
  EXPECT_EQ(json[0].at("higher_is_better"), true);
  EXPECT_EQ(refusal_of([] {
              list_metrics(builtin_registry(), {"x1", "y"});
            }),
            "nothing has 'x1' and 'y' in its names, domain or description");
}

TEST(DescribeTest, ListsAndDescribesLosses) {
  const Losses& all = losses::loss_entries();
  const auto listed = [&](const std::vector<std::string>& words) {
    return list_metrics(builtin_registry(), words, Format::kTable, all);
  };
  EXPECT_THAT(listed({}), HasSubstr("\n\nlosses\n  AUCMLoss "));
  EXPECT_THAT(listed({"dice"}),
              ::testing::AllOf(StartsWith("segmentation\n  DiceScore "),
                               HasSubstr("\nlosses\n  DiceLoss ")));
  EXPECT_THAT(listed({"simclr"}), StartsWith("losses\n  NTXentLoss "));
  EXPECT_THAT(listed({"fpr"}),
              StartsWith("expressions\n  1 - BinarySpecificity()  False "));
  EXPECT_EQ(
      describe_metric(builtin_registry(), "SupConLoss", Format::kTable, all),
      R"(SupConLoss
  The supervised contrastive loss over the rows of all ranks.
  Also: supcon.
  Source: Khosla et al. 2020.

options
  temperature          0.07   a number
      Divisor of the products.
  base_temperature     0      a number
      The loss is scaled by temperature / this; 0: no scaling.
  pairwise_logits      tiled  one of tiled, gathered
      Logits tile by tile, recomputed in backward, or all at once.
  logits_budget_bytes  0      an integer
      Bytes of logits that tiles may keep for the backward pass.

inputs
  features
  labels    (optional)
)");
  const auto json = nlohmann::json::parse(
      describe_metric(builtin_registry(), "LFQ", Format::kJson, all));
  EXPECT_EQ(json.at("domain"), "losses");
  EXPECT_EQ(json.at("inputs").at(1).at("name"), "mask");
  EXPECT_EQ(json.at("inputs").at(1).at("optional"), true);
  EXPECT_EQ(json.at("results").at(2), "aux_loss");
  EXPECT_EQ(nlohmann::json::parse(
                describe_metric(builtin_registry(), "", Format::kJson, all))
                .size(),
            builtin_registry().entries().size() + all.size());
}

TEST(DescribeTest, SaysHowIntervalsAreMade) {
  const auto text = [](const std::string& name) {
    return describe_metric(builtin_registry(), name);
  };
  EXPECT_THAT(
      text("MulticlassRecall"),
      HasSubstr(
          "\nintervals         mover, logit_delta, poisson_cells, jackknife, "
          "poisson, double_or_nothing; with average=micro also wilson, "
          "clopper_pearson; with average=none also wilson, "
          "clopper_pearson\neach row is       a row\n"));
  EXPECT_THAT(text("StructuralSimilarityIndexMeasure"),
              HasSubstr("\neach row is       an image\n"));
  EXPECT_THAT(text("MaxMetric"), HasSubstr("\nintervals         none\n"));
  const auto json = nlohmann::json::parse(
      describe_metric(builtin_registry(), "MultilabelAUROC", Format::kJson));
  EXPECT_EQ(json.at("unit"), "row");
  EXPECT_EQ(json.at("intervals").at(0), "jackknife");
  EXPECT_EQ(json.at("intervals_with").at("average=none").at(0),
            "delong_newcombe");
  EXPECT_THAT(
      text("BinaryCalibrationError"),
      HasSubstr("\nintervals         none; with norm=l2 debiased_gaps\n"));
}

TEST(DescribeTest, SaysFromWhichFilesItIsRead) {
  const auto files = [](const std::string& name) {
    const std::string text = describe_metric(builtin_registry(), name);
    const std::size_t begin = text.find("\nfiles  ") + 19;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(files("MulticlassAccuracy"), "CSV columns, .npy, .npz, .jsonl");
  EXPECT_EQ(files("MeanMetric"), "CSV columns, .npy, .npz, .jsonl");
  EXPECT_EQ(files("StructuralSimilarityIndexMeasure"), ".npy, .npz");
  EXPECT_EQ(files("ComplexScaleInvariantSignalNoiseRatio"), ".npy, .npz");
  EXPECT_EQ(files("WordErrorRate"), "CSV columns, .jsonl, text files");
  EXPECT_EQ(files("EntityF1Score"), "CSV columns, .jsonl, text files");
  EXPECT_EQ(files("MeanAveragePrecision"), "COCO");
  EXPECT_EQ(files("CompleteIntersectionOverUnion"), "COCO");
  EXPECT_EQ(files("ModifiedPanopticQuality"), ".npy, .npz, COCO panoptic");
  EXPECT_EQ(files("MinMaxMetric"), "those of 'metric'");
  EXPECT_EQ(files("MultitaskWrapper"),
            "no file: preds is a map of names to real [N, ...]");

  const auto all = nlohmann::json::parse(
      describe_metric(builtin_registry(), "", Format::kJson));
  for (const auto& metric : all) {
    SCOPED_TRACE(metric.at("name"));
    const auto& read = metric.at("files");
    EXPECT_EQ(read.is_null(), metric.contains("other_inputs") &&
                                  metric.at("name") != "MultitaskWrapper");
    EXPECT_EQ(read.is_array() && read.empty(), metric.contains("no_files"));
    const auto listed = nlohmann::json::parse(
        list_metrics(builtin_registry(), {metric.at("name").get<std::string>()},
                     Format::kJson));
    const bool agrees =
        std::any_of(listed.begin(), listed.end(), [&](const auto& each) {
          return each.at("name") == metric.at("name") &&
                 each.at("files") == read;
        });
    EXPECT_TRUE(agrees);
  }
  EXPECT_THAT(list_metrics(builtin_registry(), {"bleu"}),
              HasSubstr("csv jsonl txt\n"));
}

TEST(DescribeTest, UnknownNamesAreAnsweredWithLossesToo) {
  const auto asked = [](const std::string& name) {
    return refusal_of([&] {
      describe_metric(builtin_registry(), name, Format::kTable,
                      losses::loss_entries());
    });
  };
  EXPECT_EQ(asked("DiseLoss"),
            "unknown metric or loss 'DiseLoss'; did you mean 'DiceLoss'?");
  EXPECT_EQ(asked("simclr"),
            "unknown metric or loss 'simclr'; did you mean 'NTXentLoss'?");
  EXPECT_EQ(asked("WER"),
            "unknown metric or loss 'WER'; did you mean 'WordErrorRate'?");
  EXPECT_EQ(asked("MaxMetrik"),
            "unknown metric or loss 'MaxMetrik'; did you mean 'MaxMetric'?");
}

TEST(DescribeTest, CompletionKnowsLosses) {
  const std::string script =
      completion(builtin_registry(), "bash", losses::loss_entries());
  EXPECT_THAT(script, HasSubstr(" WordInfoPreserved AUCMLoss "));
  EXPECT_THAT(script, HasSubstr("json-schema"));
  EXPECT_THAT(script, ::testing::Not(HasSubstr("%")));
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
            "files             CSV columns, .npy, .npz, .jsonl\n"
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
            "files             those of 'metric'\n"
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
      "range": "[0, inf)", "aliases": "", "formula": "", "source": "",
      "differentiable": true, "higher_is_better": null,
      "wrapper": false,
      "options": [
        {"name": "classes", "example": "5", "expected": "an integer",
         "what": ""},
        {"name": "average", "default": "macro",
         "expected": "one of macro, micro", "what": "How it is averaged."}],
      "inputs": [
        {"name": "preds", "what": "float [N]", "optional": false},
        {"name": "weight", "what": "real [N]", "optional": true}],
      "warnings": [],
      "files": ["csv", "npy", "jsonl"]
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
