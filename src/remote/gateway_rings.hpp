// SPDX-License-Identifier: BSD-3-Clause
// The gateway's end of the rings by which the processes of its node submit commands to it. Takes
// commands, fairly between processes, and writes their completions. The content of a ring is not
// trusted: an invalid record completes with an error, and a ring with impossible counters is closed
// for ever, which affects its own process alone. Knows no frame and no route. One thread: the
// gateway's. If a process dies after submitting a command, the gateway may still take and run the
// command, and drops its completion.
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
    // Takes one command of a process. For an invoke, the command's target is the process, `bytes`
    // the size of arguments_of(), and the source its place. false: there is no room for the command
    // now; a later take() offers it again.
    using Taker = std::function<bool(
        std::uint32_t slot, std::uint64_t token, const memory::Command& command)>;

    //   segment  of a job of several nodes; must outlive this
    explicit GatewayRings(const node::Segment& segment);

    // Whether take() may find commands: a process rang its ring, or take() left a ring non-empty
    // because it had reached commands_max. Commands that the taker refused do not count until a
    // take() finds room. One or two loads.
    [[nodiscard]] bool has_commands() const noexcept;

    // Offers at most commands_max commands, from each process at most commands_per_poll before the
    // next process has its turn. A process whose command finds no room delays no other process.
    // Returns how many were taken. Invalid commands are completed here with an error and not
    // offered.
    std::uint32_t take(const Taker& taker, std::uint32_t commands_max);

    // The arguments of an invoke that is being offered, until its completion. Their process may
    // write them at any time.
    [[nodiscard]] std::span<const std::byte> arguments_of(
        std::uint32_t slot, const memory::Command& command) const noexcept;

    // Stores the result of an invoke that was taken; call complete() afterwards.
    //   place   the source of the command that was offered
    //   result  at most memory::invoke_bytes_max
    void put_result(std::uint32_t slot,
                    std::uint32_t place,
                    std::span<const std::byte> result) noexcept;

    // Writes the completion of commands that were taken from a process's ring. Ignores it if no
    // command of the process is outstanding.
    void complete(std::uint32_t slot, const Ended& ended);

    // Call after a batch of complete(): publishes the completions and rings the bells of their
    // processes.
    void flush() noexcept;

    // Closes the ring of a dead process of this node.
    void forget(std::uint32_t slot) noexcept;

    // Commands taken from a process and not completed.
    [[nodiscard]] std::uint32_t outstanding(std::uint32_t slot) const noexcept {
        return rings_[slot].outstanding;
    }

    [[nodiscard]] bool is_closed(std::uint32_t slot) const noexcept {
        return rings_[slot].is_closed;
    }

    static constexpr std::uint32_t commands_per_poll = 32;

private:
    struct Ring {
        // made when the process first sets its bit in commands_rung
        std::optional<RecordConsumer<CommandRecord>> commands;
        std::optional<RecordProducer<EndedRecord>> ended;
        std::uint32_t outstanding = 0;
        bool is_waiting = false;  // its slot is in waiting_
        bool is_closed = false;
        bool is_to_ring = false;  // its slot is in to_ring_
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
    std::vector<Ring> rings_;  // indexed by slot
    // Slots of rings that may hold commands, next first. Each slot is listed at most once, so there
    // is a place for all.
    std::vector<std::uint32_t> waiting_;
    std::size_t waiting_first_ = 0;
    std::size_t waiting_count_ = 0;
    // all rings in waiting_ found no room when they were last offered
    bool is_refused_ = false;
    // slots whose bells flush() must ring, each once; capacity for all
    std::vector<std::uint32_t> to_ring_;
};

}  // namespace acp::remote
