#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/tests/cli/files.h"
#include "tally/tests/cli/run_tally.h"

// Messages of the program that lead on, and files of any name.

namespace tally::cli {
namespace {

using tally::testkit::run_program;
using ::testing::HasSubstr;

class TallyMessagesTest : public ::testing::Test {
 protected:
  static std::string errors_of(Words words) {
    words.insert(words.begin(), "cli/tally");
    const auto result = run_program(words);
    EXPECT_EQ(result.status, 2) << result.output;
    return result.errors;
  }
  std::string refusal(Words words) const {
    words.insert(words.begin(), "evaluate");
    return errors_of(words);
  }

  Folder folder_;
  std::string csv_ =
      folder_.write("x.csv", "pred,target,g\n0.9,1,a\n0.2,0,b\n0.3,0,a\n");
};

TEST_F(TallyMessagesTest, JsonLinesOfAnyName) {
  const std::string lines = folder_.write("lines.log",
                                          "{\"pred\": 0.9, \"target\": 1}\n"
                                          "{\"pred\": 0.2, \"target\": 1}\n");
  const std::string value = "BinaryAccuracy  0.5\n";
  for (const char* ranks : {"1", "2"}) {
    EXPECT_EQ(run_program(evaluate({"-m", "BinaryAccuracy", "--jsonl", lines,
                                    "--quiet", "--ranks", ranks}))
                  .output,
              value);
    const auto piped = run_program(
        {"/bin/sh", "-c",
         "exec cli/tally evaluate -m BinaryAccuracy --jsonl - --columns "
         "preds=pred,target=target --ranks " +
             std::string(ranks) + " <" + lines});
    EXPECT_EQ(piped.output, value) << piped.errors;
  }
  EXPECT_EQ(refusal({"-m", "BinaryAccuracy", "-i", lines}),
            "tally: " + lines +
                ": expected a .npy file for each input, got text that begins "
                "with {; JSON lines are passed with --jsonl\n");
  EXPECT_THAT(refusal({"-m", "WordErrorRate", "-i", lines}),
              HasSubstr(": expected a .txt file for each input, got text that "
                        "begins with {; JSON lines are passed with --jsonl"));
  EXPECT_THAT(refusal({"-m", "BinaryAccuracy", "--jsonl", lines, "-i", lines}),
              HasSubstr("expected one of --inputs, --csv, --jsonl, --coco "
                        "and --set, got several"));
  EXPECT_THAT(refusal({"-m", "BinaryAccuracy", "-i", "x.json"}),
              HasSubstr("--jsonl reads it if it has an object in each line"));
}

TEST_F(TallyMessagesTest, TablesAreNoArraysAndNoTexts) {
  const std::string other = folder_.write("x.dat", "pred,target\n0.9,1\n");
  EXPECT_EQ(refusal({"-m", "BinaryAccuracy", "-i", other}),
            "tally: " + other +
                ": expected a .npy file for each input, got text; CSV is "
                "passed with --csv, JSON lines with --jsonl\n");
  const std::string named =
      "tally: " + csv_ +
      ": expected a .npy or .txt file, got .csv; pass CSV with --csv\n";
  EXPECT_EQ(refusal({"-m", "BinaryAccuracy", "-i", csv_}), named);
  EXPECT_EQ(refusal({"-m", "WordErrorRate", "-i", csv_, csv_}), named);
}

TEST_F(TallyMessagesTest, ALossIsNoMetric) {
  for (const std::string metric :
       {"DiceLoss", "MinMaxMetric(metric=DiceLoss)"}) {
    for (const char* ranks : {"1", "2"}) {
      EXPECT_THAT(
          refusal({"-m", metric, "--csv", csv_, "--ranks", ranks}),
          HasSubstr("tally: expected a metric, got the loss 'DiceLoss', which "
                    "a program trains with (tally describe DiceLoss); did you "
                    "mean 'DiceScore'"));
    }
  }
}

TEST_F(TallyMessagesTest, OptionsAreNamedInPlaceOfFunctions) {
  EXPECT_EQ(errors_of({"plan", "mcnemar", "--first-only", "0.1",
                       "--second-only", "0.1", "--power", "0.8"}),
            "tally: plan mcnemar: expected --first-only and --second-only that "
            "differ, got 0.1 twice\n");
  EXPECT_EQ(errors_of({"plan", "mcnemar", "--first-only", "0.7",
                       "--second-only", "0.6", "--power", "0.8"}),
            "tally: plan mcnemar: expected --first-only and --second-only of "
            "at least 0 and at most 1 together, got 0.7 and 0.6\n");
  EXPECT_EQ(errors_of({"plan", "delong", "--first", "0.9", "--second", "0.9",
                       "--correlation", "0.5", "--prevalence", "0.2", "--power",
                       "0.8"}),
            "tally: plan delong: expected --first and --second that differ, "
            "got 0.9 twice\n");
  EXPECT_EQ(errors_of({"plan", "width", "--proportion", "0.5", "--width",
                       "0.000001"}),
            "tally: plan width: more than 10000000 rows would be needed\n");
  EXPECT_THAT(refusal({"-m", "BinaryAccuracy", "--csv", csv_, "--groups", "g",
                       "--interval", "0.95", "--interval-method", "wilson"}),
              HasSubstr("--interval: BinaryAccuracy: expected "
                        "--interval-method jackknife, obuchowski, poisson or "
                        "double_or_nothing with --groups, got wilson\n"));
  EXPECT_THAT(refusal({"-m", "MinMaxMetric(metric=BinaryAccuracy)", "--csv",
                       csv_, "--by", "g"}),
              HasSubstr("tally: --by: expected a metric whose value does not "
                        "depend on the batches"));
  EXPECT_THAT(refusal({"-m", "BinaryFairness(num_groups=2)", "--csv", csv_,
                       "--columns", "pred,target,g", "--interval", "0.95"}),
              HasSubstr("tally: --interval: BinaryFairness has no interval: a "
                        "ratio of the lowest and the highest rate is an "
                        "extreme, which is below 1 even if all groups are "
                        "equal; compare groups with --by\n"));
}

TEST_F(TallyMessagesTest, AConfigThatIsNoJsonSaysWhere) {
  const std::string bad =
      folder_.write("bad.json", "{\"metrics\": {\n\"a\": \"A\",}}");
  EXPECT_EQ(refusal({"--config", bad, "--csv", csv_}),
            "tally: " + bad +
                ": line 2, column 10: expected JSON, got a comma in front of } "
                "at byte 24 ('?\"a\": \"A\",}}')\n");
  EXPECT_THAT(refusal({"--config", csv_, "--csv", csv_}),
              HasSubstr("x.csv: line 1, column 1: expected JSON, got something "
                        "else at byte 1 ('pred,target,g"));
  EXPECT_THAT(errors_of({"compare", csv_, csv_}),
              HasSubstr("x.csv: replicates: line 1, column 1: expected a file "
                        "of replicates, got something else at byte 1"));
}

TEST_F(TallyMessagesTest, DistributionsNameTheValue) {
  const std::string csv =
      folder_.write("kl.csv", "a,b,c,d\n0.1,0.9,0.5,0.5\n-0.1,1.1,0.5,0.5\n");
  EXPECT_EQ(
      refusal({"-m", "KLDivergence", "--csv", csv, "--columns", "p=a:b,q=c:d"}),
      "tally: " + csv +
          ", line 3, columns 'a:b': expected p and q of at least 0, got "
          "-0.1 as p (KLDivergence)\n");
}

TEST_F(TallyMessagesTest, UnsignedKeysDoNotChangeTheirSign) {
  const std::string preds =
      folder_.write("p.npy", npy<double>("<f8", {0.9, 0.2}));
  const std::string target =
      folder_.write("t.npy", npy<std::int64_t>("<i8", {1, 0}));
  const std::string keys = folder_.write(
      "k.npy", npy<std::uint64_t>("<u8", {3, (std::uint64_t{1} << 63) + 5}));
  for (const char* ranks : {"1", "2"}) {
    EXPECT_THAT(refusal({"-m", "RetrievalMAP", "-i", preds, target, keys,
                         "--ranks", ranks}),
                HasSubstr("k.npy, row 1: expected integers up to "
                          "9223372036854775807, got 9223372036854775813; where "
                          "they only tell things apart, save "
                          "array.astype('int64')"));
  }
  EXPECT_THAT(refusal({"-m", "BinaryAccuracy", "-i", preds, target, "--ids",
                       keys, "--interval", "0.9"}),
              HasSubstr("k.npy, row 1: expected integers up to"));
}

}  // namespace
}  // namespace tally::cli
