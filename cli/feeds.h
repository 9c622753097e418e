#pragma once

#include <c10/util/ArrayRef.h>

#include <string>
#include <vector>

#include "tally/metrics/inputs.h"

namespace tally::cli {

/// What inputs are read from.
enum class Feed { kCsv, kArrays, kJsonLines, kTexts, kCoco, kPanoptic };

/// "csv", for programs.
const char* tag_of(Feed feed);
/// "CSV columns", for users.
const char* words_of(Feed feed);

/// What a row of an input may be in files, by what a metric declares.
struct InputForms {
  bool is_int = false;    ///< whole numbers
  bool is_float = false;  ///< numbers with fractions
  bool is_text = false;
  bool is_texts = false;       ///< several
  bool is_words = false;       ///< that blanks separate
  bool is_objects = false;     ///< of an image
  bool is_segments = false;    ///< the category and segment of each pixel
  bool is_class = false;       ///< may be the number of one
  int dims = 0;                ///< the fewest of an array of all rows
  bool has_open_rows = false;  ///< "[..., T]": a file's are the first dimension
};
InputForms forms_of(const InputInfo& input);

/// "real [N]", of maps with what is in them.
std::string described(const InputInfo& input);

/// The files each of which is enough for what a metric requires; none for
/// inputs that are not declared.
std::vector<Feed> feeds_of(c10::ArrayRef<InputInfo> inputs);
/// "CSV columns, .npy, .npz", or "no file: preds is ..." and why.
std::string feeds_text(c10::ArrayRef<InputInfo> inputs);

/// Throws c10::ValueError, with the files to pass, if a required input of the
/// metric is in none of these.
void check_feeds(const std::string& metric, c10::ArrayRef<InputInfo> inputs,
                 const std::vector<Feed>& feeds);

}  // namespace tally::cli
