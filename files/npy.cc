#include "tally/files/npy.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "tally/files/file_kind.h"
#include "tally/state/parse_number.h"

namespace tally::files {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::int64_t kPreamble = 12;  // with the longer length of 2.0
constexpr std::int64_t kLongestHeader = 1 << 16;
constexpr std::size_t kMostDimensions = 32;

struct Kind {
  char kind;
  std::int64_t item_size;
  const char* name;
  at::ScalarType stored;  // with the same bytes, or else a wider one
};
constexpr Kind kKinds[] = {
    {'b', 1, "bool", at::kBool},
    {'i', 1, "int8", at::kChar},
    {'i', 2, "int16", at::kShort},
    {'i', 4, "int32", at::kInt},
    {'i', 8, "int64", at::kLong},
    {'u', 1, "uint8", at::kByte},
    {'u', 2, "uint16", at::kInt},
    {'u', 4, "uint32", at::kLong},
    {'u', 8, "uint64", at::kLong},
    {'f', 2, "float16", at::kHalf},
    {'f', 4, "float32", at::kFloat},
    {'f', 8, "float64", at::kDouble},
    {'f', 16, "longdouble", at::kDouble},
    {'c', 8, "complex64", at::kComplexFloat},
    {'c', 16, "complex128", at::kComplexDouble},
    {'c', 32, "clongdouble", at::kComplexDouble},
};

const Kind* find_kind(char kind, std::int64_t item_size) {
  for (const Kind& known : kKinds) {
    if (known.kind == kind && known.item_size == item_size) return &known;
  }
  return nullptr;
}

/// Parses the dictionary as Python writes it.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  NpyHeader parse() {
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(has_descr, true)) {
        descr();
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header_.fortran_order = boolean();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        shape();
      } else {
        fail("descr, fortran_order and shape, once each");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!text_.empty()) fail("nothing after the dictionary");
    if (!has_descr || !has_order || !has_shape) {
      fail("descr, fortran_order and shape, once each");
    }
    return std::move(header_);
  }

 private:
  [[noreturn]] static void fail(const std::string& expected) {
    TORCH_CHECK_VALUE(false, "expected a header with ", expected);
  }

  void skip_blanks() {
    text_.remove_prefix(
        std::min(text_.find_first_not_of(" \t\r\n"), text_.size()));
  }
  bool accept(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("'" + std::string(1, c) + "' in this position");
  }

  std::string quoted() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = text_.find(quote);
    if (end == text_.npos) fail("text in quotes");
    std::string value(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return value;
  }

  bool boolean() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(0, word.size()) != word) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    fail("True or False as fortran_order");
  }

  void descr() {
    skip_blanks();
    TORCH_CHECK_VALUE(text_.empty() || text_.front() != '[',
                      "expected an array of numbers, got one of structures");
    const std::string text = quoted();
    const Kind* known = nullptr;
    std::int64_t size = 0;
    if (text.size() > 2 && std::strchr("<>|=", text[0]) != nullptr) {
      size =
          internal::parse_number<std::int64_t>(std::string_view(text).substr(2))
              .value_or(0);
      known = find_kind(text[1], size);
    }
    TORCH_CHECK_VALUE(known != nullptr,
                      "expected an array of numbers, got "
                      "NumPy's dtype '",
                      text.substr(0, 20), "'");
    header_.kind = known->kind;
    header_.item_size = known->item_size;
    header_.swapped = text[0] == '>' && size > 1;
  }

  void shape() {
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::int64_t size = 0;
      const char* end = text_.data() + text_.size();
      const auto parsed = std::from_chars(text_.data(), end, size);
      if (parsed.ec != std::errc() || size < 0 ||
          header_.shape.size() == kMostDimensions) {
        fail("at most 32 sizes as shape");
      }
      text_.remove_prefix(parsed.ptr - text_.data());
      accept('L');  // of Python 2
      header_.shape.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  NpyHeader header_;
};

