// SPDX-License-Identifier: BSD-3-Clause
// Requests to the owning process of private memory: copies to and from it where the kernel forbids attach, and
// atomics on it. Each is a message to the owner through a forwarder of the gateway's own slot.
// Bounded: calls_max to one process, more are refused; a copy longer than a message is sent in pieces, and pieces of a put
// without room in the mailbox are kept here. Knows no frame. One thread: the gateway's.
// Tests: tests/unit/engine/owner_calls_test.cpp, local_placement_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mailbox/forwarder.hpp"
#include "mailbox/port.hpp"

#include "engine/settled.hpp"

namespace acp::engine {

inline constexpr std::uint32_t calls_max = 64;  // requests in flight to one process

class OwnerCalls {
public:
    //   space, hazards  of the gateway's slot; port  the same slot's; all must outlive this
    OwnerCalls(local::Space& space, local::Hazards& hazards, mailbox::Port& port);

    // yes: the end appears with a poll(). no_room: none for this process now, ask again. no_memory: none to keep what
    // is asked for. In both nothing was done.
    enum class Begun : std::uint8_t { yes, no_room, no_memory };

    //   slot  of the owner
    [[nodiscard]] Begun put(std::uint32_t slot,
                            GlobalAddress target,
                            std::span<const std::byte> bytes,
                            Ticket ticket);
    [[nodiscard]] Begun get(std::uint32_t slot,
                            GlobalAddress source,
                            std::span<std::byte> into,
                            Ticket ticket);

    // A command both ends of which are on this node.
    [[nodiscard]] Begun run(std::uint32_t slot, const memory::Command& command, Ticket ticket);

    // An atomic whose old value is wanted back.
    [[nodiscard]] Begun run_for_value(std::uint32_t slot,
                                      const memory::Command& command,
                                      Ticket ticket);

    // Sends, receives, adds to ended(). true when something moved.
    bool poll();

    // The completions so far. The reader clears them.
    [[nodiscard]] SettledList& ended() noexcept { return ended_; }

    // Whether poll() would make progress now, or a refused request would be accepted now. Call it after announcing a sleep: an
    // owner that makes room later rings the bell of the gateway's slot.
    [[nodiscard]] bool has_work() const noexcept;

    [[nodiscard]] bool is_idle() const noexcept { return under_way_ == 0; }

    void on_death(std::uint32_t slot);

private:
    struct Call {
        Ticket ticket = 0;
        GlobalAddress address = 0;  // address of the next piece
        std::uint32_t slot = 0;
        std::uint32_t pieces_out = 0;  // sent and not ended
        base::Code code = base::Code::ok;
        std::uint64_t value = 0;
        std::uint32_t generation = 0;
        bool is_open = false;
        std::span<std::byte> into;     // get: not asked for yet
        std::vector<std::byte> bytes;  // put: not sent yet, from `sent` on
        std::size_t sent = 0;
    };

    static constexpr std::uint32_t no_call = ~0U;

    Begun refuse(std::uint32_t slot) noexcept;
    [[nodiscard]] bool make_room() noexcept;
    std::uint32_t open(std::uint32_t slot, Ticket ticket) noexcept;
    [[nodiscard]] std::uint64_t token_of(std::uint32_t index) const noexcept;
    bool send_piece(std::uint32_t index, std::span<const std::byte> bytes);
    bool ask_piece(std::uint32_t index);
    bool push_on(std::uint32_t index);
    void close_when_done(std::uint32_t index) noexcept;
    void give_back(std::uint32_t index) noexcept;

    mailbox::Port& port_;
    mailbox::Forwarder forwarder_;
    std::size_t piece_bytes_;
    std::vector<Call> calls_;
    std::vector<std::uint32_t> free_;      // room for all calls
    std::vector<std::uint32_t> unsent_;    // calls with pieces to send, oldest first; room for all
    std::vector<std::uint32_t> calls_of_;  // open ones, by slot
    std::vector<std::uint32_t> refused_;   // slots, since the last poll; room for all
    std::uint32_t under_way_ = 0;
    SettledList ended_{calls_max};
};

}  // namespace acp::engine
