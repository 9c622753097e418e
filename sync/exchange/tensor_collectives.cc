#include "tally/sync/exchange/tensor_collectives.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tally/state/codec.h"
#include "tally/sync/autograd.h"
#include "tally/sync/exchange/tensors.h"

namespace tally::sync::internal {
namespace {

at::Tensor flat(const at::Tensor& tensor) { return tensor.reshape({-1}); }

bool any_graph(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (has_graph(tensor)) return true;
  }
  return false;
}

TensorOffer offer_of(const Call& call, const std::vector<at::Tensor>& tensors,
                     std::string schema) {
  TensorOffer offer;
  offer.schema = std::move(schema);
  offer.has_graph = any_graph(tensors);
  offer.device = tensors[0].device();
  pack(call, tensors, offer);
  return offer;
}

void check_chunks(const Call& call, const std::vector<at::Tensor>& chunks) {
  TORCH_CHECK_VALUE(chunks.size() == static_cast<std::size_t>(call.size()),
                    call.name, ": expected ", call.size(),
                    " tensors, one for each rank, got ", chunks.size());
  for (const at::Tensor& chunk : chunks) {
    check_dense(call, chunk);
    TORCH_CHECK_VALUE(chunk.scalar_type() == chunks[0].scalar_type(), call.name,
                      ": expected tensors of one dtype, got ",
                      chunks[0].scalar_type(), " and ", chunk.scalar_type());
  }
}

// Every rank's chunk for this one, where the chunks did not fit in the
// exchange.
std::vector<at::Tensor> move_chunks(const Call& call,
                                    const std::vector<at::Tensor>& chunks,
                                    const std::vector<Parcel>& parcels,
                                    const TensorAgreement& agreement) {
  const auto rank = static_cast<std::size_t>(call.rank());
  std::int64_t most = 0;
  for (const Parcel& parcel : parcels) most = std::max(most, parcel.bytes());
  at::Tensor input, output;
  std::vector<std::int64_t> counts;
  make_ready(call, agreement, most, [&] {
    std::vector<at::Tensor> rows;
    for (const at::Tensor& chunk : chunks) rows.push_back(flat(plain(chunk)));
    input = at::cat(rows).to(agreement.device);
    std::int64_t total = 0;
    for (const Parcel& parcel : parcels) {
      counts.push_back(parcel.counts[rank]);
      total += counts.back();
    }
    output = at::empty({total}, input.options());
  });
  call.communicator->all_to_all(input, parcels[rank].counts, output, counts,
                                call.timeout);
  std::vector<at::Tensor> received;
  std::int64_t offset = 0;
  for (std::size_t r = 0; r < parcels.size(); ++r) {
    received.push_back(output.narrow(0, offset, counts[r])
                           .view(parcels[r].sizes[rank])
                           .to(chunks[0].device()));
    offset += counts[r];
  }
  return received;
}

std::vector<at::Tensor> received_chunks(const Call& call,
                                        const std::vector<at::Tensor>& chunks,
                                        const TensorAgreement& agreement) {
  if (call.size() == 1) return {own_copy(chunks[0])};
  const std::vector<Parcel> parcels =
      parcels_of(call, agreement, static_cast<std::size_t>(call.size()));
  if (agreement.any_moves) return move_chunks(call, chunks, parcels, agreement);
  std::vector<at::Tensor> received;
  for (const Parcel& parcel : parcels) {
    received.push_back(parcel.tensor(static_cast<std::size_t>(call.rank()))
                           .to(chunks[0].device()));
  }
  return received;
}

// What gather() exchanges: the tensor, or its shape if it is too large.
void pack_to_gather(const Call& call, const at::Tensor& tensor,
                    TensorOffer& offer) {
  if (call.size() == 1) return;
  Encoder encoder(offer.payload);
  offer.moves = tensor.defined() && tensor.layout() == at::kStrided &&
                !tensor.is_quantized() &&
                static_cast<std::int64_t>(tensor.nbytes()) >= kMovedBytes;
  encoder.integer(offer.moves ? 1 : 0);
  encoder.tensor(offer.moves ? shape_of(tensor) : tensor);
}

// What the ranks brought to gather(). Those that are too large are not there
// yet, only their shapes.
struct Gathered {
  explicit Gathered(const Agreement& agreement) {
    for (const std::string_view payload : agreement.payloads) {
      Decoder decoder(payload, agreement.storage);
      large.push_back(decoder.integer() != 0);
      const at::Tensor tensor = decoder.tensor();
      slots.push_back(
          large.back()
              ? at::empty({}, tensor.options()).expand(tensor.sizes().slice(1))
              : tensor);
    }
  }

