// SPDX-License-Identifier: BSD-3-Clause
// What waits to be sent over the port, by receiver: small messages that found no room, and copies that go in pieces. What
// another process asks for may have to wait here, in a parcel. Mail is taken only while there are parcels for its answers
// (make_room()), so nothing that was accepted ever lacks memory. Knows who of the node is dead, and which messages are of
// this epoch; no command, no memory. The driver only.
// Tests: tests/unit/local/forwarder_queues_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "local/linked_pool.hpp"
#include "local/port.hpp"
#include "memory/ga_layout.hpp"

namespace acp::local {

// A copy that this process runs in pieces, for itself or for others.
struct PieceCopy {
    std::uint64_t token = 0;
    memory::GlobalAddress target = 0;  // 0: the origin has none, and takes the bytes by the token
    memory::GlobalAddress source = 0;
    std::uint64_t bytes = 0;
    std::uint64_t done = 0;
    std::uint32_t origin = 0;
};

class ForwarderQueues {
public:
    static constexpr std::uint32_t payload_bytes_max = 8;  // of a message that may wait
    static constexpr std::uint32_t parcels_min = 128;      // to be had though no memory is left

    //   port      must outlive this
    //   own_slot  copies to it are moved here and wait for no room
    //   slots     of the node
    // Throws std::bad_alloc; later calls but make_room() take no memory.
    ForwarderQueues(Port& port, std::uint32_t own_slot, std::uint32_t slots, std::uint32_t epoch);

    // Tries to have parcels for so many messages or copies. Returns how many there are; fewer when memory is refused.
    [[nodiscard]] std::uint32_t make_room(std::uint32_t wanted) noexcept {
        return parcels_.make_room(wanted);
    }

    [[nodiscard]] bool is_dead(std::uint32_t slot) const noexcept { return lanes_[slot].is_dead; }

    // The head of a message about a command of the process at `origin`.
    [[nodiscard]] MessageHead head(MessageKind kind,
                                   std::uint32_t origin,
                                   std::uint64_t token) const noexcept {
        MessageHead made;
        made.kind = kind;
        made.origin = static_cast<std::uint16_t>(origin);
        made.token = token;
        made.epoch = epoch_;
        return made;
    }

    // Whether somebody still waits for what a message is about: it is of this epoch, and its origin lives.
    [[nodiscard]] bool is_wanted(const MessageHead& head) const noexcept;

    [[nodiscard]] std::uint32_t datagram_bytes() const noexcept { return datagram_bytes_; }

    // Sends a message now or not at all, past what waits. False: there is no room.
    [[nodiscard]] bool send(std::uint32_t receiver,
                            const MessageHead& head,
                            std::span<const char> payload) {
        return port_.send(receiver, head, payload);
    }

    // Sends a small message now or when there is room; to a dead process, never. Takes one parcel at most, which the
    // caller made sure of.   payload.size() <= payload_bytes_max
    void post(std::uint32_t receiver, const MessageHead& head, std::span<const char> payload);

    // Puts a copy behind the others to its receiver. Takes one parcel, which the caller made sure of.
    void add_copy(std::uint32_t receiver, const PieceCopy& copy);

    [[nodiscard]] bool has_messages(std::uint32_t receiver) const noexcept {
        return !lanes_[receiver].messages.is_empty();
    }

    [[nodiscard]] bool has_copies(std::uint32_t receiver) const noexcept {
        return !lanes_[receiver].copies.is_empty();
    }

    // Sends the messages that wait for a receiver until there is no room. Returns how many it sent.
    std::uint32_t send_messages(std::uint32_t receiver);

    // The first copy to a receiver, where it lies; valid until the next call that queues or drops something.
    // has_copies(receiver) is true, here and in the next two.
    [[nodiscard]] PieceCopy& first_copy(std::uint32_t receiver) noexcept {
        return parcels_[lanes_[receiver].copies.first].copy;
    }

    // The first copy, out of its queue. Its parcel is free again: the report of its end may need one.
    PieceCopy take_copy(std::uint32_t receiver) noexcept {
        const std::uint32_t parcel = parcels_.pop(lanes_[receiver].copies);
        parcels_.give(parcel);
        return parcels_[parcel].copy;
    }

    // Puts the first copy behind the others: it is their turn.
    void rotate_copies(std::uint32_t receiver) noexcept {
        Chain& copies = lanes_[receiver].copies;
        parcels_.push(copies, parcels_.pop(copies));
    }

    // Receivers that something waits for, or waited for until now. Valid until the next call that queues something.
    [[nodiscard]] std::span<const std::uint32_t> receivers() const noexcept { return listed_; }

    // Takes one of receivers() off the list when nothing waits for it any more; the last one takes its position. False:
    // something does.
    bool unlist_if_empty(std::size_t position) noexcept;

    // Whether something waits, and whether some of it could be sent now. A copy within this process always can.
    [[nodiscard]] bool is_empty() const noexcept { return listed_.empty(); }

    [[nodiscard]] bool can_send() const noexcept;

    // Notes a death: messages to that process are forgotten, and none is taken for it any more. Copies to it stay for the
    // caller to take. False when it was known, or is this process itself: nothing was done.
    bool note_death(std::uint32_t slot);

    // Forgets all copies that are run here for a process.
    void drop_copies_of(std::uint32_t origin) noexcept;

private:
    struct Message {
        MessageHead head;
        std::array<char, payload_bytes_max> payload{};
    };

    // One or the other.
    struct Parcel {
        Message message;
        PieceCopy copy;
        std::uint32_t next = Chain::nobody;
    };

    // What waits for one receiver. Bounded: commands_in_flight_max of each process of the node, and as many own ones.
    struct Lane {
        Chain messages;
        Chain copies;  // whose target is there (own slot: moved here)
        bool is_listed = false;
        bool is_dead = false;
    };

    void list(std::uint32_t receiver);

    Port& port_;
    const std::uint32_t own_slot_;
    const std::uint32_t epoch_;
    const std::uint32_t datagram_bytes_;
    LinkedPool<Parcel> parcels_{parcels_min};
    std::vector<Lane> lanes_;            // by slot
    std::vector<std::uint32_t> listed_;  // whose lane is listed; room for all
};

}  // namespace acp::local
