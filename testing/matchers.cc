#include "tally/testing/matchers.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <string_view>

#include "tally/state/codec.h"
#include "tally/sync/agree.h"

namespace tally::testkit {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;
using ::testing::MakePolymorphicMatcher;

Results results_of(const at::Tensor& tensor) {
  Results results;
  results.add("", tensor);
  return results;
}

std::string encode(const Results& results) {
  std::string bytes;
  Encoder encoder(bytes);
  encoder.integer(static_cast<std::int64_t>(results.size()));
  for (const auto& [name, value] : results) {
    encoder.text(name);
    encoder.tensor(value.defined() ? value.detach() : value);
  }
  return bytes;
}

Results decode(std::string_view bytes) {
  Decoder decoder(bytes);
  Results results;
  for (std::int64_t i = decoder.integer(); i > 0; --i) {
    std::string name = decoder.text();
    results.add(std::move(name), decoder.tensor());
  }
  return results;
}

std::string list_of(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + c10::Join(", ", ranks);
}

/// What most ranks have; among equals the lowest rank decides.
std::size_t most_common(const std::vector<std::string_view>& payloads) {
  const auto count = [&](std::size_t rank) {
    return std::count(payloads.begin(), payloads.end(), payloads[rank]);
  };
  std::size_t best = 0;
  for (std::size_t r = 1; r < payloads.size(); ++r) {
    if (count(r) > count(best)) best = r;
  }
  return best;
}

AssertionResult same_on_all_ranks(
    const Results& value,
    const std::shared_ptr<sync::Communicator>& communicator) {
  const sync::Agreement agreement =
      sync::agree(sync::Call("SameOnAllRanks", communicator), [&] {
        sync::Offer offer;
        offer.payload = encode(value);
        return offer;
      });
  const auto& payloads = agreement.payloads;
  const std::size_t reference = most_common(payloads);
  std::vector<int> same, other;
  for (std::size_t r = 0; r < payloads.size(); ++r) {
    (payloads[r] == payloads[reference] ? same : other)
        .push_back(static_cast<int>(r));
  }
  if (other.empty()) return AssertionSuccess();
  const Results expected = decode(payloads[reference]);
  AssertionResult result = AssertionFailure()
                           << list_of(other)
                           << (other.size() == 1 ? " differs" : " differ")
                           << " from " << list_of(same);
  for (const int rank : other) {
    result << "\nrank " << rank << ": "
           << same_bits(decode(payloads[rank]), expected).message();
  }
  return result;
}

bool explain(const AssertionResult& result,
             ::testing::MatchResultListener* listener) {
  if (!result) *listener << "where " << result.message();
  return result;
}

}  // namespace

namespace internal {

NearMatcher::NearMatcher(Results expected, std::optional<Tolerance> tolerance)
    : expected_(std::move(expected)), tolerance_(tolerance) {}

bool NearMatcher::MatchAndExplain(
    const at::Tensor& actual, ::testing::MatchResultListener* listener) const {
  return MatchAndExplain(results_of(actual), listener);
}

bool NearMatcher::MatchAndExplain(
    const Results& actual, ::testing::MatchResultListener* listener) const {
  if (!explain(same_dtypes(actual, expected_), listener)) return false;
  for (const auto& [name, value] : actual) {
    const at::Tensor& expected = expected_.at(name);
    const AssertionResult result =
        near(value, expected,
             tolerance_.value_or(default_tolerance(expected.scalar_type())));
    if (result) continue;
    if (!name.empty()) *listener << "in '" << name << "' ";
    return explain(result, listener);
  }
  return true;
}

void NearMatcher::DescribeTo(std::ostream* out) const {
  *out << "is near";
  for (const auto& [name, value] : expected_) {
    const Tolerance tolerance =
        tolerance_.value_or(default_tolerance(value.scalar_type()));
    *out << ' ';
    if (!name.empty()) *out << '\'' << name << "' ";
    if (!value.defined()) {
      *out << "an undefined tensor";
      continue;
    }
    *out << value.scalar_type() << ' ' << value.sizes() << " (rtol "
         << tolerance.rtol << ", atol " << tolerance.atol << ')';
  }
}

void NearMatcher::DescribeNegationTo(std::ostream* out) const {
  *out << "not ";
  DescribeTo(out);
}

bool SameOnAllRanksMatcher::MatchAndExplain(
    const at::Tensor& value, ::testing::MatchResultListener* listener) const {
  return MatchAndExplain(results_of(value), listener);
}

bool SameOnAllRanksMatcher::MatchAndExplain(
    const Results& value, ::testing::MatchResultListener* listener) const {
  return explain(same_on_all_ranks(value, communicator_), listener);
}

void SameOnAllRanksMatcher::DescribeTo(std::ostream* out) const {
  *out << "is the same on all ranks, bit by bit";
}

void SameOnAllRanksMatcher::DescribeNegationTo(std::ostream* out) const {
  *out << "differs between ranks";
}

}  // namespace internal

::testing::PolymorphicMatcher<internal::NearMatcher> Near(
    const at::Tensor& expected) {
  return MakePolymorphicMatcher(
      internal::NearMatcher(results_of(expected), std::nullopt));
}

::testing::PolymorphicMatcher<internal::NearMatcher> Near(
    const at::Tensor& expected, double rtol, double atol) {
  return MakePolymorphicMatcher(
      internal::NearMatcher(results_of(expected), Tolerance{rtol, atol}));
}

::testing::PolymorphicMatcher<internal::NearMatcher> Near(Results expected) {
  return MakePolymorphicMatcher(
      internal::NearMatcher(std::move(expected), std::nullopt));
}

::testing::PolymorphicMatcher<internal::NearMatcher> Near(Results expected,
                                                          double rtol,
                                                          double atol) {
  return MakePolymorphicMatcher(
      internal::NearMatcher(std::move(expected), Tolerance{rtol, atol}));
}

::testing::PolymorphicMatcher<internal::SameOnAllRanksMatcher> SameOnAllRanks(
    std::shared_ptr<sync::Communicator> communicator) {
  return MakePolymorphicMatcher(
      internal::SameOnAllRanksMatcher(std::move(communicator)));
}

}  // namespace tally::testkit
