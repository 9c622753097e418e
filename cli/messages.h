#pragma once

#include <map>
#include <string>

#include "tally/losses/registry/loss_registry.h"

namespace tally::cli {

/// A message of the library in the words of the program: options of the command
/// line in place of classes and functions of C++.
std::string option_words(std::string message);

/// The same, and where it is about a metric that is not known and the name is
/// that of a loss, what to name instead.
std::string program_message(
    const std::string& message,
    const std::map<std::string, losses::LossEntry>& losses);

}  // namespace tally::cli
