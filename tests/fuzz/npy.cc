#include "tally/files/npy.h"

#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include "tally/cli/limits.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {
namespace {

// A uint8 becomes an int64 at most, once as it lies and once in C order.
constexpr std::int64_t kBytesPerByte = 16;

void read_array(const files::NpyFile& array) {
  const std::int64_t rows = array.rows();
  const at::Tensor whole = array.read(0, rows);
  require(whole.dim() == array.header().shape.size() && whole.size(0) == rows &&
              whole.is_contiguous(),
          "an array has the rows that its header says");
  require(array.header().dtype().size() > 0, "a dtype has a name");
  const std::int64_t middle = rows / 2;
  const at::Tensor parts =
      at::cat({array.read(0, middle), array.read(middle, rows)});
  require(same_bits(whole, parts), "rows are the same read in two parts");
}

}  // namespace

/// A .npy file, or a .npz file of such.
void read_npy(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto size = static_cast<std::int64_t>(bytes.size());
  const cli::TensorLimit limit(kBytesPerByte * size);
  try {
    if (bytes.substr(0, 2) != "PK") {
      read_array(files::NpyFile(file.path()));
      return;
    }
    const files::NpzFile archive(file.path());
    for (std::size_t i = 0; i < archive.names().size(); ++i) {
      read_array(archive.open(i));
    }
  } catch (const c10::ValueError&) {
  }
}

}  // namespace tally::fuzz
