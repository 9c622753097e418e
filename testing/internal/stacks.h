#pragma once

#include <string>

namespace tally::testkit::internal {

/// From now on a signal that ends this process first writes the stack of its
/// thread to `path`, and kStackSignal does so and ends it with kLateExit.
/// Existing handlers, such as those of sanitizers, are kept.
void write_stacks_to(const std::string& path);

/// The signal that requests a stack.
int stack_signal();
inline constexpr int kLateExit = 97;

/// The stack written by write_stacks_to, with the names of this program's
/// functions; empty if there is none.
std::string read_stack(const std::string& path);

/// The name of a function or type as in its source, or as it is.
std::string demangled(const std::string& name);

}  // namespace tally::testkit::internal