  std::vector<at::Tensor> slots;
  std::vector<bool> large;
};

// Gathers those that are too large.
void move_large(const Call& call, const at::Tensor& own,
                const TensorAgreement& agreement, Gathered& gathered) {
  std::vector<at::Tensor>& slots = gathered.slots;
  const std::vector<bool>& large = gathered.large;
  std::vector<std::int64_t> bytes;
  for (std::size_t r = 0; r < slots.size(); ++r) {
    bytes.push_back(large[r] ? static_cast<std::int64_t>(slots[r].nbytes())
                             : 0);
  }
  const auto of = std::max_element(bytes.begin(), bytes.end()) - bytes.begin();
  if (bytes[of] == 0) return;
  const bool mine = large[static_cast<std::size_t>(call.rank())];
  std::optional<ByteGather> gather;
  make_ready(call, agreement, kAnnouncedBytes, [&] {
    made_for(c10::str("rank ", of, "'s ", slots[of].scalar_type(), ' ',
                      slots[of].sizes()),
             [&] {
               gather.emplace(mine ? own : at::Tensor(), bytes,
                              ByteGather::Gaps::kAllowed, agreement.device,
                              call.rank());
             });
  });
  gather->start(*call.communicator, call.timeout).wait();
  const at::Tensor all = gather->take();
  for (std::size_t r = 0; r < slots.size(); ++r) {
    if (!large[r]) continue;
    // Tensors of their own for autograd, though they share memory.
    slots[r] = all.narrow(0, gather->begin(static_cast<int>(r)), bytes[r])
                   .view(slots[r].scalar_type())
                   .view(slots[r].sizes())
                   .variable_data();
  }
}

std::string kind_of(const at::Tensor& tensor, Alike alike) {
  if (!tensor.defined()) return "nothing";
  if (alike == Alike::kDimensions || tensor.dim() == 0) {
    return c10::str(tensor.scalar_type(), " with ", tensor.dim(), " dims");
  }
  return c10::str(tensor.scalar_type(), " rows of ", tensor.sizes().slice(1));
}

// Every rank sees the same tensors, so all of them throw or none does.
void check_alike(const Call& call, const TensorAgreement& agreement,
                 const std::vector<at::Tensor>& slots, Alike alike) {
  std::string first, text = "the ranks' tensors differ in kind: ";
  std::vector<int> others;
  for (std::size_t r = 0; r < slots.size(); ++r) {
    const std::string kind = kind_of(slots[r], alike);
    text += c10::str(r == 0 ? "rank " : ", rank ", r, ": ", kind);
    if (!slots[r].defined()) continue;
    if (first.empty()) first = kind;
    if (kind != first) others.push_back(static_cast<int>(r));
  }
  if (!others.empty()) mismatch(call, agreement, text, std::move(others));
}

// Ranks that have nothing get an empty tensor like the first that has some.
void fill_absent(std::vector<at::Tensor>& slots) {
  at::Tensor like;
  for (const at::Tensor& slot : slots) {
    if (slot.defined() && !like.defined()) like = slot;
  }
  if (!like.defined()) return;
  std::vector<std::int64_t> sizes =
      (like.dim() == 0 ? like.unsqueeze(0) : like).sizes().vec();
  sizes[0] = 0;
  for (at::Tensor& slot : slots) {
    if (!slot.defined()) slot = at::empty(sizes, like.options());
  }
}

// What gather() returns to the only rank.
at::Tensor gathered_alone(const at::Tensor& tensor, GradientFlow flow) {
  if (!tensor.defined()) return tensor;
  switch (flow) {
    case GradientFlow::kAllRanks:
      return tensor.clone(at::MemoryFormat::Contiguous);
    case GradientFlow::kDetached:
      return tensor.detach();
    case GradientFlow::kReplicated:
      return has_graph(tensor) ? scale_gradient(tensor, 1) : tensor;
    default:
      return tensor;
  }
}

}  // namespace

std::vector<at::Tensor> gather(const Call& call, GradientFlow flow, Alike alike,
                               c10::function_ref<at::Tensor()> prepare) {
  const AskedBy asked = call.asked();
  at::Tensor tensor;
  const TensorAgreement agreement = agree_on_tensors(call, [&] {
    tensor = prepare();
    TensorOffer offer;
    offer.schema = c10::str("gradient flow ", to_string(flow));
    // Only with kAllRanks is a graph of any concern to the others.
    offer.has_graph = flow == GradientFlow::kAllRanks && has_graph(tensor);
    if (tensor.defined()) offer.device = tensor.device();
    if (tensor.defined()) check_dense(call, tensor);
    pack_to_gather(call, tensor, offer);
    return offer;
  });

  if (call.size() == 1) return {gathered_alone(tensor, flow)};

  std::vector<at::Tensor> slots = carry_out(call, agreement, [&] {
    Gathered gathered(agreement);
    check_alike(call, agreement, gathered.slots, alike);
    move_large(call, tensor, agreement, gathered);
    return std::move(gathered.slots);
  });
  fill_absent(slots);
  if (tensor.defined()) {
    for (at::Tensor& slot : slots) slot = slot.to(tensor.device());
  }

  const auto rank = static_cast<std::size_t>(call.rank());
  if (agreement.any_graph && slots[0].defined()) {
    std::vector<at::Tensor> inputs;
    if (tensor.defined()) inputs.push_back(tensor);
    const Call backward = call.backward(agreement.sequence);
    return attach(inputs, std::move(slots),
                  [=](const std::vector<at::Tensor>& gradients) {
                    return std::vector<at::Tensor>{
                        sum_chunks(backward, 1, [&] { return gradients; })};
                  });
  }
  if (!tensor.defined()) return slots;
  if (flow == GradientFlow::kReplicated && has_graph(tensor)) {
    slots[rank] = without_other_graphs(tensor, call.size(), call.name);
  } else {
    slots[rank] = flow == GradientFlow::kDetached ? tensor.detach() : tensor;
  }
  return slots;
}

