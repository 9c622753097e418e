#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tally/cli/source.h"
#include "tally/files/csv.h"
#include "tally/files/file_kind.h"
#include "tally/files/file_list.h"
#include "tally/files/npy.h"
#include "tally/files/temporary_file.h"
#include "tally/files/unpack.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

// Files in the forms in which people have them.

namespace tally::cli {
namespace {

using files::CsvFile;
using files::CsvKind;
using files::CsvOptions;
using files::Missing;
using ::tally::testkit::refusal_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

/// All columns of a file, read as kinds; the last one stands for the rest.
std::vector<at::Tensor> read_csv(const std::string& text, CsvOptions options,
                                 std::vector<CsvKind> kinds = {
                                     CsvKind::kEither}) {
  const Folder folder;
  CsvFile file(folder.write("x.csv", text), "", std::move(options));
  kinds.resize(file.inputs().size(), kinds.back());
  file.scan(kinds);
  return file.read(0, file.rows());
}

std::string csv_error(const std::string& text, CsvOptions options = {},
                      std::vector<CsvKind> kinds = {CsvKind::kEither}) {
  return refusal_of([&] { read_csv(text, std::move(options), kinds); });
}

CsvOptions with_missing(Missing missing, Words words = {}) {
  CsvOptions options;
  options.missing = missing;
  options.missing_words = std::move(words);
  return options;
}

TEST(CsvFormTest, MissingFieldsAreWrittenInManyWays) {
  for (const char* word : {"", " ", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan",
                           "null", "NULL", "None", "."}) {
    SCOPED_TRACE(word);
    const std::string text = "a,b\n1,2\n" + std::string(word) + ",4\n5,6\n";
    const auto kept = read_csv(text, with_missing(Missing::kSkip));
    EXPECT_TRUE(kept[1].equal(at::tensor({2, 6}, at::kLong)));
    const auto filled = read_csv(text, with_missing(Missing::kNan));
    EXPECT_TRUE(std::isnan(filled[0][1].item<double>()));
    EXPECT_EQ(filled[1].size(0), 3);
  }
  const std::string own = "a\n1\n-999\n?\n4\n";
  EXPECT_TRUE(
      read_csv(own, with_missing(Missing::kSkip, {"-999", "?"}))[0].equal(
          at::tensor({1, 4}, at::kLong)));
  EXPECT_EQ(read_csv(own, with_missing(Missing::kNan, {"-999", "?"}))[0]
                .isnan()
                .sum()
                .item<int>(),
            2);
}

TEST(CsvFormTest, NamesAreNotMissing) {
  // NA is Namibia.
  EXPECT_EQ(read_csv("a,b\nNA,1\n,2\nZA,3\n", with_missing(Missing::kSkip),
                     {CsvKind::kKeys, CsvKind::kEither})[1]
                .size(0),
            2);
  EXPECT_THAT(csv_error("a\nx\n\n \n", {}, {CsvKind::kKeys}),
              HasSubstr("line 4: column 'a': expected an integer or a text, "
                        "got ''; --missing skip drops"));
  EXPECT_THAT(
      csv_error("a\nx\n \n", with_missing(Missing::kNan), {CsvKind::kKeys}),
      EndsWith("got ''; --missing skip drops such rows"));
}

TEST(CsvFormTest, TruthIsThatOfPythonRAndExcel) {
  EXPECT_TRUE(
      read_csv("a\nTRUE\nFALSE\nTrue\nFalse\ntrue\nfalse\n", {})[0].equal(
          at::tensor({1, 0, 1, 0, 1, 0}, at::kLong)));
  EXPECT_THAT(csv_error("a\nyes\nno\n"),
              EndsWith("line 2: column 'a': expected a number, got 'yes'; also "
                       "in line 3 ('no'); --labels no,yes reads texts as "
                       "classes 0, 1, ..., in this order"));
}

TEST(CsvFormTest, TheFirstLineMaySayTheDelimiter) {
  for (const char* text : {"sep=;\na;b\n1;2\n", "\uFEFFsep=;\r\na;b\r\n1;2\r\n",
                           "sep=\t\na\tb\n1\t2\n", "sep=,\na,b\n1,2\n"}) {
    EXPECT_TRUE(read_csv(text, {})[1].equal(at::tensor({2}, at::kLong)))
        << text;
  }
  CsvOptions options;
  options.delimiter = ';';
  EXPECT_TRUE(read_csv("sep=;\na;b\n1;2\n", options)[1].equal(
      at::tensor({2}, at::kLong)));
  EXPECT_THAT(csv_error("sep=,\na,b\n1,2\n", options),
              EndsWith("the first line says that ',' is the delimiter, "
                       "--delimiter says ';'"));
  EXPECT_THAT(csv_error("sep=;\n"), EndsWith("expected lines, got only sep="));
  const Folder folder;
  CsvFile file(folder.write("x.csv", "sep=;\n1;2\n3;4\n"), "@2");
  file.scan({CsvKind::kEither});
  EXPECT_TRUE(file.read(0, 2)[0].equal(at::tensor({2, 4}, at::kLong)));
  EXPECT_THAT(file.place(1), EndsWith("x.csv, line 3"));
}

TEST(CsvFormTest, CommasMayBeDecimal) {
  CsvOptions options;
  options.delimiter = ';';
  options.decimal = ',';
  const auto values = read_csv("a;b\n0,9;1\n-1,5e-1;2\n", options);
  EXPECT_TRUE(values[0].equal(at::tensor({0.9, -0.15}, at::kDouble)));
  EXPECT_EQ(values[1].scalar_type(), at::kLong);
  for (const char* text : {"a\n1.5\n", "a\n1.000,5\n", "a\n1,2,3\n"}) {
    EXPECT_THAT(csv_error(text, options), HasSubstr("expected a number"));
  }
  options.decimal = '.';
  EXPECT_THAT(csv_error("a;b\n0,9;1\n0,2;1\n", options),
              EndsWith("'0,9'; also in line 3 ('0,2'); if these are decimal "
                       "commas, use --decimal comma"));
  const std::string thousands = "a;b\n1.000,9;1\n";
  EXPECT_THAT(
      csv_error(thousands, options),
      EndsWith("'1.000,9'; if these are decimal commas, use --decimal "
               "comma; write numbers without points between thousands"));
  options.decimal = ',';
  EXPECT_THAT(
      csv_error(thousands, options),
      EndsWith("'1.000,9'; write numbers without points between thousands"));
  EXPECT_THAT(
      csv_error("a\n\"1,000.5\"\n\"2,000\"\n"),
      EndsWith(
          "'1,000.5'; also in line 3 ('2,000'); write numbers without commas "
          "between thousands"));
}

TEST(CsvFormTest, TheFirstFivePlacesAreNamed) {
  std::string text = "a,b\n";
  for (int i = 0; i < 8; ++i) text += "x,1\n";
  EXPECT_THAT(csv_error(text + "1,y\n", {}, {CsvKind::kFloats}),
              EndsWith("x.csv, line 2: column 'a': expected a number, got 'x'; "
                       "also in line 3 ('x'), line 4 ('x'), line 5 ('x'), line "
                       "6 ('x') and 4 more; if the value is missing there, "
                       "--missing skip:x drops such rows"));
  EXPECT_THAT(
      csv_error("a,b\n1,x\ny,1\n", {}, {CsvKind::kFloats}),
      EndsWith("line 2: column 'b': expected a number, got 'x'; also in "
               "line 3 (column 'a': 'y'); if the value is missing there, "
               "--missing skip:x drops such rows"));
}

TEST(CsvFormTest, MessagesSayWhatHelps) {
  EXPECT_THAT(csv_error("a\n90%\n"),
              EndsWith("'90%'; write percentages as numbers from 0 to 1"));
  EXPECT_THAT(csv_error("a\nNA\n"), HasSubstr("'NA'; --missing skip drops "));
  EXPECT_THAT(csv_error("a\nx\n", {}, {CsvKind::kFloats}), EndsWith("'x'"));
  std::string many = "a\n";
  for (int i = 0; i < 30; ++i) many += "x" + std::to_string(i) + "\n";
  EXPECT_THAT(csv_error(many),
              EndsWith("--labels NAME,NAME,... reads texts as 0, 1, ..."));
  CsvOptions options;
  options.labels = {"cat", "dog"};
  EXPECT_THAT(csv_error("a\ncow\n", options, {CsvKind::kIntegers}),
              EndsWith("expected an integer or one of --labels, got 'cow'"));
  EXPECT_THAT(csv_error("a\nh\xF6her\n", {}, {CsvKind::kTexts}),
              EndsWith("x.csv, line 2: column 'a': expected UTF-8, got byte "
                       "0xF6 in 'h\\xF6her'; another encoding is read with "
                       "--encoding latin-1 or windows-1252"));
}

TEST(CsvFormTest, NamesHaveHashesOrNumbers) {
  const Words names = {"q1", "7", "\u00E9", "q1"};
  const auto values = read_csv("a,b\nq1,u\n 7,t\n\u00E9,u\nq1,s\n", {},
                               {CsvKind::kKeys, CsvKind::kNumbered});
  EXPECT_TRUE(
      values[0].equal(at::tensor(SampleIds(names).values(), at::kLong)));
  EXPECT_TRUE(values[1].equal(at::tensor({2, 1, 2, 0}, at::kLong)));
  const auto integers =
      read_csv("a,b\n3,3\n1,1\n", {}, {CsvKind::kKeys, CsvKind::kNumbered});
  EXPECT_TRUE(integers[0].equal(at::tensor({3, 1}, at::kLong)));
  EXPECT_TRUE(integers[1].equal(at::tensor({3, 1}, at::kLong)));
  EXPECT_TRUE(read_csv("a\n0.5\n1\n", {}, {CsvKind::kNumbered})[0].equal(
      at::tensor({0.5, 1.0}, at::kDouble)));
  std::string many = "a\n";
  for (int i = 0; i < 10'001; ++i) many += "x" + std::to_string(i) + "\n";
  EXPECT_THAT(csv_error(many, {}, {CsvKind::kNumbered}),
              HasSubstr("expected at most 10000 different texts, got more"));
}

TEST(CsvFormTest, SeveralFilesAreOne) {
  const Folder folder;
  std::string first = "a,b\n";
  for (int i = 0; i < 1500; ++i) first += std::to_string(i) + ",x\n";
  const std::string one = folder.write("1.csv", first);
  const std::string two =
      folder.write("2.csv", "sep=;\na;b\n1500;y\n1501.5;x\n");
  CsvFile file(Words{one, two}, "a,b");
  file.scan({CsvKind::kEither, CsvKind::kNumbered});
  ASSERT_EQ(file.rows(), 1502);
  const auto all = file.read(0, 1502);
  EXPECT_EQ(all[0].scalar_type(), at::kDouble);  // as the second file wants
  EXPECT_EQ(all[0].sum().item<double>(), 1124250 + 1500 + 1501.5);
  EXPECT_TRUE(all[1].slice(0, 1499).equal(at::tensor({0, 1, 0}, at::kLong)));
  EXPECT_TRUE(file.read(1498, 1501)[0].equal(
      at::tensor({1498.0, 1499.0, 1500.0}, at::kDouble)));
  EXPECT_EQ(file.read(3, 4)[0].item<double>(), 3);
  EXPECT_EQ(file.place(1501), two + ", line 4");
  EXPECT_EQ(file.place(0), one + ", line 2");

  const auto error = [&](const std::string& text) {
    return refusal_of([&] {
      CsvFile other(Words{one, folder.write("3.csv", text)}, "a");
      other.scan({CsvKind::kEither});
    });
  };
  EXPECT_THAT(error("a,c\n1,2\n"),
              EndsWith("3.csv: expected the columns of " + one +
                       ", got 'c' as column 2 for 'b'"));
  EXPECT_THAT(error("a\n1\n"), EndsWith("got no column 2 for 'b'"));
  EXPECT_THAT(error("a,b,c\n"), EndsWith("got 'c' as column 3"));
  EXPECT_THAT(error(""), EndsWith("3.csv: expected lines, got an empty file"));
  EXPECT_THAT(error("a,b\nx,1\n"), HasSubstr("3.csv, line 2: column 'a'"));
}

TEST(FileListTest, FoldersAndPatternsAreTheirFilesByName) {
  const Folder folder;
  const std::string b = folder.write("b.csv", "");
  const std::string a = folder.write("a.csv", "");
  folder.write(".hidden", "");
  folder.write("_SUCCESS", "");
  const std::string whole = folder.path("");
  EXPECT_THAT(files::list_files({b, a}), ElementsAre(b, a));
  EXPECT_THAT(files::list_files({folder.path("*.csv")}), ElementsAre(a, b));
  EXPECT_THAT(files::list_files({whole}), ElementsAre(a, b));
  EXPECT_THAT(files::list_files({"none"}), ElementsAre("none"));
  EXPECT_THAT(files::list_files({"-"}), ElementsAre("-"));
  EXPECT_EQ(refusal_of([&] {
              files::list_files({a, b, a});
            }),
            "expected each file once, got " + a + " twice");
  std::filesystem::create_symlink(a, folder.path("link"));
  EXPECT_EQ(refusal_of([&] {
              files::list_files({a, folder.path("link")});
            }),
            "expected each file once, got " + folder.path("link") + " and " +
                a + ", which are the same file");
  EXPECT_THAT(refusal_of([&] { files::list_files({folder.path("*.x")}); }),
              EndsWith("*.x: no file matches"));
  const std::string square = folder.write("[1].csv", "");
  EXPECT_THAT(files::list_files({square}), ElementsAre(square));
  std::filesystem::create_directory(folder.path("empty"));
  EXPECT_THAT(refusal_of([&] { files::list_files({folder.path("empty")}); }),
              EndsWith("got an empty folder"));
}

TEST(FileKindTest, OtherFilesAreNamedByTheirFirstBytes) {
  const std::string zip("PK\x03\x04", 4);
  const std::pair<std::string, const char*> kKinds[] = {
      {"PAR1\x15\x04",
       "a Parquet file; read it with --csv of python -m tally, or save it"},
      {zip + "xl/workbook.xml", "an Excel workbook (.xlsx); save the sheet"},
      {zip + "preds.npy", "(.npz); pass it alone with --inputs"},
      {zip + "archive/data.pkl", "a file of torch.save"},
      {zip + "x.csv", "a zip archive; unpack it first"},
      {"\xD0\xCF\x11\xE0 and more", "an Excel workbook (.xls)"},
      {"\x80\x04\x95 and more", "a pickle of Python"},
      {"\x1F\x8B\x08", "a gzip file; decompress it first"},
      {"BZh91AY&SY\xFF", "a bzip2 file"},
      {"x.csv" + std::string(252, '\0') + "ustar\0",
       "a tar archive; unpack it first"},
      {"\x89HDF\r\n", "an HDF5 file"},
      {"\x93NUMPY\x01", "a NumPy array; pass it with --inputs"},
      {std::string("\xFF\xFE"
                   "a\0",
                   4),
       "UTF-16; read it with --encoding"},
      {std::string("a\0,\0b\0", 6), "UTF-16; read it with --encoding"},
      {std::string("\0a\0,\0b", 6), "UTF-16; read it with --encoding"}};
  for (const auto& [bytes, words] : kKinds) {
    EXPECT_THAT(csv_error(bytes),
                AllOf(HasSubstr("x.csv: expected text in UTF-8, got "),
                      HasSubstr(words)));
  }
  EXPECT_EQ(csv_error("BZh,ORC\n1,2\n"), "nothing");
  EXPECT_EQ(csv_error("ORC\n1\n"), "nothing");
}

TEST(CsvFormTest, LinesDoNotEndByCarriageReturnsAlone) {
  EXPECT_THAT(
      csv_error("a,b\r1,2\r"),
      EndsWith("x.csv: expected lines that end with LF or CR LF, got CR "
               "alone; tr '\\r' '\\n' <FILE converts them"));
  EXPECT_EQ(csv_error("a,\"b\r\nc\"\r\n1,2\r\n"), "nothing");
}

TEST(FileKindTest, NothingRawIsShown) {
  EXPECT_EQ(files::shown_text("a\tb\x1B[2J\x7F"), "a b [2J ");
  EXPECT_EQ(files::shown_text("\xFF\u00E9\xC3"), "\\xFF\u00E9\\xC3");
  EXPECT_EQ(files::shown_text("\u009B1m"), " 1m");
  EXPECT_EQ(files::shown_text(std::string(50, 'x')), std::string(40, 'x'));
  EXPECT_EQ(files::shown_text(std::string(39, 'x') + "\u00E9"),
            std::string(39, 'x'));
}

constexpr char kText[] = "preds,target\n0.9,1\n0.2,1\n";
// By Python's gzip and ZSTD_compress of libzstd 1.5.4.
const std::string kGzip(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x2b\x28\x4a\x4d\x29\xd6\x29\x49"
    "\x2c\x4a\x4f\x2d\xe1\x32\xd0\xb3\xd4\x31\x04\x92\x46\x40\x12\x00\xd0\x4b"
    "\x43\x63\x19\x00\x00\x00",
    42);
const std::string kZstd(
    "\x28\xb5\x2f\xfd\x20\x19\xc9\x00\x00\x70\x72\x65\x64\x73\x2c\x74\x61\x72"
    "\x67\x65\x74\x0a\x30\x2e\x39\x2c\x31\x0a\x30\x2e\x32\x2c\x31\x0a",
    34);

files::TemporaryFile file_of_bytes(const std::string& bytes) {
  files::TemporaryFile file;
  file.write(bytes);
  return file;
}

std::string unpacked(const std::string& bytes) {
  const files::TemporaryFile file = file_of_bytes(bytes);
  std::string out;
  files::unpack(file.descriptor(), files::packing_of(file.descriptor()), "x",
                [&](std::string_view piece) { out += piece; });
  return out;
}

TEST(UnpackTest, ReadsGzipAndZstd) {
  EXPECT_EQ(unpacked(kGzip), kText);
  EXPECT_EQ(unpacked(kGzip + kGzip), std::string(kText) + kText);
  EXPECT_EQ(unpacked(kZstd), kText);
  EXPECT_EQ(unpacked(kZstd + kZstd), std::string(kText) + kText);
  EXPECT_EQ(unpacked(kText), "");
  EXPECT_EQ(files::packing_of("no such file"), files::Packing::kNone);
}

TEST(UnpackTest, RefusesDamagedFiles) {
  for (const std::string& whole : {kGzip, kZstd}) {
    EXPECT_THAT(
        refusal_of([&] { unpacked(whole.substr(0, whole.size() - 9)); }),
        HasSubstr("x: expected a whole "));
    std::string damaged = whole;
    damaged[whole == kGzip ? 38 : 4] ^= 0x7F;
    EXPECT_THAT(refusal_of([&] { unpacked(damaged); }),
                HasSubstr("one that is damaged"));
  }
}

std::string in_utf8(const std::string& bytes, files::Encoding encoding) {
  const files::TemporaryFile file = file_of_bytes(bytes);
  std::string out;
  files::to_utf8(file.descriptor(), encoding, "x",
                 [&](std::string_view piece) { out += piece; });
  return out;
}

TEST(EncodingTest, BecomesUtf8) {
  using files::Encoding;
  // "a", e acute, the euro sign, U+1F600.
  const std::string text = "a\u00E9\u20AC\U0001F600";
  const std::string little("a\0\xE9\0\xAC\x20\x3D\xD8\x00\xDE", 10);
  const std::string big("\0a\0\xE9\x20\xAC\xD8\x3D\xDE\x00", 10);
  EXPECT_EQ(in_utf8(little, Encoding::kUtf16), text);
  EXPECT_EQ(in_utf8("\xFF\xFE" + little, Encoding::kUtf16), text);
  EXPECT_EQ(in_utf8("\xFE\xFF" + big, Encoding::kUtf16), text);
  // Without a mark, what ASCII is tells: a comma, not U+2C00.
  EXPECT_EQ(in_utf8(std::string("\0a\0,\0b", 6), Encoding::kUtf16), "a,b");
  EXPECT_EQ(in_utf8(std::string("\x00\x4E,\0b\0", 6), Encoding::kUtf16),
            "\u4E00,b");
  EXPECT_EQ(in_utf8("a\xE9\x80", Encoding::kLatin1), "a\u00E9\u0080");
  EXPECT_EQ(in_utf8("a\xE9\x80\x9F", Encoding::kWindows1252),
            "a\u00E9\u20AC\u0178");
  EXPECT_EQ(in_utf8(text, Encoding::kUtf8), text);
  for (const std::string& bad :
       {std::string("a\0b", 3),
        std::string("\x3D\xD8"
                    "a\0",
                    4),
        std::string("\x00\xDE", 2), std::string("\x3D\xD8", 2)}) {
    EXPECT_THAT(refusal_of([&] { in_utf8(bad, Encoding::kUtf16); }),
                HasSubstr("x: expected UTF-16, got something else at byte "));
  }
}

}  // namespace
}  // namespace tally::cli
