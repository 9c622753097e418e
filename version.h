#pragma once

/// Tally's version, by https://semver.org: before 1.0, a new minor version may
/// change what programs rely on, and a new patch may not. CHANGELOG.md says
/// what changed. Checkpoints have a format version of their own, which goes up
/// only when the format changes.
#define TALLY_VERSION_MAJOR 0
#define TALLY_VERSION_MINOR 1
#define TALLY_VERSION_PATCH 0
#define TALLY_VERSION "0.1.0"

namespace tally {

/// How the library was compiled that a program is linked with.
struct BuildInfo {
  /// TALLY_VERSION of its headers, which those of the program should equal.
  const char* version;
  /// The version of LibTorch, whose minor version is a part of Tally's ABI.
  const char* libtorch;
  /// The compiler and its version.
  const char* compiler;
  /// Whether the compiler optimised.
  bool optimized;
};

/// What is known of the library's build. From any thread.
///
/// Example:
///     tally::BuildInfo build = tally::build_info();
///     std::cout << "Tally " << build.version << ", LibTorch " <<
///     build.libtorch;
BuildInfo build_info();

}  // namespace tally