std::vector<at::Tensor> exchange_chunks(const Call& call,
                                        c10::function_ref<Chunks()> prepare) {
  const AskedBy asked = call.asked();
  std::vector<at::Tensor> chunks;
  const TensorAgreement agreement = agree_on_tensors(call, [&] {
    Chunks prepared = prepare();
    chunks = std::move(prepared.tensors);
    check_chunks(call, chunks);
    return offer_of(
        call, chunks,
        c10::str(chunks[0].scalar_type(), prepared.schema.empty() ? "" : ", ",
                 prepared.schema));
  });
  std::vector<at::Tensor> received = carry_out(call, agreement, [&] {
    return received_chunks(call, chunks, agreement);
  });
  if (!agreement.any_graph) return received;
  return attach(
      chunks, std::move(received),
      [backward = call.backward(agreement.sequence)](
          const std::vector<at::Tensor>& gradients) {
        return exchange_chunks(backward, [&] { return Chunks{gradients, ""}; });
      });
}

at::Tensor sum_chunks(const Call& call, double divisor,
                      c10::function_ref<std::vector<at::Tensor>()> prepare) {
  const AskedBy asked = call.asked();
  std::vector<at::Tensor> chunks;
  const TensorAgreement agreement = agree_on_tensors(call, [&] {
    chunks = prepare();
    check_chunks(call, chunks);
    std::string schema = c10::str(chunks[0].scalar_type());
    for (const at::Tensor& chunk : chunks)
      schema += c10::str(" ", chunk.sizes());
    return offer_of(call, chunks, std::move(schema));
  });
  at::Tensor result;
  const std::vector<at::Tensor> received = carry_out(call, agreement, [&] {
    return received_chunks(call, chunks, agreement);
  });
  for (const at::Tensor& chunk : received) {
    const at::Tensor term = chunk.to(accumulate_dtype(chunk.scalar_type()));
    result = result.defined() ? result.add(term) : term;
  }
  if (divisor != 1) result = result.div(divisor);
  result = result.to(sum_dtype(chunks[0].scalar_type()));
  if (!agreement.any_graph) return result;
  std::vector<std::vector<std::int64_t>> sizes;
  for (const at::Tensor& chunk : chunks) sizes.push_back(chunk.sizes().vec());
  const Call backward = call.backward(agreement.sequence);
  return attach(
      chunks, {result}, [=](const std::vector<at::Tensor>& gradients) {
        std::vector<at::Tensor> result_chunks =
            gather(backward, GradientFlow::kAllRanks, Alike::kDimensions, [&] {
              const at::Tensor row = flat(gradients[0]);
              return divisor == 1 ? row : row.div(divisor);
            });
        for (std::size_t r = 0; r < sizes.size(); ++r) {
          result_chunks[r] = result_chunks[r].view(sizes[r]);
        }
        return result_chunks;
      })[0];
}

std::vector<std::vector<at::Tensor>> attach_all_ranks(
    const std::vector<at::Tensor>& own,
    const std::vector<std::vector<at::Tensor>>& slots,
    std::shared_ptr<Communicator> communicator, std::int64_t sequence) {
  const std::size_t count = own.size();
  std::vector<at::Tensor> outputs;
  for (const auto& slot : slots) {
    for (const at::Tensor& value : slot) outputs.push_back(value.clone());
  }
  Call call("states", std::move(communicator));
  call.asker = "backward of a metric";
  const Call backward = call.backward(sequence);
  const auto adjoint = [backward,
                        count](const std::vector<at::Tensor>& gradients) {
    std::vector<at::Tensor> rows;
    for (std::size_t i = 0; i < gradients.size(); i += count) {
      std::vector<at::Tensor> row;
      for (std::size_t k = i; k < i + count; ++k) {
        row.push_back(flat(gradients[k]).to(at::kCPU, at::kDouble));
      }
      rows.push_back(at::cat(row));
    }
    const at::Tensor sum = sum_chunks(backward, 1, [&] { return rows; });
    std::vector<at::Tensor> result;
    std::int64_t offset = 0;
    const std::size_t first = count * static_cast<std::size_t>(backward.rank());
    for (std::size_t k = first; k < first + count; ++k) {
      const at::Tensor& like = gradients[k];
      result.push_back(sum.narrow(0, offset, like.numel())
                           .reshape(like.sizes())
                           .to(like.options()));
      offset += like.numel();
    }
    return result;
  };
  const std::vector<at::Tensor> flat_result =
      attach(own, std::move(outputs), adjoint);
  std::vector<std::vector<at::Tensor>> result;
  for (std::size_t r = 0; r < slots.size(); ++r) {
    result.emplace_back(flat_result.begin() + r * count,
                        flat_result.begin() + (r + 1) * count);
  }
  return result;
}

}  // namespace tally::sync::internal