/// The text of the dictionary and where the data begins.
std::pair<std::string, std::int64_t> read_header(const InputFile& file) {
  unsigned char begin[kPreamble] = {};
  const std::int64_t got = std::min(kPreamble, file.size());
  file.read(0, begin, got);
  TORCH_CHECK_VALUE(
      got == kPreamble && std::memcmp(begin, kMagic.data(), 6) == 0,
      "expected a .npy file, got ", other_than_array(file));
  const int major = begin[6];
  TORCH_CHECK_VALUE(major >= 1 && major <= 3 && begin[7] == 0,
                    "expected version 1.0, 2.0 or 3.0 of the format, got ",
                    major, ".", static_cast<int>(begin[7]));
  std::int64_t length = begin[8] | begin[9] << 8;
  std::int64_t offset = 10;
  if (major > 1) {
    length |= static_cast<std::int64_t>(begin[10]) << 16 |
              static_cast<std::int64_t>(begin[11]) << 24;
    offset = 12;
  }
  TORCH_CHECK_VALUE(length <= std::min(kLongestHeader, file.size() - offset),
                    "expected a header within the file and of at most ",
                    kLongestHeader, " bytes, got one of ", length);
  std::string text(length, '\0');
  file.read(offset, text.data(), length);
  return {std::move(text), offset + length};
}

void swap_bytes(char* data, std::int64_t count, std::int64_t size) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::reverse(data + i * size, data + (i + 1) * size);
  }
}

template <class From, class To>
void widen(const char* from, std::int64_t count, at::Tensor& into) {
  To* to = static_cast<To*>(into.data_ptr());
  for (std::int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    to[i] = static_cast<To>(value);
  }
}

/// Converts the file's elements to the tensor's; they may already be in the
/// tensor's memory if they have the same size.
void convert(const Kind& kind, const char* from, std::int64_t count,
             at::Tensor& into) {
  if (kind.kind == 'b') widen<std::uint8_t, bool>(from, count, into);
  if (kind.kind == 'u' && kind.item_size == 2) {
    widen<std::uint16_t, std::int32_t>(from, count, into);
  }
  if (kind.kind == 'u' && kind.item_size == 4) {
    widen<std::uint32_t, std::int64_t>(from, count, into);
  }
}

bool has_long_doubles(const NpyHeader& header) {
  return (header.kind == 'f' && header.item_size == 16) ||
         (header.kind == 'c' && header.item_size == 32);
}

}  // namespace

std::string NpyHeader::dtype() const {
  return find_kind(kind, item_size)->name;
}

NpyHeader parse_npy_header(std::string_view text) {
  return HeaderParser(text).parse();
}

bool is_npy(const std::string& path) {
  const InputFile file(path);
  if (file.size() < static_cast<std::int64_t>(kMagic.size())) return false;
  std::string start(kMagic.size(), '\0');
  file.read(0, start.data(), static_cast<std::int64_t>(start.size()));
  return start == kMagic;
}

NpyFile::NpyFile(InputFile file) : file_(std::move(file)) {
  try {
    const auto [text, begin] = read_header(file_);
    header_ = parse_npy_header(text);
    data_begin_ = begin;
    TORCH_CHECK_VALUE(!header_.shape.empty(),
                      "expected an array with rows, got a single number");
    bool fits = true;
    for (std::size_t i = 1; i < header_.shape.size(); ++i) {
      fits &=
          !__builtin_mul_overflow(row_items_, header_.shape[i], &row_items_);
    }
    TORCH_CHECK_VALUE(!fits || row_items_ > 0,
                      "expected rows that are not empty, got the shape ",
                      at::IntArrayRef(header_.shape));
    std::int64_t bytes = 0;
    fits = fits &&
           !__builtin_mul_overflow(row_items_, header_.item_size, &bytes) &&
           !__builtin_mul_overflow(bytes, rows(), &bytes);
    TORCH_CHECK_VALUE(fits && bytes == file_.size() - data_begin_,
                      "expected the data of ", header_.dtype(), " ",
                      at::IntArrayRef(header_.shape), ", got ",
                      file_.size() - data_begin_, " bytes");
    if (has_long_doubles(header_)) find_long_double();
  } catch (const c10::ValueError& error) {
    TORCH_CHECK_VALUE(false, file_.path(), ": ", error.msg());
  }
}

