#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tally/metrics/slices/slice_keys.h"
#include "tally/python/csrc/values.h"

/// Keys of slices, as a method takes and gives them.
namespace tally::python {

/// Of values of keys: 0 for one that is missing, 1 for the next of the texts,
/// and 2 and an integer.
using Kinds = std::vector<std::int64_t>;

/// Of columns: each is -1, for the next of `tensors`, or n and its n different
/// values, for the next of `tensors` as their places in each row.
SliceKeys read_keys(const Kinds& kinds, const std::vector<at::Tensor>& tensors,
                    const Strings& texts);

std::vector<std::vector<SliceValue>> known_keys(std::int64_t columns,
                                                const Kinds& kinds,
                                                const Strings& texts);

/// The reverse of known_keys, for what SlicedMetric::spec() says of them.
std::tuple<std::int64_t, Kinds, Strings> keys_of_text(const std::string& text);

std::tuple<Kinds, Strings> key_parts(const std::vector<SliceValue>& key);

}  // namespace tally::python
