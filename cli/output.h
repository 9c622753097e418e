#pragma once

#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/cli/evaluate.h"

namespace tally::cli {

/// The report as text: a table for readers, with names for classes (see
/// to_table); JSON, {"ranks", "rows", "metrics":
/// {name: value}}, in full precision, with arrays as lists and "NaN",
/// "Infinity" and "-Infinity" as strings; or CSV, a line for each number with
/// the metric's name and the number's place in an array ("2 0").
std::string render(const Report& report, Format format,
                   const std::vector<std::string>& labels = {});

/// Throws c10::ValueError unless write_output() can be expected to succeed.
void check_output(const std::string& path);
/// Writes all of the text or nothing: into a file beside it that then takes its
/// place. To the standard output if `path` is empty; to a device or a pipe that
/// somebody reads as it is. Throws c10::ValueError.
void write_output(const std::string& path, const std::string& text);

/// For the beginning of main: standard streams that are closed stay so, instead
/// of becoming the next files that are opened.
void hold_closed_streams();

}  // namespace tally::cli
