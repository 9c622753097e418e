#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tally/files/json_lines.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

// Files of JSON lines in the forms in which people have them.

namespace tally::cli {
namespace {

using files::CsvKind;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testkit::refusal_of;
using Words = std::vector<std::string>;

std::string lines_error(const std::string& text, CsvKind kind,
                        const files::CsvOptions& options = {}) {
  const Folder folder;
  return refusal_of([&] {
    files::JsonLines file(folder.write("x.jsonl", text), "", options);
    file.scan(std::vector<CsvKind>(file.inputs().size(), kind));
  });
}

at::Tensor read_lines(const std::string& text, CsvKind kind,
                      const files::CsvOptions& options = {}) {
  const Folder folder;
  files::JsonLines file(folder.write("x.jsonl", text), "a", options);
  file.scan({kind});
  return *file.read(0, file.rows())[0].ref().as<at::Tensor>();
}

files::CsvOptions labels(const Words& names) {
  files::CsvOptions options;
  options.labels = names;
  return options;
}

files::CsvOptions missing(files::Missing how, const Words& words = {}) {
  files::CsvOptions options;
  options.missing = how;
  options.missing_words = words;
  return options;
}

TEST(JsonLinesFormTest, ScoresMayBeLists) {
  EXPECT_TRUE(
      read_lines("{\"a\": [0.1, 1]}\n{\"a\": [2, true]}\n\n \n",
                 CsvKind::kEither)
          .equal(at::tensor({0.1, 1.0, 2.0, 1.0}, at::kDouble).view({2, 2})));
  EXPECT_TRUE(read_lines("{\"a\": [1]}\n{\"a\": [2]}\n", CsvKind::kIntegers)
                  .equal(at::tensor({1, 2}, at::kLong).view({2, 1})));
  const auto error = [](const std::string& second) {
    return lines_error("{\"a\": [1, 2]}\n{\"a\": " + second + "}\n",
                       CsvKind::kFloats);
  };
  EXPECT_THAT(
      error("[1]"),
      HasSubstr("x.jsonl, line 2: key 'a': expected a list of 2 numbers "
                "as in "));
  EXPECT_THAT(error("[1]"), EndsWith("x.jsonl, line 1, got [1]"));
  EXPECT_THAT(error("3"), EndsWith("line 1, got 3"));
  EXPECT_THAT(error("[]"),
              EndsWith("expected a number or a list of numbers, got []"));
  EXPECT_THAT(error("[1, [2]]"), EndsWith("expected a number, got [2]"));
  EXPECT_THAT(error("null"), HasSubstr("expected a number, got null"));
}

TEST(JsonLinesFormTest, TextsCanStandForClasses) {
  EXPECT_TRUE(read_lines("{\"a\": \"dog\"}\n{\"a\": \"cat\"}\n{\"a\": 1}\n",
                         CsvKind::kEither, labels({"cat", "dog"}))
                  .equal(at::tensor({1, 0, 1}, at::kLong)));
  EXPECT_THAT(
      lines_error("{\"a\": \"dog\"}\n{\"a\": \"cat\"}\n", CsvKind::kEither),
      EndsWith("line 1: key 'a': expected a number, got 'dog'; also in "
               "line 2 ('cat'); --labels cat,dog reads texts as classes "
               "0, 1, ..., in this order"));
}

TEST(JsonLinesFormTest, NamesHaveHashesOrNumbers) {
  EXPECT_TRUE(
      read_lines("{\"a\": \"q1\"}\n{\"a\": 7}\n", CsvKind::kKeys)
          .equal(at::tensor(SampleIds(Words{"q1", "7"}).values(), at::kLong)));
  EXPECT_TRUE(read_lines("{\"a\": 8}\n{\"a\": 7}\n", CsvKind::kKeys)
                  .equal(at::tensor({8, 7}, at::kLong)));
  EXPECT_TRUE(read_lines("{\"a\": \"F\"}\n{\"a\": \"M\"}\n{\"a\": \"F\"}\n",
                         CsvKind::kNumbered)
                  .equal(at::tensor({0, 1, 0}, at::kLong)));
  EXPECT_TRUE(read_lines("{\"a\": 2.5}\n{\"a\": 1}\n", CsvKind::kNumbered)
                  .equal(at::tensor({2.5, 1.0}, at::kDouble)));
  EXPECT_THAT(lines_error("{\"a\": 1.5}\n", CsvKind::kKeys),
              EndsWith("expected an integer or a text, got 1.5"));
}

TEST(JsonLinesFormTest, WhatIsNoObjectInALineIsNamed) {
  const auto error = [](const std::string& text) {
    return lines_error(text, CsvKind::kEither);
  };
  EXPECT_THAT(error("[{\"a\": 1}]\n"),
              HasSubstr("x.jsonl, line 1: expected a JSON object in each line, "
                        "got a list; jq -c '.[]'"));
  EXPECT_THAT(error("[\n{\"a\": 1}\n]\n"), HasSubstr("got a list; jq"));
  EXPECT_THAT(error("{\n\"a\": 1\n}\n"),
              EndsWith("line 1: expected a JSON object in each line, got an "
                       "end that comes too early; jq -c . FILE writes each "
                       "object in one line"));
  EXPECT_THAT(error("{\"a\": -Infinity}\n"),
              EndsWith("got -Infinity as 'a', which JSON does not have; remove "
                       "these lines"));
  EXPECT_THAT(error("{\"a\": 1}\n\n{\"a\": 1}\n"),
              EndsWith("line 2: expected a JSON object in each line, got an "
                       "empty line"));
  EXPECT_THAT(error("{\"a\": 1}\n7\n"), EndsWith("in each line, got 7"));
}

TEST(JsonLinesFormTest, WhatIsWrongInALineIsNamed) {
  const std::pair<const char*, const char*> kLines[] = {
      {"{\"a\": \"b}", "a text without its closing \""},
      {"{\"a\": \"0.2, \"b\": 1}",
       "a text that lacks a \", or has one without \\ in front at byte 14 "
       "('\": \"0.2, \"b\": 1}')"},
      {"{\"a\": \"0.2,target\": 1}",
       "a text that lacks a \", or has one without \\ in front at byte 19 "
       "('.2,target\": 1}')"},
      {"{\"a\":\"2,\"target\":0}",
       "a text that lacks a \", or has one without \\ in front at byte 11 "
       "('{\"a\":\"2,\"target\":0}')"},
      {"{\"a\": 1} {\"a\": 2}",
       "more behind the end of a value at byte 10 ('{\"a\": 1} {\"a\": 2}'); "
       "jq -c . FILE writes each object in one line"},
      {"{\"a\": 1,}", "a comma in front of } at byte 9 ('{\"a\": 1,}')"},
      {"{\"a\": [1, ]}", "a comma in front of ] at byte 11 ('{\"a\": [1, ]}')"},
      {"{\"a\": 1,, \"b\": 2}",
       "two commas at byte 9 ('{\"a\": 1,, \"b\": "
       "2}')"},
      {"{'a': 1}",
       "' in place of \" at byte 2 ('{'a': 1}'); json.dumps of Python writes "
       "JSON"},
      {"{\"a\": 1e999}", "the number 1e999, which is too large"},
      {"{\"a\": True}", "True as 'a', which JSON writes true"},
      {"{\"a\": [None]}", "None as 'a', which JSON writes null"},
      {"{\"a\": 1 \"b\": 2}",
       "no comma between values at byte 11 ('{\"a\": 1 \"b\": 2}')"},
      {"{\"a\": \"b\tc\"}",
       "a control character in a text, such as a tab; JSON writes it \\t"},
      {"{\"a\": x\u00E9}", "something else at byte 7 ('{\"a\": x??}')"}};
  for (const auto& [line, words] : kLines) {
    EXPECT_THAT(lines_error("{\"a\": 1}\n" + std::string(line) + "\n",
                            CsvKind::kEither),
                EndsWith("x.jsonl, line 2: expected a JSON object in each "
                         "line, got " +
                         std::string(words)));
  }
}

TEST(JsonLinesFormTest, TheFirstLineMayLackAKey) {
  const Folder folder;
  const std::string lines =
      folder.write("x.jsonl", "{\"b,c\": 1}\n{\"a\": 2, \"b,c\": 3}\n");
  files::CsvOptions options;
  const auto read = [&] {
    files::JsonLines file(lines, "a,\"b,c\"", options);
    file.scan({CsvKind::kEither, CsvKind::kEither});
    return file.rows();
  };
  EXPECT_THAT(refusal_of(read),
              EndsWith("x.jsonl, line 1: expected the key 'a', got 'b,c'; "
                       "other lines have it: --missing skip drops those that "
                       "lack it"));
  options.missing = files::Missing::kSkip;
  EXPECT_EQ(read(), 1);
  options.missing = files::Missing::kNan;
  EXPECT_EQ(read(), 2);
  EXPECT_THAT(refusal_of([&] { files::JsonLines(lines, "d", options); }),
              EndsWith("line 1: expected the key 'd', got 'b,c'"));
  EXPECT_THAT(
      refusal_of([&] { files::JsonLines(lines, "b", options); }),
      EndsWith("a name with a comma or colon is written in quotes, '\"b,c\"'"));
}

TEST(JsonLinesFormTest, SeveralFilesAreOne) {
  const Folder folder;
  const Words paths = {folder.write("1.jsonl", "{\"a\": 1}\n\n"),
                       folder.write("2.jsonl", "{\"a\": 2}\n{\"a\": 3}\n")};
  files::JsonLines file(paths, "a");
  file.scan({CsvKind::kEither});
  EXPECT_TRUE(file.read(0, 3)[0].ref().as<at::Tensor>()->equal(
      at::tensor({1, 2, 3}, at::kLong)));
  EXPECT_TRUE(file.read(1, 2)[0].ref().as<at::Tensor>()->equal(
      at::tensor({2}, at::kLong)));
  EXPECT_EQ(file.file().place(2), paths[1] + ", line 2");
}

// Each line but the first and the last lacks a number.
const std::string kGaps =
    "{\"a\": 1}\n{\"a\": null}\n{}\n{\"a\": NaN}\n{\"a\": \"NA\"}\n"
    "{\"a\": \" \"}\n{\"a\": \".\"}\n{\"a\": 2}\n";

TEST(JsonLinesFormTest, LinesThatLackAValueCanBeLeftOut) {
  const Folder folder;
  const auto options = missing(files::Missing::kSkip);
  files::JsonLines file(folder.write("x.jsonl", kGaps), "a", options);
  file.scan({CsvKind::kEither});
  EXPECT_EQ(file.rows(), 2);
  EXPECT_EQ(file.skipped(), 6);
  EXPECT_TRUE(file.read(0, 2)[0].ref().as<at::Tensor>()->equal(
      at::tensor({1, 2}, at::kLong)));
  EXPECT_TRUE(file.read(1, 2)[0].ref().as<at::Tensor>()->equal(
      at::tensor({2}, at::kLong)));
  EXPECT_EQ(file.read(1, 1)[0].ref().rows(), 0);
  EXPECT_THAT(file.file().place(1), EndsWith("x.jsonl, line 8"));
  EXPECT_EQ(read_lines("{\"a\": null}\n", CsvKind::kFloats, options).numel(),
            0);
  // One's own words, also of numbers; a label is none.
  EXPECT_TRUE(read_lines("{\"a\": -999}\n{\"a\": \"?\"}\n{\"a\": 3}\n",
                         CsvKind::kEither,
                         missing(files::Missing::kSkip, {"-999", "?"}))
                  .equal(at::tensor({3}, at::kLong)));
  auto with_label = labels({"NA", "yes"});
  with_label.missing = files::Missing::kSkip;
  EXPECT_TRUE(read_lines("{\"a\": \"yes\"}\n{\"a\": \"NA\"}\n",
                         CsvKind::kEither, with_label)
                  .equal(at::tensor({1, 0}, at::kLong)));
  EXPECT_TRUE(read_lines("{\"a\": [1, null]}\n{\"a\": null}\n{\"a\": [3, 4]}\n",
                         CsvKind::kFloats, options)
                  .equal(at::tensor({3.0, 4.0}, at::kDouble).view({1, 2})));
}

TEST(JsonLinesFormTest, TextsAndNamesLackOnlyWhatIsNotThere) {
  const Folder folder;
  const auto options = missing(files::Missing::kSkip);
  files::JsonLines texts(
      folder.write("x.jsonl",
                   "{\"a\": \"NA\"}\n{\"a\": \"\"}\n{\"a\": null}\n{}\n"
                   "{\"a\": \"say \\\"NaN\\\"\"}\n{\"a\": NaN}\n"),
      "a", options);
  texts.scan({CsvKind::kTexts});
  EXPECT_EQ(*texts.read(0, texts.rows())[0].ref().as<Words>(),
            (Words{"NA", "", "say \"NaN\""}));
  const std::string names = "{\"a\": \"NA\"}\n{\"a\": \"\"}\n{\"a\": \"ZA\"}\n";
  EXPECT_TRUE(read_lines(names, CsvKind::kNumbered, options)
                  .equal(at::tensor({0, 1}, at::kLong)));
  EXPECT_EQ(read_lines(names, CsvKind::kKeys, options).numel(), 2);
}

TEST(JsonLinesFormTest, WhatIsMissingCanBeNan) {
  const auto options = missing(files::Missing::kNan);
  const at::Tensor read = read_lines(kGaps, CsvKind::kEither, options);
  EXPECT_EQ(read.scalar_type(), at::kDouble);
  EXPECT_TRUE(read.isnan().equal(
      at::tensor({0, 1, 1, 1, 1, 1, 1, 0}, at::kLong).to(at::kBool)));
  const at::Tensor lists =
      read_lines("{\"a\": null}\n{\"a\": [1, null]}\n{}\n{\"a\": [NaN, 4]}\n",
                 CsvKind::kFloats, options);
  EXPECT_TRUE(
      lists.isnan().equal(at::tensor({1, 1, 0, 1, 1, 1, 1, 0}, at::kLong)
                              .to(at::kBool)
                              .view({4, 2})));
  EXPECT_THAT(
      lines_error("{\"a\": 1}\n{\"a\": null}\n", CsvKind::kIntegers, options),
      EndsWith("expected an integer, got null; --missing skip drops "
               "such rows"));
  EXPECT_THAT(lines_error("{\"a\": [[null]]}\n", CsvKind::kFloats, options),
              HasSubstr("expected a number, got [null]"));
}

TEST(JsonLinesFormTest, WhatIsMissingIsToldWithTheOption) {
  EXPECT_THAT(
      lines_error(kGaps, CsvKind::kEither),
      EndsWith(
          "x.jsonl, line 2: key 'a': expected a number, got null; also in "
          "line 3 (no such key), line 4 (null), line 5 ('NA'), line 6 "
          "(' ') and 1 more; --missing skip drops rows with fields "
          "that are empty, NA, nan, null and the like, --missing nan reads "
          "them as NaN, and skip:-,? knows other words"));
  EXPECT_THAT(lines_error("{\"a\": \"0.5\"}\n", CsvKind::kEither),
              EndsWith("expected a number, got '0.5'; numbers are written "
                       "without quotes"));
}

}  // namespace
}  // namespace tally::cli
