#pragma once

#include <string>
#include <vector>

#include "tally/cli/arguments.h"

/// The files of several named data sets: --set NAME=FILE ...
namespace tally::cli {

/// Adds the files of one word of --inputs, "preds=a.npy,target=b.npy", and
/// their names. A comma may be part of the name of a file that exists.
void add_inputs(const std::string& word, std::vector<std::string>& inputs,
                std::vector<std::string>& names);

/// The set that the words of --set describe. Throws c10::ValueError.
DataSet parse_set(const std::vector<std::string>& words);

/// The arguments with these files in place of --inputs or --csv.
Arguments arguments_of(const Arguments& arguments, const DataSet& set);

/// Those of each set, or, without sets, the only ones.
std::vector<Arguments> evaluations_of(const Arguments& arguments);

}  // namespace tally::cli
