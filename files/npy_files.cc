#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/files/npy.h"

namespace tally::files {

NpyFiles::NpyFiles(std::vector<NpyFile> files) : files_(std::move(files)) {
  const auto row_sizes = [](const NpyFile& file) {
    return at::IntArrayRef(file.header().shape).slice(1);
  };
  for (const NpyFile& file : files_) {
    TORCH_CHECK_VALUE(file.header().dtype() == header().dtype() &&
                          row_sizes(file) == row_sizes(files_.front()),
                      file.path(), ": expected rows of ", header().dtype(), " ",
                      row_sizes(files_.front()), " as in ", path(), ", got ",
                      file.header().dtype(), " ", row_sizes(file));
  }
}

std::int64_t NpyFiles::rows() const {
  std::int64_t rows = 0;
  for (const NpyFile& file : files_) rows += file.rows();
  return rows;
}

at::Tensor NpyFiles::read(std::int64_t begin, std::int64_t end) const {
  std::vector<at::Tensor> parts;
  for (const NpyFile& file : files_) {
    const std::int64_t first = std::clamp<std::int64_t>(begin, 0, file.rows());
    const std::int64_t last = std::clamp<std::int64_t>(end, 0, file.rows());
    if (first < last) parts.push_back(file.read(first, last));
    begin -= file.rows();
    end -= file.rows();
  }
  if (parts.empty()) return files_.front().read(0, 0);
  return parts.size() == 1 ? parts.front() : at::cat(parts);
}

std::string NpyFiles::place(std::int64_t row) const {
  auto file = files_.begin();
  for (; row >= file->rows() && file + 1 != files_.end(); ++file) {
    row -= file->rows();
  }
  return file->path() + ", row " + std::to_string(row);
}

}  // namespace tally::files
