#include "tally/cli/panoptic_source.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tally/cli/coco_source.h"
#include "tally/files/panoptic_files.h"

namespace tally::cli {
namespace {

std::vector<files::PanopticPart> parts_of(const Arguments& arguments) {
  std::vector<files::PanopticPart> parts;
  for (const std::string& path : coco_paths(arguments)) parts.push_back({path});
  const std::vector<std::string>& folders = arguments.folders;
  TORCH_CHECK_VALUE(folders.empty() || folders.size() == parts.size(),
                    "--folders: expected a folder for each of the ",
                    parts.size(), " files of --coco, got ", folders.size());
  for (std::size_t i = 0; i < folders.size(); ++i) {
    parts[i].folder = folders[i];
  }
  return parts;
}

class PanopticSource final : public Source {
 public:
  explicit PanopticSource(const std::vector<files::PanopticPart>& parts)
      : files_(parts.front(), {parts.begin() + 1, parts.end()}) {
    for (const files::PanopticPart& part : parts) paths_.push_back(part.file);
  }

  std::int64_t rows() const override { return files_.image_ids().numel(); }
  // As they are in memory: the ids of two images, and where crowds are.
  std::int64_t bytes_per_row() const override {
    constexpr std::int64_t kBytes = 2 * 2 * sizeof(std::int64_t) + 1;
    return kBytes * std::max<std::int64_t>(1, files_.most_pixels());
  }
  const std::vector<std::string>& names() const override { return names_; }
  std::string remarks() const override { return files_.remarks(); }
  std::string place(std::int64_t row) override {
    return files_.result_path(row);
  }
  std::string file_names() const override { return c10::Join(", ", paths_); }
  const files::Categories& categories() const override {
    return files_.categories();
  }
  std::vector<std::pair<std::string, std::string>> options() const override {
    const auto listed = [](const std::vector<std::int64_t>& ids) {
      return "[" + c10::Join(", ", ids) + "]";
    };
    return {{"things", listed(files_.things())},
            {"stuffs", listed(files_.stuffs())},
            // Void pixels have one that is none.
            {"allow_unknown_preds_category", "true"}};
  }
  std::vector<InputValue> read(std::int64_t begin, std::int64_t end) override {
    files::PanopticFiles::Images images = files_.read(begin, end);
    return {InputValue::of(std::move(images.preds)),
            InputValue::of(std::move(images.target)),
            InputValue::of(std::move(images.crowd))};
  }

 private:
  std::vector<std::string> paths_;
  files::PanopticFiles files_;
  std::vector<std::string> names_ = {"preds", "target", "crowd"};
};

}  // namespace

std::unique_ptr<Source> open_panoptic(const Arguments& arguments) {
  return std::make_unique<PanopticSource>(parts_of(arguments));
}

}  // namespace tally::cli