void NpyFile::find_long_double() {
  constexpr std::int64_t kBlock = 1 << 20;
  LongDoubleEvidence evidence;
  std::string bytes;
  for (std::int64_t at = data_begin_; at < file_.size(); at += kBlock) {
    bytes.resize(std::min(kBlock, file_.size() - at));
    file_.read(at, bytes.data(), bytes.size());
    const auto count = static_cast<std::int64_t>(bytes.size()) / 16;
    if (header_.swapped) swap_bytes(bytes.data(), count, 16);
    evidence.add(bytes.data(), count);
  }
  const auto kind = evidence.kind();
  TORCH_CHECK_VALUE(kind.has_value(),
                    "expected longdouble that only x86-64 writes (80 bits of "
                    "16 bytes) or only ARM64 (IEEE's binary128), got numbers "
                    "that could be of several kinds of processors; where they "
                    "were written, save array.astype('float64')");
  long_double_ = *kind;
}

void NpyFile::check_unsigned(const at::Tensor& values,
                             std::int64_t begin) const {
  const auto* const first = values.const_data_ptr<std::int64_t>();
  const auto* const end = first + values.numel();
  const auto* const large =
      std::find_if(first, end, [](std::int64_t value) { return value < 0; });
  if (large == end) return;
  const std::int64_t place = large - first;
  const std::int64_t row = header_.fortran_order
                               ? place % (values.numel() / row_items_)
                               : place / row_items_;
  TORCH_CHECK_VALUE(false, path(), ", row ", begin + row,
                    ": expected integers up to ",
                    std::numeric_limits<std::int64_t>::max(), ", got ",
                    static_cast<std::uint64_t>(*large),
                    "; where they only tell things apart, save "
                    "array.astype('int64')");
}

at::Tensor NpyFile::read(std::int64_t begin, std::int64_t end) const {
  const Kind& kind = *find_kind(header_.kind, header_.item_size);
  const std::int64_t rows_read = end - begin;
  const std::int64_t count = rows_read * row_items_;
  std::vector<std::int64_t> sizes = header_.shape;
  sizes.front() = rows_read;
  if (header_.fortran_order) std::reverse(sizes.begin(), sizes.end());

  at::Tensor values = at::empty(sizes, kind.stored);
  const bool same_bytes = values.element_size() == kind.item_size;
  std::string bytes(same_bytes ? 0 : count * kind.item_size, '\0');
  char* data =
      same_bytes ? static_cast<char*>(values.data_ptr()) : bytes.data();
  read_items(begin, rows_read, data);
  const std::int64_t parts = kind.kind == 'c' ? 2 : 1;
  if (header_.swapped) swap_bytes(data, count * parts, kind.item_size / parts);
  if (kind.kind == 'u' && kind.item_size == 8) check_unsigned(values, begin);
  if (has_long_doubles(header_)) {
    to_doubles(long_double_, data, count * parts,
               static_cast<double*>(values.data_ptr()));
  } else {
    convert(kind, data, count, values);
  }
  if (!header_.fortran_order) return values;
  std::vector<std::int64_t> reversed(sizes.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return values.permute(reversed).contiguous();
}

void NpyFile::read_items(std::int64_t begin, std::int64_t count,
                         char* into) const {
  const std::int64_t size = header_.item_size;
  if (!header_.fortran_order) {
    file_.read(data_begin_ + begin * bytes_per_row(), into,
               count * bytes_per_row());
    return;
  }
  for (std::int64_t i = 0; i < row_items_; ++i) {
    file_.read(data_begin_ + (i * rows() + begin) * size,
               into + i * count * size, count * size);
  }
}

}  // namespace tally::files
