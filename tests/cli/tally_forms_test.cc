#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tally/tests/cli/files.h"
#include "tally/tests/cli/run_tally.h"

// The program and files in the forms in which people have them.

namespace tally::cli {
namespace {

using tally::testkit::run_program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// "preds,target\n0.9,1\n0.2,1\n" by Python's gzip.
const std::string kGzip(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x2b\x28\x4a\x4d\x29\xd6\x29\x49"
    "\x2c\x4a\x4f\x2d\xe1\x32\xd0\xb3\xd4\x31\x04\x92\x46\x40\x12\x00\xd0\x4b"
    "\x43\x63\x19\x00\x00\x00",
    42);

class TallyFormsTest : public ::testing::Test {
 protected:
  static std::string errors_of(const Words& words) {
    const auto result = run_program(evaluate(words));
    EXPECT_EQ(result.status, 2) << result.output;
    return result.errors;
  }
  static Json metrics_of(Words words) {
    words.insert(words.end(), {"--format", "json"});
    const auto result = run_program(evaluate(words));
    EXPECT_EQ(result.status, 0) << result.errors;
    return Json::parse(result.output).at("metrics");
  }

  Folder folder_;
};

TEST_F(TallyFormsTest, ValuesThatMetricsRefuseAreNamedByTheirPlaces) {
  const std::string csv = folder_.write(
      "x.csv", "pred,target\n0.9,1\n90,1\n0.1,0\n20,0\n30,1\n5,1\n6,1\n7,0\n");
  const std::string all =
      "tally: " + csv +
      ", line 3, column 'pred': expected probabilities in [0, 1] as preds, got "
      "90 (input=logits for logits) (BinaryLogLoss); also in line 5 (20), line "
      "6 (30), line 7 (5), line 8 (6) and 1 more\n";
  EXPECT_EQ(errors_of({"-m", "a=BinaryLogLoss", "--csv", csv}), all);
  EXPECT_EQ(
      errors_of({"-m", "a=BinaryLogLoss", "--csv", csv, "--batch-size", "3"}),
      all);
  EXPECT_THAT(
      errors_of(
          {"-m", "a=BinaryLogLoss; BinaryAUROC", "--csv", csv, "--ranks", "2"}),
      AllOf(HasSubstr(csv + ", line 3, column 'pred'"),
            HasSubstr("(BinaryLogLoss as 'a')"), Not(HasSubstr("rows "))));
  EXPECT_EQ(errors_of({"-m", "BinaryLogLoss; BinaryAUROC", "--csv", csv,
                       "--ranks", "3"}),
            all);
  const std::string lines = folder_.write(
      "x.jsonl", "{\"p\": 0.5, \"y\": 1}\n{\"p\": 0.5, \"y\": 4}\n");
  EXPECT_EQ(errors_of({"-m", "BinaryLogLoss", "-i", lines, "--columns", "p,y"}),
            "tally: " + lines +
                ", line 2, key 'y': expected target in [0, 2), got 4 "
                "(BinaryLogLoss)\n");
}

TEST_F(TallyFormsTest, EachPlaceIsThatOfItsValue) {
  const std::string csv =
      folder_.write("x.csv", "pred,target\n0.5,1\n7,1\n0.5,8\n0.5,0\n6,1\n");
  EXPECT_EQ(errors_of({"-m", "BinaryLogLoss", "--csv", csv}),
            "tally: " + csv +
                ", line 3, column 'pred': expected probabilities in [0, 1] as "
                "preds, got 7 (input=logits for logits) (BinaryLogLoss); also "
                "in line 4, column 'target' (8), line 6, column 'pred' (6)\n");
  const std::string preds =
      folder_.write("p.npy", npy<double>("<f8", {0.5, 7, 0.5, 6}));
  const std::string target =
      folder_.write("t.npy", npy<std::int64_t>("<i8", {1, 0, 5, 1}));
  for (const char* ranks : {"1", "2"}) {
    EXPECT_THAT(errors_of({"-m", "BinaryLogLoss", "-i", preds, target,
                           "--ranks", ranks}),
                HasSubstr("(BinaryLogLoss); also in " + target +
                          ", row 2 (5), " + preds + ", row 3 (6)\n"));
  }
}

TEST_F(TallyFormsTest, SamplesOfOneSignalAreNoSignals) {
  const std::string one =
      folder_.write("one.npy", npy<double>("<f8", std::vector<double>(150, 1)));
  EXPECT_EQ(errors_of({"-m", "SignalNoiseRatio", "-i", one, one}),
            "tally: SignalNoiseRatio: expected preds to be float signals "
            "[..., T], one in each row, got rows of shape []; a single one is "
            "saved as one row, as x[None] in NumPy\n");
  const std::string csv = folder_.write("x.csv", "a,b\n0.5,0.25\n0.1,0.2\n");
  EXPECT_THAT(errors_of({"-m", "ScaleInvariantSignalNoiseRatio", "--csv", csv,
                         "--columns", "a,b", "--ranks", "2"}),
              HasSubstr("one in each row, got rows of shape []"));
  EXPECT_THAT(errors_of({"-m", "SourceAggregatedSignalDistortionRatio", "--csv",
                         csv, "--columns", "a:b,a:b"}),
              HasSubstr(".npy"));
}

TEST_F(TallyFormsTest, NanIsMissingHoweverItIsWritten) {
  const std::string csv = folder_.write(
      "x.csv", "preds,target\n-nan,1\n1,NAN\n+nan,2\n3,nAn\n2,2\n");
  EXPECT_EQ(metrics_of({"-m", "a=MeanSquaredError", "--csv", csv, "--missing",
                        "skip"}),
            Json({{"a", 0.0}}));
}

TEST_F(TallyFormsTest, KeysAreTextsUnlessWrittenAsIntegersAre) {
  // Two queries, of which the second finds its document second.
  const std::string csv =
      folder_.write("x.csv",
                    "preds,target,indexes\n0.9,1,007\n0.1,0,007\n0.9,0,7\n"
                    "0.1,1,7\n");
  const std::string lines =
      folder_.write("x.jsonl",
                    "{\"preds\":0.9,\"target\":1,\"indexes\":\"007\"}\n"
                    "{\"preds\":0.1,\"target\":0,\"indexes\":\"007\"}\n"
                    "{\"preds\":0.9,\"target\":0,\"indexes\":\"7\"}\n"
                    "{\"preds\":0.1,\"target\":1,\"indexes\":\"7\"}\n");
  const Json expected({{"m", 0.75}});
  EXPECT_EQ(metrics_of({"-m", "m=RetrievalMRR", "--csv", csv}), expected);
  EXPECT_EQ(metrics_of({"-m", "m=RetrievalMRR", "-i", lines}), expected);
}

TEST_F(TallyFormsTest, EachRowHasAnIdOrAGroup) {
  const std::string csv =
      folder_.write("x.csv", "preds,target,id\n1,2,a\n2,1,\n3,1,b\n");
  for (const std::string option : {"--ids", "--groups"}) {
    EXPECT_THAT(
        errors_of({"-m", "MeanSquaredError", "--csv", csv, "--columns",
                   "preds,target", option, "id", "--interval", "0.9"}),
        HasSubstr("tally: " + csv + ", line 3: " + option + ": expected a" +
                  (option == "--ids" ? "n id" : " group") +
                  ", got an empty field\n"));
  }
}

TEST_F(TallyFormsTest, KeysAreInUtf8) {
  const std::string csv =
      folder_.write("x.csv", "preds,target\nK\xF6ln,1\nBonn,2\n");
  EXPECT_THAT(errors_of({"-m", "AdjustedRandScore", "--csv", csv}),
              AllOf(HasSubstr("line 2: column 'preds': expected UTF-8"),
                    HasSubstr("--encoding latin-1")));
}

TEST_F(TallyFormsTest, ValuesOutsideOfADomainAreTold) {
  const std::string csv = folder_.write(
      "x.csv", "pred,target,weight\n1,1,1\n2,-3,1\n-4,2,1\n1,1,-5\n");
  EXPECT_EQ(
      errors_of({"-m", "MeanSquaredLogError", "--csv", csv, "--columns",
                 "preds=pred,target=target"}),
      "tally: " + csv +
          ", line 3: expected preds and target above -1, got 2 as preds and -3 "
          "as target (MeanSquaredLogError); also in line 4 (-4 as preds and 2 "
          "as target)\n");
  EXPECT_EQ(errors_of({"-m", "MeanSquaredError", "--csv", csv}),
            "tally: " + csv +
                ", line 5, column 'weight': expected weight of at least 0, got "
                "-5 (MeanSquaredError)\n");
}

TEST_F(TallyFormsTest, WhatAllRowsShareIsNotOfOne) {
  std::string array = npy<double>("<f8", std::vector<double>(150));
  const std::string shape = "(2, 5, 5, 3), }";
  array.replace(array.find("(150,)"), shape.size(), shape);
  const std::string images = folder_.write("p.npy", array);
  EXPECT_THAT(
      errors_of({"-m", "StructuralSimilarityIndexMeasure(data_range=1.0)", "-i",
                 images, images}),
      AllOf(HasSubstr("tally: " + images + ", " + images + ": expected "),
            Not(HasSubstr(", row")), Not(HasSubstr("also in"))));
}

TEST_F(TallyFormsTest, NothingRawReachesTheTerminal) {
  const std::string csv = folder_.write("x.csv", "a\xFF,b\x1B[2J\n1,2\n");
  EXPECT_THAT(errors_of({"-m", "MeanMetric", "--csv", csv}),
              HasSubstr("among 'a\\xFF', 'b [2J'; assign columns"));
  EXPECT_THAT(run_program(evaluate({"-m", "MeanSquaredError", "--csv", csv,
                                    "--columns", "@1,@2"}))
                  .errors,
              Not(HasSubstr("\x1B")));
}

TEST_F(TallyFormsTest, RowsOfArraysAreNamed) {
  const std::string preds =
      folder_.write("p.npy", npy<double>("<f8", {0.5, 0.1, 7}));
  const std::string target =
      folder_.write("t.npy", npy<std::int64_t>("<i8", {1, 0, 1}));
  EXPECT_THAT(errors_of({"-m", "BinaryLogLoss", "-i", preds, target}),
              HasSubstr("tally: " + preds + ", row 2: expected probabilities"));
  // Not of rows, but of the arrays.
  EXPECT_THAT(errors_of({"-m", "MeanSquaredError", "-i", data_file("preds.npy"),
                         data_file("target.npy")}),
              AllOf(HasSubstr("tally: " + data_file("preds.npy") + ", " +
                              data_file("target.npy") + ": expected "),
                    Not(HasSubstr(", row"))));
}

TEST_F(TallyFormsTest, ASystemThatCannotUnpackSaysSo) {
  // Found before the system's own, and no libraries.
  folder_.write("libz.so.1", "");
  folder_.write("libzstd.so.1", "");
  const std::string gzip = folder_.write("x.csv.gz", kGzip);
  const std::string zstd = folder_.write("x.csv.zst", "\x28\xb5\x2f\xfd");
  const auto errors = [&](const std::string& csv) {
    const auto result =
        run_program(evaluate({"-m", "BinaryAccuracy", "--csv", csv}),
                    {"LD_LIBRARY_PATH=" + folder_.path("")});
    EXPECT_EQ(result.status, 2);
    return result.errors;
  };
  EXPECT_EQ(errors(gzip), "tally: " + gzip +
                              ": is compressed, and this system has no "
                              "libz.so.1 to read it with; decompress it first, "
                              "with gunzip\n");
  EXPECT_EQ(errors(zstd), "tally: " + zstd +
                              ": is compressed, and this system has no "
                              "libzstd.so.1 to read it with; decompress it "
                              "first, with zstd -d\n");
}

TEST_F(TallyFormsTest, LinesThatLackAValueAreLeftOutOnAnyRank) {
  const std::string lines = folder_.write(
      "x.ndjson",
      "{\"preds\": 1, \"target\": 2}\n{\"target\": 0}\n"
      "{\"preds\": NaN, \"target\": 0}\n{\"preds\": 4, \"target\": 1}\n"
      "{\"preds\": 5, \"target\": null}\n{\"preds\": -1, \"target\": 0}\n");
  for (const char* ranks : {"1", "3"}) {
    const auto result = run_program(
        evaluate({"-m", "a=MeanSquaredError", "-i", lines, "--missing", "skip",
                  "--ranks", ranks, "--format", "csv"}));
    EXPECT_EQ(result.output, "metric,index,value\na,,3.6666666666666665\n");
    EXPECT_THAT(result.errors,
                HasSubstr("rows skipped because of a missing field: 3\n"));
    EXPECT_THAT(
        errors_of({"-m", "a=MeanSquaredError", "-i", lines, "--ranks", ranks}),
        AllOf(HasSubstr("line 2: key 'preds': expected a number, got "
                        "no such key; also in line 3 (null), line 5 "
                        "(key 'target': null); --missing skip"),
              Not(HasSubstr("rank"))));
  }
}

TEST_F(TallyFormsTest, CompressedFilesAndOtherEncodingsAreReadOnAnyRank) {
  const std::string gzip = folder_.write("x.csv.gz", kGzip);
  std::string utf16 = "\xFF\xFE";
  for (const char c : std::string("preds,target\n0.9,1\n0.2,1\n")) {
    utf16 += {c, '\0'};
  }
  const std::string excel = folder_.write("y.csv", utf16);
  for (const char* ranks : {"1", "2"}) {
    EXPECT_EQ(metrics_of({"-m", "a=BinaryAccuracy", "--csv", gzip, "--ranks",
                          ranks})["a"],
              0.5);
    EXPECT_EQ(metrics_of({"-m", "a=BinaryAccuracy", "--csv", excel,
                          "--encoding", "utf-16", "--ranks", ranks})["a"],
              0.5);
  }
  EXPECT_THAT(errors_of({"-m", "BinaryAccuracy", "--csv", excel}),
              HasSubstr("got UTF-16; read it with --encoding utf-16"));
  // An array has no encoding.
  const std::string array = folder_.write("a.npy", npy<double>("<f8", {1, 2}));
  EXPECT_EQ(metrics_of({"-m", "a=MeanMetric", "-i", array, "--encoding",
                        "latin-1"})["a"],
            1.5);
  const auto piped = run_program(
      {"/bin/sh", "-c",
       "exec cli/tally evaluate -m BinaryAccuracy --csv - --quiet <" + gzip});
  EXPECT_EQ(piped.output, "BinaryAccuracy  0.5\n");
}

TEST_F(TallyFormsTest, RanksOfALauncherDecompressOnTheirOwn) {
  const std::string gzip = folder_.write("x.csv.gz", kGzip);
  const auto start = [&](int rank) {
    return std::make_unique<testkit::Program>(
        evaluate({"-m", "BinaryAccuracy", "--csv", gzip, "--quiet"}),
        Words{"RANK=" + std::to_string(rank), "WORLD_SIZE=2",
              "TALLY_STORE=" + folder_.path("store")});
  };
  const auto first = start(0);
  const auto second = start(1);
  EXPECT_EQ(first->wait().output, "BinaryAccuracy  0.5\n");
  EXPECT_EQ(second->wait().status, 0);
}

TEST_F(TallyFormsTest, SeveralFilesAreEvaluatedAsOne) {
  const std::string one = folder_.write("1.csv", "pred,target\n0.9,1\n0.2,1\n");
  const std::string two = folder_.write("2.csv", "pred,target\n0.8,1\n0.1,0\n");
  for (const Words& files : {Words{one, two}, Words{folder_.path("*.csv")},
                             Words{folder_.path("")}}) {
    Words words = {"-m", "a=BinaryAccuracy", "--ranks", "3", "--csv"};
    words.insert(words.end(), files.begin(), files.end());
    EXPECT_EQ(metrics_of(words)["a"], 0.75);
  }
  EXPECT_EQ(errors_of({"-m", "BinaryAccuracy", "--csv", one, two, one}),
            "tally: expected each file once, got " + one + " twice\n");
  const Folder arrays;
  arrays.write("p1.npy", npy<double>("<f8", {0.9, 0.2}));
  arrays.write("p2.npy", npy<double>("<f8", {0.4}));
  const std::string target =
      arrays.write("t.npy", npy<std::int64_t>("<i8", {1, 1, 0}));
  EXPECT_EQ(
      metrics_of({"-m", "a=BinaryAccuracy", "-i",
                  "preds=" + arrays.path("p?.npy"), "target=" + target})["a"],
      2 / 3.0);
  const Folder lines;
  lines.write("1.jsonl", "{\"p\": 0.9, \"y\": 1}\n\n");
  lines.write("2.jsonl", "{\"p\": 0.9, \"y\": 0}\n");
  EXPECT_EQ(metrics_of({"-m", "a=BinaryAccuracy", "-i", lines.path(""),
                        "--columns", "p,y"})["a"],
            0.5);
}

TEST_F(TallyFormsTest, NamesMayStandWhereNumbersOnlyTellThingsApart) {
  const std::string csv = folder_.write(
      "x.csv",
      "pred,target,group,leiden,celltype\n1,1,F,c1,B cell\n0,1,M,c2,T cell\n"
      "1,0,F,c1,B cell\n1,0,M,c2,T cell\n");
  const auto fairness = run_program(
      evaluate({"-m", "f=BinaryFairness(num_groups=2, task=demographic_parity)",
                "--csv", csv, "--format", "json"}));
  ASSERT_EQ(fairness.status, 0) << fairness.errors;
  // Both predictions of F are positive, one of two of M.
  EXPECT_EQ(Json::parse(fairness.output)["metrics"]["f.demographic_parity"],
            0.5);
  EXPECT_THAT(fairness.errors,
              HasSubstr("tally: groups: 0 is 'F', 1 is 'M'\n"));
  EXPECT_EQ(metrics_of({"-m", "r=AdjustedRandScore", "--csv", csv, "--columns",
                        "leiden,celltype", "--ranks", "2"})["r"],
            1);
  EXPECT_EQ(metrics_of({"-m",
                        "r=CramersV(num_classes=2, "
                        "bias_correction=false)",
                        "--csv", csv, "--columns", "group,celltype"})["r"],
            1);
  const std::string queries = folder_.write(
      "q.jsonl",
      "{\"q\": \"q1\", \"s\": 0.9, \"y\": 1}\n{\"q\": \"q2\", \"s\": 1, \"y\": "
      "1}\n{\"q\": \"q1\", \"s\": 0.95, \"y\": 0}\n");
  // The mean of 1/2 and 1.
  EXPECT_EQ(metrics_of({"-m", "r=RetrievalMAP", "-i", queries, "--columns",
                        "preds=s,target=y,indexes=q", "--ranks", "2"})["r"],
            0.75);
}

TEST_F(TallyFormsTest, OptionsOfFormsAreChecked) {
  const std::string csv = folder_.write("x.csv", "a;b\n0,5;1\n?;1\n");
  EXPECT_EQ(metrics_of({"-m", "a=MeanMetric", "--csv", csv, "--delimiter", ";",
                        "--decimal", "comma", "--missing", "skip:?",
                        "--columns", "a"})["a"],
            0.5);
  const Words metric = {"-m", "MeanMetric", "--csv", csv};
  const auto error = [&](const Words& more) {
    Words words = metric;
    words.insert(words.end(), more.begin(), more.end());
    return errors_of(words);
  };
  EXPECT_THAT(error({"--decimal", "dot"}),
              HasSubstr("--decimal: expected point or comma, got 'dot'"));
  EXPECT_THAT(error({"--encoding", "ascii"}),
              HasSubstr("--encoding: expected utf-8, utf-16, latin-1 or "
                        "windows-1252, got 'ascii'"));
  EXPECT_THAT(error({"--missing", "error:?"}),
              HasSubstr("--missing: expected skip or nan before the words"));
  EXPECT_THAT(error({"--missing", "skip:"}),
              HasSubstr("--missing: expected words after ':', got none"));
  EXPECT_THAT(errors_of({"-m", "MeanMetric", "--csv", "-", "-"}),
              HasSubstr("--csv: - (standard input) can be given only once"));
  EXPECT_THAT(
      errors_of({"-m", "MeanMetric", "-i", "a.npz", "b.npz"}),
      HasSubstr("expected a.npz alone and without a name, as it holds all"));
  EXPECT_THAT(errors_of({"-m", "MeanMetric", "-i", csv}),
              HasSubstr("expected a .npy or .txt file, got .csv; pass CSV with "
                        "--csv"));
}

TEST_F(TallyFormsTest, CocoFilesNeedNoAreasAndTakeIdsOfAllKinds) {
  const std::string annotations = folder_.write("gt.json", R"({
    "images": [{"id": "a.jpg"}, {"id": 7.0}],
    "categories": [{"id": 1.0, "name": "c"}],
    "annotations": [
      {"id": 1, "image_id": "a.jpg", "category_id": 1, "bbox": [0, 0, 10, 10]},
      {"id": 2, "image_id": 7, "category_id": 1, "bbox": [0, 0, 200, 100]}]})");
  const std::string hit =
      R"({"image_id": "a.jpg", "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.9})";
  const Json found =
      metrics_of({"--coco", annotations,
                  folder_.write("dt.json", "[" + hit + R"(, {"image_id": 7.0,
         "category_id": 1, "bbox": [0, 0, 200, 100], "score": 0.8}])")});
  EXPECT_NEAR(found["map"], 1, 1e-12);
  EXPECT_NEAR(found["map_small"], 1, 1e-12);  // the box of 100 pixels
  EXPECT_NEAR(found["map_large"], 1, 1e-12);  // that of 20 000
  const auto error = [&](const std::string& results) {
    return errors_of({"--coco", annotations, folder_.write("x.json", results)});
  };
  EXPECT_THAT(error("[" + hit + R"(, {"image_id": 7, "category_id": 1,
                "bbox": [0, 0, 10, NaN], "score": 1}])"),
              HasSubstr("x.json: result 1: expected JSON, got NaN as 'bbox', "
                        "which JSON does not have"));
  EXPECT_THAT(error("[{\"score\": -Infinity}]"),
              HasSubstr("result 0: expected JSON, got -Infinity as 'score'"));
  EXPECT_THAT(error("[{\"image_id\": 7, "),
              HasSubstr("result 0: expected JSON, got an end that comes too"));
  EXPECT_THAT(error("[{\"image_id\": x}]"),
              HasSubstr("expected JSON, got something else at byte 15"));
  EXPECT_THAT(error("[{\"score\": 1e999}]"),
              HasSubstr("x.json: expected JSON, got the number 1e999, which is "
                        "too large"));
  EXPECT_THAT(error(R"([{"image_id": 7.5}])"),
              HasSubstr("'image_id': expected an integer or a text, got 7.5"));
  // The hashes of both are the same.
  const auto in_image = [](const std::string& name) {
    return R"({"image_id": ")" + name +
           R"(", "category_id": 1, "bbox": [0, 0, 1, 1], "score": 1})";
  };
  EXPECT_THAT(error("[" + in_image("photo-000001.png") + ", " +
                    in_image("axsndtji$L!0OPb_") + "]"),
              HasSubstr("x.json: result 1: 'image_id': expected texts of "
                        "different 64-bit hashes, got 'axsndtji$L!0OPb_' with "
                        "that of 'photo-000001.png'; change one of them"));
  std::string others = "[";
  for (int i = 0; i < 8; ++i) {
    others += (i == 0 ? "" : ",") + in_image(std::to_string(i) + ".jpg");
  }
  EXPECT_THAT(error(others + "]"),
              HasSubstr("got 8 of other images: image_id '0.jpg', '1.jpg', "
                        "'2.jpg', '3.jpg', '4.jpg' and 3 more"));
}

TEST_F(TallyFormsTest, AnAnnotationWithoutAreaHasThatOfItsMask) {
  const std::string mask = R"("segmentation": [[0, 0, 0, 40, 40, 40, 40, 0]])";
  const std::string annotations = folder_.write("gt.json", R"({
    "images": [{"id": 1, "height": 200, "width": 200}],
    "categories": [{"id": 1}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, )" +
                                                               mask + "}]}");
  const Json found = metrics_of(
      {"-m", "m=MeanAveragePrecision(iou_type=segm)", "--coco", annotations,
       folder_.write("dt.json",
                     R"([{"image_id": 1, "category_id": 1, "score": 1, )" +
                         mask + "}]")});
  EXPECT_NEAR(found["m.map_medium"], 1, 1e-12);  // 1600 pixels
  EXPECT_EQ(found["m.map_small"], -1);
}

}  // namespace
}  // namespace tally::cli
