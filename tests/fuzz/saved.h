#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/FunctionRef.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What entries of saved states share.
namespace tally::fuzz {

inline constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
/// Of a checkpoint: magic and version, then length and checksum.
inline constexpr std::size_t kEnvelopeBytes = 32;

/// Batches of which every metric takes one.
std::vector<std::vector<at::Tensor>> batches();

/// A checkpoint with this body, whose length and checksum are right.
std::string sealed(std::string_view body, std::int64_t version = 1);

/// What a state claims may make no sense, and is then refused where it is used.
void use(c10::function_ref<void()> call);

/// A number, and as many of the bytes behind it; the others remain.
std::string_view take_part(std::string_view& bytes);
std::string number_text(std::uint64_t number);

}  // namespace tally::fuzz
