#pragma once

/// Tally's version, following https://semver.org: before 1.0, a new minor
/// version may break programs, and a new patch version may not. CHANGELOG.md
/// lists the changes. Checkpoints have a separate format version, which is
/// incremented only when their format changes.
#define TALLY_VERSION_MAJOR 0
#define TALLY_VERSION_MINOR 1
#define TALLY_VERSION_PATCH 0
#define TALLY_VERSION "0.1.0"

namespace tally {

/// How the library that a program is linked with was built.
struct BuildInfo {
  /// TALLY_VERSION of the library's headers; should equal that of the
  /// program's.
  const char* version;
  /// The version of LibTorch; its minor version is part of Tally's ABI.
  const char* libtorch;
  /// The compiler and its version.
  const char* compiler;
  /// Whether optimization was enabled.
  bool optimized;
};

/// Information about the library's build. Safe to call from any thread.
///
/// Example:
///     tally::BuildInfo build = tally::build_info();
///     std::cout << "Tally " << build.version << ", LibTorch " <<
///     build.libtorch;
BuildInfo build_info();

}  // namespace tally
