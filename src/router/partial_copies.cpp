// SPDX-License-Identifier: BSD-3-Clause
// Counts the pieces of copies that have arrived in part.
#include "router/partial_copies.hpp"

namespace acp::router {

PartialCopies::PartialCopies(Activity& activity, std::uint32_t copies_max)
    : activity_(activity), partials_(copies_max), index_(partials_) {}

Fault PartialCopies::arrive(NodeId from, const PutFrame& frame, bool& is_full) {
    std::uint32_t index = index_.find(frame.initiator, frame.token);
    if (index == no_index) {
        index = partials_.take();
        is_full = index == no_index;
        if (is_full) return Fault::none;
        Partial& partial = partials_[index];
        partial = Partial{};
        partial.is_taken = true;
        partial.token = frame.token;
        partial.total = frame.total;
        partial.initiator = frame.initiator;
        index_.insert(index);
        activity_.arm_scan();
    }
    Partial& partial = partials_[index];
    if (partial.total != frame.total) return Fault::contradiction;
    if (frame.bytes > partial.total - partial.arrived) return Fault::overrun;
    // Each piece arrives once, since the endpoint delivers each datagram once; so counting bytes
    // suffices.
    partial.arrived += frame.bytes;
    partial.from = from;
    partial.quiet_scans = 0;
    return Fault::none;
}

void PartialCopies::take_back(const PutFrame& frame) noexcept {
    const std::uint32_t index = index_.find(frame.initiator, frame.token);
    if (index == no_index) return;
    Partial& partial = partials_[index];
    partial.arrived -= frame.bytes;
    if (partial.arrived == 0) release(index);
}

PartialCopies::SettledPiece PartialCopies::settle(const OperationRecord& piece,
                                                  bool is_ok) noexcept {
    SettledPiece settled;
    const std::uint32_t index = index_.find(piece.initiator, piece.token);
    if (index == no_index) return settled;
    Partial& partial = partials_[index];
    partial.settled += piece.bytes;
    settled.is_new_failure = !is_ok && !partial.is_failed;
    partial.is_failed = partial.is_failed || settled.is_new_failure;
    if (partial.settled == partial.total) {
        settled.is_in_place = !partial.is_failed;
        release(index);
    }
    return settled;
}

void PartialCopies::drop(std::uint32_t initiator, std::uint64_t token) noexcept {
    const std::uint32_t index = index_.find(initiator, token);
    if (index == no_index) return;
    ++activity_.counters().forgotten;
    release(index);
}

void PartialCopies::release(std::uint32_t index) noexcept {
    index_.erase(index);
    partials_.give(index);
}

}  // namespace acp::router
