// SPDX-License-Identifier: BSD-3-Clause
// The gateway's end of the rings by which the processes of its node hand it commands: takes commands, fairly
// between processes, and gives back how they ended. What stands in a ring is not trusted: a record that makes no
// sense ends with an error, a ring whose counters make none is closed for good, to the harm of its own process
// alone. Knows no frame and no route. One thread: the gateway's. A command that was handed over when its process
// died is taken or not, and its end is told to nobody.
// Tests: tests/unit/remote/gateway_rings_test.cpp, link_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "memory/command.hpp"
#include "node/segment.hpp"
#include "remote/link.hpp"
#include "remote/ring_records.hpp"

namespace acp::remote {

class GatewayRings {
public:
    // Takes one command of a process; of an invoke the target is the process and bytes are those of arguments_of().
    // false: no room for it now; it is offered again by a later take().
    using Taker = std::function<bool(
        std::uint32_t slot, std::uint64_t token, const memory::Command& command)>;

    //   segment  of a job of several nodes; must outlive this
    explicit GatewayRings(const node::Segment& segment);

    // Whether take() may find something: a ring was rung, or one was not emptied for want of commands_max. What
    // the taker had no room for does not count until a take() finds room. One or two loads.
    [[nodiscard]] bool has_commands() const noexcept;

    // Offers at most commands_max commands, from each process at most commands_per_turn before the next has its
    // turn; a process whose command finds no room keeps nobody from being asked. Returns how many were taken.
    // Commands that make no sense are ended here and not offered.
    std::uint32_t take(const Taker& taker, std::uint32_t commands_max);

    // The arguments of an invoke that is being offered. Their process may write them at any time: who takes the invoke
    // copies them.
    [[nodiscard]] std::span<const std::byte> arguments_of(
        std::uint32_t slot, std::uint64_t token, const memory::Command& command) const noexcept;

    // Puts down the result of an invoke that was taken. Its end follows.   result  at most memory::invoke_bytes_max
    void put_result(std::uint32_t slot,
                    std::uint64_t token,
                    std::span<const std::byte> result) noexcept;

    // Tells a process how commands of its ended; they were taken from its ring. What was not, is ignored.
    void complete(std::uint32_t slot, const Ended& ended);

    // After a batch of complete(): rings the processes they were for.
    void flush() noexcept;

    // A process of this node is gone: its ring is closed.
    void forget(std::uint32_t slot) noexcept;

    // Commands taken from a process and not completed.
    [[nodiscard]] std::uint32_t outstanding(std::uint32_t slot) const noexcept {
        return rings_[slot].outstanding;
    }

    [[nodiscard]] bool is_closed(std::uint32_t slot) const noexcept {
        return rings_[slot].is_closed;
    }

    static constexpr std::uint32_t commands_per_turn = 32;

private:
    struct Ring {
        std::optional<RecordConsumer<CommandRecord>>
            commands;  // made with the first ring of its bell
        std::optional<RecordProducer<EndedRecord>> ended;
        std::uint32_t outstanding = 0;
        bool is_waiting = false;  // in waiting_
        bool is_closed = false;
        bool is_to_ring = false;  // in to_ring_
    };

    enum class Offer { taken_all, refused, has_more };

    void listen();
    Offer offer(std::uint32_t slot,
                const Taker& taker,
                std::uint32_t commands_max,
                std::uint32_t& taken);
    void close(std::uint32_t slot) noexcept;
    void push_waiting(std::uint32_t slot) noexcept;
    std::uint32_t pop_waiting() noexcept;

    const node::Segment& segment_;
    std::vector<Ring> rings_;  // by slot
    // Slots of rings that may hold commands, next first: each once, so there is a place for all.
    std::vector<std::uint32_t> waiting_;
    std::size_t waiting_first_ = 0;
    std::size_t waiting_count_ = 0;
    bool is_refused_ = false;             // all of waiting_ found no room when last asked
    std::vector<std::uint32_t> to_ring_;  // each once; room for all
};

}  // namespace acp::remote
