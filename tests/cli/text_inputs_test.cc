#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/cli/source.h"
#include "tally/files/json_lines.h"
#include "tally/files/text_file.h"
#include "tally/metrics/registry/registry.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Texts = std::vector<std::string>;

Texts lines_of(const std::string& text) {
  const Folder folder;
  const files::TextFile file(folder.write("x.txt", text));
  return file.read(0, file.rows());
}

TEST(TextFileTest, LinesEndAtLineFeedsOnly) {
  EXPECT_THAT(lines_of("a\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("a\r\nb\r\r\n\r\n"), ElementsAre("a", "b\r", ""));
  EXPECT_THAT(lines_of("a\rb\r"), ElementsAre("a\rb\r"));
  EXPECT_THAT(lines_of("a\u2028b\u0085"
                       "c\vd\fe\x1C\n\n"),
              ElementsAre("a\u2028b\u0085"
                          "c\vd\fe\x1C",
                          ""));
  EXPECT_THAT(lines_of("\n"), ElementsAre(""));
  EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST(TextFileTest, AByteOrderMarkAtTheStartIsLeftOut) {
  const Folder folder;
  const files::TextFile file(folder.write("x.txt", "\uFEFFa\n\uFEFFb\n"));
  EXPECT_THAT(file.read(0, 2), ElementsAre("a", "\uFEFFb"));
  EXPECT_TRUE(file.has_mark());
  EXPECT_THAT(files::mark_remark(file),
              EndsWith("x.txt: skipped the byte order mark at the start\n"));
  EXPECT_THAT(lines_of("\uFEFF"), IsEmpty());
  EXPECT_THAT(lines_of("\uFEFF\n"), ElementsAre(""));
  EXPECT_EQ(files::mark_remark(files::TextFile(folder.write("y.txt", "a\n"))),
            "");
}

TEST(TextFileTest, ReadsAnyRowsOfLargeFiles) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 30'000; ++i) {
    text += std::string(i % 90, 'x') + std::to_string(i) + "\u00E9\n";
  }
  const files::TextFile file(folder.write("x.txt", text));
  ASSERT_EQ(file.rows(), 30'000);
  EXPECT_THAT(file.read(20'000, 20'002),
              ElementsAre(std::string(20, 'x') + "20000\u00E9",
                          std::string(21, 'x') + "20001\u00E9"));
  EXPECT_THAT(file.read(30'000, 30'000), IsEmpty());
}

TEST(TextFileTest, WhatIsNotUtf8NamesLineAndByte) {
  EXPECT_THAT(refusal_of([] { lines_of("a\nb\ncaf\xE9 \n"); }),
              EndsWith("x.txt: line 3: expected UTF-8, got byte 0xE9 at byte "
                       "3; another encoding is read with --encoding latin-1 or "
                       "windows-1252"));
  EXPECT_THAT(refusal_of([] { lines_of("a\xED\xA0\x80"); }),
              HasSubstr("line 1: expected UTF-8, got byte 0xED at byte 1"));
}

Arguments with_inputs(Texts inputs, Texts names = {}) {
  Arguments arguments;
  arguments.inputs = std::move(inputs);
  arguments.input_names = std::move(names);
  return arguments;
}

std::vector<MetricInputs> inputs_of(const Texts& metrics) {
  std::vector<MetricInputs> inputs;
  for (const std::string& metric : metrics) {
    inputs.push_back({metric, builtin_registry().inputs(metric)});
  }
  return inputs;
}

template <class T>
T read_all(Source& source, std::size_t input) {
  return *source.read(0, source.rows())[input].ref().as<T>();
}

class TextSourceTest : public ::testing::Test {
 protected:
  Folder folder_;
  const std::string hyp_ = folder_.write("hyp.txt", "a b\nc\n");
  const std::string ref_ = folder_.write("ref.txt", "a\nc d\n");
  const std::string more_ = folder_.write("more", "\uFEFFx\ny\n");
};

TEST_F(TextSourceTest, FilesAreInputsInOrderOrByName) {
  const auto metrics = inputs_of({"WordErrorRate", "TranslationEditRate"});
  auto source = open_source(with_inputs({hyp_, ref_}), metrics);
  EXPECT_EQ(source->rows(), 2);
  EXPECT_THAT(read_all<Texts>(*source, 0), ElementsAre("a b", "c"));
  EXPECT_THAT(read_all<Texts>(*source, 1), ElementsAre("a", "c d"));
  EXPECT_EQ(source->remarks(), "");
  source =
      open_source(with_inputs({more_, hyp_}, {"target", "preds"}), metrics);
  EXPECT_THAT(source->names(), ElementsAre("target", "preds"));
  EXPECT_THAT(read_all<Texts>(*source, 0), ElementsAre("x", "y"));
  EXPECT_THAT(source->remarks(), HasSubstr("more: skipped the byte order"));
}

TEST_F(TextSourceTest, FurtherFilesAreFurtherReferences) {
  const auto ter = inputs_of({"TranslationEditRate"});
  using Lists = std::vector<Texts>;
  auto source = open_source(with_inputs({hyp_, ref_, more_}), ter);
  EXPECT_THAT(read_all<Lists>(*source, 1),
              ElementsAre(ElementsAre("a", "x"), ElementsAre("c d", "y")));
  source = open_source(
      with_inputs({ref_, hyp_, more_}, {"target", "preds", "target"}), ter);
  EXPECT_THAT(read_all<Lists>(*source, 0),
              ElementsAre(ElementsAre("a", "x"), ElementsAre("c d", "y")));
  EXPECT_EQ(refusal_of([&] {
              open_source(with_inputs({hyp_, ref_, more_}),
                          inputs_of({"TranslationEditRate", "WordErrorRate"}));
            }),
            "TranslationEditRate: expected the inputs preds, target, got 3");
  EXPECT_EQ(refusal_of([&] {
              open_source(with_inputs({hyp_, ref_, more_},
                                      {"preds", "target", "target"}),
                          inputs_of({"WordErrorRate"}));
            }),
            "WordErrorRate: expected target to be reference texts [N], got 2 "
            "files");
}

TEST_F(TextSourceTest, TagsOfALineAreSeparatedByBlanks) {
  const auto tags = ElementsAre(ElementsAre("O", "B-PER", "I-PER"),
                                ElementsAre(), ElementsAre("B-LOC"));
  const auto metrics = inputs_of({"EntityF1Score", "EntityRecall"});
  const auto expect_tags = [&](const Arguments& arguments) {
    const auto source = open_source(arguments, metrics);
    for (const std::size_t input : {0, 1}) {
      EXPECT_THAT(read_all<std::vector<Texts>>(*source, input), tags);
    }
  };
  const std::string lines =
      folder_.write("tags.txt", "O B-PER  I-PER\r\n\nB-LOC\t\n");
  expect_tags(with_inputs({lines, lines}));
  Arguments table;
  table.csv = {folder_.write("tags.csv",
                             "preds,target\nO B-PER I-PER,O B-PER I-PER\n"
                             "\"\",\"\"\nB-LOC,B-LOC\n")};
  expect_tags(table);
  expect_tags(with_inputs({folder_.write(
      "tags.jsonl",
      "{\"preds\":\"O B-PER I-PER\",\"target\":[\"O\",\"B-PER\",\"I-PER\"]}\n"
      "{\"preds\":\"\",\"target\":[]}\n"
      "{\"preds\":\"B-LOC\",\"target\":[\"B-LOC\"]}\n")}));
  const std::string both =
      folder_.write("both.jsonl",
                    "{\"preds\":\"O O\",\"target\":\"O O\"}\n"
                    "{\"preds\":[\"O\",\"O\"],\"target\":\"O O\"}\n");
  EXPECT_THAT(refusal_of([&] { open_source(with_inputs({both}), metrics); }),
              EndsWith("tags, a list per sentence, as a text or as a list in "
                       "every line, got both for key 'preds'"));
  EXPECT_EQ(refusal_of([&] {
              open_source(with_inputs({lines, lines, lines}), metrics);
            }),
            "EntityF1Score: expected the inputs preds, target, got 3");
  EXPECT_EQ(
      refusal_of([&] {
        open_source(with_inputs({lines, lines}, {"preds", "preds"}), metrics);
      }),
      "EntityF1Score: expected the inputs preds, target, got no target");
}

TEST_F(TextSourceTest, AnInputIsWordsOrTextsForAllMetrics) {
  EXPECT_EQ(refusal_of([&] {
              open_source(with_inputs({hyp_, ref_}),
                          inputs_of({"WordErrorRate", "EntityF1Score"}));
            }),
            "EntityF1Score: expected preds to be tags, a list per sentence, "
            "and WordErrorRate: expected preds to be texts [N]: evaluate them "
            "one by one");
}

TEST_F(TextSourceTest, MetricsOfOtherInputsRefuseTexts) {
  EXPECT_EQ(
      refusal_of([&] {
        open_source(with_inputs({hyp_, ref_}), inputs_of({"MeanSquaredError"}));
      }),
      "MeanSquaredError: expected preds to be real [N, ...], got texts in " +
          hyp_);
  EXPECT_THAT(refusal_of([&] {
                open_source(with_inputs({hyp_, folder_.write("z.txt", "a\n")}),
                            inputs_of({"WordErrorRate"}));
              }),
              EndsWith("hyp.txt, got 1 and 2"));
  EXPECT_THAT(refusal_of([&] {
                open_source(with_inputs({data_file("preds.npy"), ref_}),
                            inputs_of({"WordErrorRate"}));
              }),
              HasSubstr("expected preds to be texts [N], got float32 in"));
}

TEST_F(TextSourceTest, JsonLinesHoldAllInputs) {
  const std::string path = folder_.write(
      "x.jsonl",
      "\uFEFF{\"id\": 7, \"hyp\": \"a b\", \"refs\": [\"a\", \"b\"]}\r\n"
      "{\"refs\": \"\\u00e9\", \"hyp\": \"c\", \"other\": null}\n");
  Arguments arguments = with_inputs({path});
  arguments.columns = "preds=hyp,target=refs";
  const auto source =
      open_source(arguments, inputs_of({"TranslationEditRate"}));
  EXPECT_THAT(read_all<Texts>(*source, 0), ElementsAre("a b", "c"));
  EXPECT_THAT(read_all<std::vector<Texts>>(*source, 1),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("\u00E9")));
  EXPECT_THAT(source->remarks(), HasSubstr("byte order mark"));
  EXPECT_THAT(
      refusal_of([&] { open_source(arguments, inputs_of({"WordErrorRate"})); }),
      EndsWith("got lists of texts for key 'refs'"));
}

TEST_F(TextSourceTest, JsonLinesMatchInputsByTheirKeys) {
  const std::string path = folder_.write("x.jsonl",
                                         "{\"label\": 1, \"score\": 0.5}\n"
                                         "{\"label\": false, \"score\": 1}\n");
  const auto source =
      open_source(with_inputs({path}), inputs_of({"BinaryAccuracy"}));
  EXPECT_THAT(source->names(), ElementsAre("preds", "target"));
  EXPECT_TRUE(read_all<at::Tensor>(*source, 0)
                  .equal(at::tensor({0.5, 1.0}, at::kDouble)));
  EXPECT_TRUE(
      read_all<at::Tensor>(*source, 1).equal(at::tensor({1, 0}, at::kLong)));
  EXPECT_EQ(source->remarks(), "preds is key 'score', target is key 'label'\n");
}

TEST_F(TextSourceTest, JsonLinesSayWhatIsWrong) {
  const auto refusal = [&](const std::string& text,
                           const std::string& columns = "preds=a,target=b") {
    Arguments arguments = with_inputs({folder_.write("y.jsonl", text)});
    arguments.columns = columns;
    return refusal_of(
        [&] { open_source(arguments, inputs_of({"WordErrorRate"})); });
  };
  const std::string good = "{\"a\": \"x\", \"b\": \"y\"}\n";
  EXPECT_EQ(refusal(good), "nothing");
  EXPECT_THAT(
      refusal(good + "{\"a\": \"x\"}"),
      HasSubstr("line 2: key 'b': expected a text or a list of texts, got "
                "no such key; --missing skip drops"));
  EXPECT_EQ(refusal(good + "\n"), "nothing");
  EXPECT_THAT(refusal("[1]\n"), HasSubstr("line 1: expected a JSON object"));
  EXPECT_THAT(refusal(good + "{\"a\": 3, \"b\": \"\"}\n"),
              EndsWith("line 2: key 'a': expected a text or a list of texts, "
                       "got 3"));
  EXPECT_THAT(refusal(good + "{\"a\": {\"k\": [\"x\", null], \"l\": 1}, "
                             "\"b\": \"\"}\n"),
              EndsWith("got {\"k\":[\"x\",null],\"l\":1}"));
  // Deep enough to overflow the stack of whoever follows it to its end.
  const std::string deep(1 << 20, '[');
  EXPECT_THAT(refusal(good + "{\"b\": \"\", \"a\": " + deep +
                      std::string(deep.size(), ']') + "}\n"),
              EndsWith("got " + deep.substr(0, 40) + "..."));
  EXPECT_THAT(refusal(good, "preds=a,target=c"),
              EndsWith(".jsonl, line 1: expected the key 'c', got 'a', 'b'"));
  EXPECT_THAT(refusal(good, "preds=a,b"),
              HasSubstr("expected names for all inputs or for none"));
  EXPECT_THAT(refusal(""), EndsWith("expected lines, got an empty file"));
}

}  // namespace
}  // namespace tally::cli
