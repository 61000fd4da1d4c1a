// SPDX-License-Identifier: BSD-3-Clause
// Hands meetings over, and describes calls that do not match.
#include "node/own_meetings.hpp"

#include <algorithm>
#include <string>

#include "node/death.hpp"
#include "os/futex.hpp"

namespace acp::node {

namespace {

// Fields of OwnMeetings::lost_: the fate below the rail below the bytes below the node.
constexpr std::uint32_t byte_bits = 8;
constexpr std::uint32_t loss_bits = 4 * byte_bits;  // NodeLoss: fate, rail, 16 bits of bytes

// The minimum of the first word is the least call, that of the second the inverse of the greatest.
constexpr std::size_t least_call = 0;
constexpr std::size_t greatest_call = 1;

}  // namespace

void OwnMeetings::ask(std::uint32_t number, std::uint32_t call) noexcept {
    brought_ = {call, ~call, 0};
    // release: the words, and this process's writes before it arrived; partner: take()
    asked_.store(number, std::memory_order_release);
}

base::Status OwnMeetings::failure() const {
    const std::uint64_t lost = lost_.load(std::memory_order_acquire);
    const auto node = static_cast<std::uint32_t>(lost >> loss_bits) - 1;
    const NodeLoss why{static_cast<NodeFate>(lost & 0xFF),
                       static_cast<std::uint8_t>(lost >> byte_bits & 0xFF),
                       static_cast<std::uint16_t>(lost >> 2 * byte_bits & 0xFFFF)};
    return {base::Code::peer,
            "the barrier cannot complete: " + fate_of_process(segment_, node, why)};
}

base::Status OwnMeetings::verdict() const {
    const std::uint32_t least = least_[least_call];
    const std::uint32_t greatest = ~least_[greatest_call];
    if (least == greatest) return {};
    return {base::Code::state, "some ranks have called " + std::string(name_of_call_(least)) +
                                   " and some " + std::string(name_of_call_(greatest)) +
                                   ": they have not made the same collective calls"};
}

std::optional<OwnMeetings::Words> OwnMeetings::take() noexcept {
    // acquire: partner is ask()
    const std::uint32_t asked = asked_.load(std::memory_order_acquire);
    if (asked == taken_) return std::nullopt;
    taken_ = asked;
    return brought_;
}

void OwnMeetings::finish(std::span<const std::uint32_t> least) noexcept {
    std::copy_n(least.begin(), std::min(least.size(), least_.size()), least_.begin());
    sync::SleepWord<>& released = segment_.control().barrier_released;
    if (released.publish(taken_)) {  // release: the words, and what other nodes wrote here
        os::futex_wake(released.word(), os::everybody);
    }
}

bool OwnMeetings::ask_to_watch(std::uint32_t node) noexcept {
    if (segment_.control().deaths.load(std::memory_order_acquire) != 0) return false;
    std::uint32_t asked = 0;
    SharedU32& word = segment_.control().watch_asked;
    if (!word.compare_exchange_strong(asked, node + 1, std::memory_order_seq_cst) &&
        asked != node + 1) {
        // replaces a request that the gateway has not taken yet
        word.store(every_node, std::memory_order_seq_cst);
    }
    segment_.wake_gateway();
    return true;
}

void OwnMeetings::fail(std::uint32_t node, NodeLoss why) noexcept {
    std::uint64_t nobody = 0;
    const std::uint64_t lost =
        (std::uint64_t{node} + 1) << loss_bits | std::uint64_t{why.bytes} << 2 * byte_bits |
        std::uint64_t{why.rail} << byte_bits | static_cast<std::uint64_t>(why.fate);
    // release: partner is has_failed()
    if (lost_.compare_exchange_strong(nobody, lost, std::memory_order_acq_rel)) {
        wake_everybody(segment_);
    }
}

}  // namespace acp::node
