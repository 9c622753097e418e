#pragma once

#include <string>

namespace tally::testkit::internal {

/// From now on a signal that ends this process first writes the stack of its
/// thread to `path`, and kStackSignal does so and ends it with kLateExit.
/// Signals that somebody handles already, as sanitizers do, stay theirs.
void write_stacks_to(const std::string& path);

/// The signal that asks for a stack.
int stack_signal();
inline constexpr int kLateExit = 97;

/// What write_stacks_to left in the file, with the names of the functions of
/// this program; empty if there is nothing.
std::string read_stack(const std::string& path);

}  // namespace tally::testkit::internal
