#include "tally/files/id_file.h"

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <filesystem>
#include <utility>

namespace tally::files {
namespace {

std::unique_ptr<NpyFile> open_ids(const std::string& path) {
  auto file = std::make_unique<NpyFile>(path);
  const NpyHeader& header = file->header();
  TORCH_CHECK_VALUE(header.kind == 'i' || header.kind == 'u', path,
                    ": expected ids that are integers, got ", header.dtype());
  TORCH_CHECK_VALUE(header.shape.size() == 1, path,
                    ": expected an id for each row, got sizes ",
                    at::IntArrayRef(header.shape));
  return file;
}

}  // namespace

IdFile::IdFile(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending != ".txt" && (ending == ".npy" || is_npy(path))) {
    file_ = open_ids(path);
  } else {
    file_ = std::make_unique<TextFile>(path);
  }
}

std::int64_t IdFile::rows() const {
  return std::visit([](const auto& file) { return file->rows(); }, file_);
}

std::int64_t IdFile::bytes_per_row() const {
  return std::visit([](const auto& file) { return file->bytes_per_row(); },
                    file_);
}

const std::string& IdFile::path() const {
  return std::visit(
      [](const auto& file) -> const std::string& { return file->path(); },
      file_);
}

std::vector<std::string> IdFile::read(std::int64_t begin,
                                      std::int64_t end) const {
  if (const auto* const texts =
          std::get_if<std::unique_ptr<TextFile>>(&file_)) {
    return (*texts)->read(begin, end);
  }
  const at::Tensor numbers =
      std::get<std::unique_ptr<NpyFile>>(file_)->read(begin, end).to(at::kLong);
  std::vector<std::string> ids;
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    ids.push_back(std::to_string(numbers.const_data_ptr<std::int64_t>()[i]));
  }
  return ids;
}

}  // namespace tally::files
