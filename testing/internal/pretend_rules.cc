#include "tally/testing/internal/pretend_rules.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <set>

namespace tally::testkit::internal {
namespace {

using Names = std::set<std::string>;

bool has_prefix(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// A mask as an index becomes indices, whose number the host must know; but
// filling with a number needs no indices.
bool puts_by_mask(const torch::jit::Stack& arguments) {
  for (const auto& index : arguments[1].toOptionalTensorVector()) {
    if (!index || !index->defined()) continue;
    if (index->scalar_type() != at::kBool &&
        index->scalar_type() != at::kByte) {
      continue;
    }
    const at::Tensor& value = arguments[2].toTensor();
    return value.numel() != 1 || !value.is_cpu() || arguments[3].toBool();
  }
  return false;
}

}  // namespace

bool learns_size(const std::string& name, const torch::jit::Stack& arguments) {
  static const Names& names =
      *new Names{"aten::nonzero",         "aten::masked_select",
                 "aten::_unique",         "aten::_unique2",
                 "aten::unique_dim",      "aten::unique_dim_consecutive",
                 "aten::bincount",        "aten::unique_consecutive",
                 "aten::equal",           "aten::_linalg_eigh",
                 "aten::_linalg_svd",     "aten::linalg_eig",
                 "aten::_linalg_eigvals", "aten::linalg_lstsq"};
  if (name == "aten::repeat_interleave") {
    return arguments.size() < 2 || !arguments.back().isInt();
  }
  if (name == "aten::_index_put_impl_") return puts_by_mask(arguments);
  return names.count(name) > 0;
}

bool launches_kernel(const std::string& name) {
  static const Names& names =
      *new Names{"aten::record_stream", "aten::is_set_to", "aten::is_pinned",
                 "aten::_has_same_storage_numel"};
  return names.count(name) == 0;
}

bool takes_numbers(const std::string& name) {
  static const Names& names = *new Names{"aten::cat",
                                         "aten::index_select",
                                         "aten::gather",
                                         "aten::scatter",
                                         "aten::bucketize",
                                         "aten::scatter_add",
                                         "aten::mm",
                                         "aten::bmm",
                                         "aten::addmm",
                                         "aten::baddbmm",
                                         "aten::dot",
                                         "aten::mv",
                                         "aten::addmv",
                                         "aten::embedding",
                                         "aten::sort",
                                         "aten::index_add",
                                         "aten::_cdist_forward",
                                         "aten::nll_loss_forward"};
  return names.count(name) == 0;
}

bool takes_host_indices(const std::string& name) {
  return has_prefix(name, "aten::index") ||
         has_prefix(name, "aten::_index_put") ||
         has_prefix(name, "aten::_unsafe_index");
}

bool is_matrix_product(const std::string& name) {
  static const Names& names =
      *new Names{"aten::mm",   "aten::bmm",   "aten::addmm", "aten::baddbmm",
                 "aten::dot",  "aten::vdot",  "aten::mv",    "aten::addmv",
                 "aten::addr", "aten::addbmm"};
  return names.count(name) > 0;
}

bool is_of_the_cpu(const std::string& name) {
  return name == "aten::histogram" || has_prefix(name, "aten::_histogramdd") ||
         has_prefix(name, "aten::mkldnn");
}

bool sums_unordered(const std::string& name,
                    const torch::jit::Stack& arguments) {
  static const Names& names = *new Names{"aten::scatter_add",
                                         "aten::scatter_add_",
                                         "aten::scatter_reduce",
                                         "aten::index_add",
                                         "aten::index_add_",
                                         "aten::index_reduce",
                                         "aten::histc",
                                         "aten::put_",
                                         "aten::grid_sampler_2d_backward",
                                         "aten::upsample_bilinear2d_backward",
                                         "aten::reflection_pad2d_backward"};
  if (name == "aten::bincount") {
    return arguments[1].isTensor() && arguments[1].toTensor().defined();
  }
  return names.count(name) > 0 &&
         at::isFloatingType(arguments[0].toTensor().scalar_type());
}

}  // namespace tally::testkit::internal
