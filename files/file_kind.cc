#include "tally/files/file_kind.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "tally/metrics/text/kernels/unicode.h"

namespace tally::files {
namespace {

constexpr std::int64_t kStart = 1 << 12;
constexpr std::size_t kMostShown = 40;

struct FileKind {
  std::string_view start;
  const char* name;
  const char* advice;
};

constexpr const char* kSaveAsCsv =
    "save it as CSV, in Python pandas.read_parquet(...).to_csv(...)";
constexpr const char* kReadTable =
    "read it with --csv of python -m tally, or save it as CSV";
constexpr const char* kSaveSheet = "save the sheet as CSV";
constexpr const char* kSaveArrays =
    "save arrays with numpy.save, tables as CSV";
constexpr const char* kUnpack = "decompress it first";
constexpr const char* kUtf16 = "read it with --encoding utf-16";

using namespace std::string_view_literals;

constexpr FileKind kFileKinds[] = {
    {"PAR1"sv, "a Parquet file", kReadTable},
    {"ARROW1"sv, "an Arrow file", kReadTable},
    {"FEA1"sv, "a Feather file", kSaveAsCsv},
    {"ORC"sv, "an ORC file", kSaveAsCsv},
    {"Obj\x01"sv, "an Avro file", kSaveAsCsv},
    {"\xD0\xCF\x11\xE0"sv, "an Excel workbook (.xls)", kSaveSheet},
    {"\x89HDF"sv, "an HDF5 file", kSaveArrays},
    {"MATLAB 5.0"sv, "a MATLAB file", kSaveArrays},
    {"SQLite format 3"sv, "an SQLite database", "export the table as CSV"},
    {"%PDF"sv, "a PDF", "save the table as CSV"},
    {"\x93NUMPY"sv, "a NumPy array", "pass it with --inputs"},
    {"\x1F\x8B"sv, "a gzip file", kUnpack},
    {"\x28\xB5\x2F\xFD"sv, "a zstd file", kUnpack},
    {"BZh"sv, "a bzip2 file", kUnpack},
    {"\xFD"
     "7zXZ"sv,
     "an xz file", kUnpack},
    {"7z\xBC\xAF"sv, "a 7z archive", "unpack it first"},
    {"\x04\x22\x4D\x18"sv, "an LZ4 file", kUnpack},
    {"\xFF\xFE"sv, "UTF-16", kUtf16},
    {"\xFE\xFF"sv, "UTF-16", kUtf16},
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

bool is_tar(std::string_view start) {
  return start.size() >= 262 && start.substr(257, 5) == "ustar";
}

FileKind zip_kind(std::string_view start) {
  if (contains(start, "xl/") || contains(start, "[Content_Types].xml")) {
    return {start, "an Excel workbook (.xlsx)", kSaveSheet};
  }
  if (contains(start, ".npy")) {
    return {start, "an archive of NumPy arrays (.npz)",
            "pass it alone with --inputs, named .npz"};
  }
  if (contains(start, "data.pkl")) {
    return {start, "a file of torch.save", kSaveArrays};
  }
  return {start, "a zip archive", "unpack it first"};
}

/// By its first bytes; without a name for text.
FileKind kind_of_start(std::string_view start) {
  if (start.substr(0, 4) == "PK\x03\x04") return zip_kind(start);
  if (start.size() > 1 && start[0] == '\x80' && start[1] >= 2 &&
      start[1] <= 5) {
    return {start, "a pickle of Python", kSaveArrays};
  }
  if (is_tar(start)) return {start, "a tar archive", "unpack it first"};
  for (const FileKind& kind : kFileKinds) {
    // A text may well begin with ORC or BZh; other bytes then tell.
    const bool needs_more = kind.start == "ORC" || kind.start == "BZh";
    if (start.substr(0, kind.start.size()) == kind.start &&
        (!needs_more ||
         internal::text::find_invalid_utf8(start) < start.size())) {
      return kind;
    }
  }
  // Of ASCII in UTF-16 every second byte is 0, as none is in a text.
  const std::size_t zero = start.find('\0');
  if (zero < 2 && start.size() > 3 && start[zero + 2] == '\0') {
    return {start, "UTF-16", kUtf16};
  }
  return {};
}

std::string start_of(const InputFile& file) {
  std::string start(static_cast<std::size_t>(std::min(kStart, file.size())),
                    '\0');
  file.read(0, start.data(), static_cast<std::int64_t>(start.size()));
  return start;
}

}  // namespace

std::string other_than_array(const InputFile& file) {
  const std::string start = start_of(file);
  const FileKind kind = kind_of_start(start);
  if (kind.name != nullptr) {
    return std::string(kind.name) + "; " + kind.advice;
  }
  if (start.empty()) return "an empty file";
  if (start.find('\0') != start.npos) return "other bytes";
  const std::size_t first = start.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != start.npos && start[first] == '{'
             ? "text that begins with {; JSON lines are passed with --jsonl"
             : "text; CSV is passed with --csv, JSON lines with --jsonl";
}

void refuse_other_kinds(const InputFile& file) {
  const std::string start = start_of(file);
  const FileKind kind = kind_of_start(start);
  TORCH_CHECK_VALUE(kind.name == nullptr, file.path(),
                    ": expected text in UTF-8, got ", kind.name, "; ",
                    kind.advice);
}

std::string shown_text(std::string_view text) {
  const auto is_inside = [&](std::size_t at) {  // of a character
    return at < text.size() && (text[at] & 0xC0) == 0x80;
  };
  std::size_t end = std::min(kMostShown, text.size());
  while (end > 0 && is_inside(end)) --end;
  text = text.substr(0, end == 0 ? kMostShown : end);
  std::string shown;
  while (!text.empty()) {
    const std::size_t valid = internal::text::find_invalid_utf8(text);
    shown += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) break;
    char byte[8];
    std::snprintf(byte, sizeof(byte), "\\x%02X",
                  static_cast<unsigned char>(text.front()));
    shown += byte;
    text.remove_prefix(1);
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto c = static_cast<unsigned char>(shown[i]);
    if (c < ' ' || c == 0x7F) shown[i] = ' ';
    // U+0080 to U+009F, which move a terminal's cursor.
    const bool is_control = c == 0xC2 && i + 1 < shown.size() &&
                            static_cast<unsigned char>(shown[i + 1]) < 0xA0;
    if (is_control) shown.replace(i, 2, " ");
  }
  return shown;
}

}  // namespace tally::files
