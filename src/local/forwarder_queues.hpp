// SPDX-License-Identifier: BSD-3-Clause
// What waits to be sent over the port, by receiver: small messages that found no room, and copies that go in pieces. An answer
// to another process may have to wait here, in an item. The forwarder receives a message only while there are items for the
// answer (make_room()), so that an accepted request never lacks memory. Knows which slots are dead, and which messages are of
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
    // 0: the origin gave no address; it finds the destination by the token
    memory::GlobalAddress target = 0;
    memory::GlobalAddress source = 0;
    std::uint64_t bytes = 0;
    std::uint64_t done = 0;
    std::uint32_t origin = 0;
};

class ForwarderQueues {
public:
    static constexpr std::uint32_t payload_bytes_max = 8;  // of a message that may wait
    // items that exist even if memory allocation fails
    static constexpr std::uint32_t items_min = 128;

    //   port      must outlive this
    //   own_slot  copies to it are moved by this process itself and need no room
    //   slots     number of slots of the node
    // Throws std::bad_alloc. Of the later calls only make_room() allocates memory.
    ForwarderQueues(Port& port, std::uint32_t own_slot, std::uint32_t slots, std::uint32_t epoch);

    // Tries to have free items for `wanted` messages or copies. Returns how many are free; fewer if memory allocation fails.
    [[nodiscard]] std::uint32_t make_room(std::uint32_t wanted) noexcept {
        return items_.make_room(wanted);
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

    // Whether the origin of a message still waits for it: the message is of this epoch, and its origin lives.
    [[nodiscard]] bool is_wanted(const MessageHead& head) const noexcept;

    [[nodiscard]] std::uint32_t datagram_bytes() const noexcept { return datagram_bytes_; }

    // Sends a message now or not at all; it may overtake messages that wait here. False: there is no room.
    [[nodiscard]] bool send(std::uint32_t receiver,
                            const MessageHead& head,
                            std::span<const char> payload) {
        return port_.send(receiver, head, payload);
    }

    // Sends a small message now, or as soon as there is room; drops it if the receiver is dead. Takes one item at most; the
    // caller must have made room for it.
    //   payload.size() <= payload_bytes_max
    void post(std::uint32_t receiver, const MessageHead& head, std::span<const char> payload);

    // Puts a copy behind the others to its receiver. Takes one item; the caller must have made room for it.
    void add_copy(std::uint32_t receiver, const PieceCopy& copy);

    [[nodiscard]] bool has_messages(std::uint32_t receiver) const noexcept {
        return !lanes_[receiver].messages.is_empty();
    }

    [[nodiscard]] bool has_copies(std::uint32_t receiver) const noexcept {
        return !lanes_[receiver].copies.is_empty();
    }

    // Sends the messages that wait for a receiver until there is no room. Returns how many it sent.
    std::uint32_t send_messages(std::uint32_t receiver);

    // The first copy to a receiver, in place; valid until the next call that queues or drops something. This call and the next
    // two require has_copies(receiver).
    [[nodiscard]] PieceCopy& first_copy(std::uint32_t receiver) noexcept {
        return items_[lanes_[receiver].copies.first].copy;
    }

    // Removes the first copy from its queue and frees its item, which the report of its end may need.
    PieceCopy take_copy(std::uint32_t receiver) noexcept {
        const std::uint32_t item = items_.pop(lanes_[receiver].copies);
        items_.give(item);
        return items_[item].copy;
    }

    // Puts the first copy behind the others, so that the next one gets its turn.
    void rotate_copies(std::uint32_t receiver) noexcept {
        Chain& copies = lanes_[receiver].copies;
        items_.push(copies, items_.pop(copies));
    }

    // The receivers for which something waits, or did until now. Valid until the next call that queues something.
    [[nodiscard]] std::span<const std::uint32_t> receivers() const noexcept { return listed_; }

    // Removes the receiver at a position of receivers() if nothing waits for it any more; the last receiver then takes that
    // position. False: something still waits.
    bool unlist_if_empty(std::size_t position) noexcept;

    // is_empty(): whether nothing waits. can_send(): whether some of it could be sent now, as a copy within this process always
    // can.
    [[nodiscard]] bool is_empty() const noexcept { return listed_.empty(); }

    [[nodiscard]] bool can_send() const noexcept;

    // Notes a death: messages to that process are dropped, and later ones are not taken. Copies to it stay; the caller removes
    // them. False when the death was known already or the slot is this process's own: nothing was done.
    bool note_death(std::uint32_t slot);

    // Drops all copies that this process runs for a process.
    void drop_copies_of(std::uint32_t origin) noexcept;

private:
    struct Message {
        MessageHead head;
        std::array<char, payload_bytes_max> payload{};
    };

    // Holds a message or a copy, never both.
    struct Item {
        Message message;
        PieceCopy copy;
        std::uint32_t next = Chain::nobody;
    };

    // What waits for one receiver. At most commands_in_flight_max items for each process of the node, and as many of its own.
    struct Lane {
        Chain messages;
        Chain copies;  // copies whose target lies in that process (own slot: moved here)
        bool is_listed = false;
        bool is_dead = false;
    };

    void list(std::uint32_t receiver);

    Port& port_;
    const std::uint32_t own_slot_;
    const std::uint32_t epoch_;
    const std::uint32_t datagram_bytes_;
    LinkedPool<Item> items_{items_min};
    std::vector<Lane> lanes_;            // by slot
    std::vector<std::uint32_t> listed_;  // receivers with Lane::is_listed; capacity for all
};

}  // namespace acp::local
