// SPDX-License-Identifier: BSD-3-Clause
// The messages and copies that wait to be sent over the port, by receiver: small messages for which
// there was no room, and copies that are sent in pieces. Each takes an item. The forwarder receives
// a message only while there is an item for its answer (make_room()), so that an accepted request
// never lacks memory. Knows which slots are dead, and which messages are of this epoch; no command,
// no memory. The driver only.
// Tests: tests/unit/mailbox/forwarder_queues_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mailbox/linked_pool.hpp"
#include "mailbox/port.hpp"
#include "memory/ga_layout.hpp"
#include "memory/operation.hpp"

namespace acp::mailbox {

// A copy that this process runs in pieces, for itself or for others; or an atomic on memory of a
// device of this process, or the store of an atomic's old value there, which take several steps too.
struct PieceCopy {
    enum class Kind : std::uint8_t { copy, atomic, store };

    static constexpr std::uint32_t no_chunk = ~0U;

    std::uint64_t token = 0;
    // 0: the origin has no address for it; it finds the destination by the token
    memory::GlobalAddress target = 0;
    memory::GlobalAddress source = 0;
    std::uint64_t bytes = 0;
    std::uint64_t done = 0;
    std::uint32_t origin = 0;
    // The staging memory through which the bytes of a device pass; written by ForwarderDevices.
    std::uint32_t chunk = no_chunk;
    Kind kind = Kind::copy;
    // Of an atomic, whose width is `bytes`; the value to store.
    memory::Operation operation = memory::Operation::copy;
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
    std::uint64_t old = 0;  // the word's value, once it was read
};

class ForwarderQueues {
public:
    // longest payload of a message that may wait
    static constexpr std::uint32_t payload_bytes_max = 8;
    // items that exist even if memory allocation fails
    static constexpr std::uint32_t items_min = 128;

    //   port      must outlive this
    //   own_slot  copies to it are moved by this process itself and need no room
    //   slots     number of slots of the node
    // Throws std::bad_alloc. Among the later calls only make_room() allocates memory.
    ForwarderQueues(Port& port, std::uint32_t own_slot, std::uint32_t slots, std::uint32_t epoch);

    // Tries to have free items for `wanted` messages or copies. Returns how many are free; fewer if
    // memory allocation fails.
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

    // Whether a message is to be handled: it is of this epoch, and its origin lives.
    [[nodiscard]] bool is_wanted(const MessageHead& head) const noexcept;

    [[nodiscard]] std::uint32_t datagram_bytes() const noexcept { return datagram_bytes_; }

    // Sends a message now, or returns false; the message may overtake messages that wait here.
    // False: there is no room.
    [[nodiscard]] bool send(std::uint32_t receiver,
                            const MessageHead& head,
                            std::span<const char> payload) {
        const bool is_sent = port_.send(receiver, head, payload);
        lanes_[receiver].is_refused = !is_sent;
        return is_sent;
    }

    // Whether a message to a receiver may find room. False: the last one found none, so that the
    // receiver rings the bell of this process when it makes room, and there still is none.
    [[nodiscard]] bool may_have_room(std::uint32_t receiver) const {
        return !lanes_[receiver].is_refused || port_.has_room(receiver);
    }

    // Sends a small message now, or as soon as there is room; drops it if the receiver is dead.
    // Takes one item at most; the caller must have made room for it.
    //   payload.size() <= payload_bytes_max
    void post(std::uint32_t receiver, const MessageHead& head, std::span<const char> payload);

    // Appends a copy to the queue of its receiver. Takes one item; the caller must have made room
    // for it.
    void add_copy(std::uint32_t receiver, const PieceCopy& copy);

    [[nodiscard]] bool has_messages(std::uint32_t receiver) const noexcept {
        return !lanes_[receiver].messages.is_empty();
    }

    [[nodiscard]] bool has_copies(std::uint32_t receiver) const noexcept {
        return !lanes_[receiver].copies.is_empty();
    }

    // Sends the messages that wait for a receiver until there is no room. Returns how many it sent.
    std::uint32_t send_messages(std::uint32_t receiver);

    // The first copy to a receiver, in place; valid until the next call that queues or drops an
    // item. This call and the next two require has_copies(receiver).
    [[nodiscard]] PieceCopy& first_copy(std::uint32_t receiver) noexcept {
        return items_[lanes_[receiver].copies.first].copy;
    }

    // Removes the first copy from its queue and frees its item, which the report of its completion
    // may take.
    PieceCopy take_copy(std::uint32_t receiver) noexcept {
        const std::uint32_t item = items_.pop(lanes_[receiver].copies);
        items_.give(item);
        return items_[item].copy;
    }

    // Moves the first copy to the end of the queue, so that the next one gets its turn.
    void rotate_copies(std::uint32_t receiver) noexcept {
        Chain& copies = lanes_[receiver].copies;
        items_.push(copies, items_.pop(copies));
    }

    // The receivers for which an item waits, and some for which none does any longer
    // (unlist_if_empty()). Valid until the next call that queues an item.
    [[nodiscard]] std::span<const std::uint32_t> receivers() const noexcept { return listed_; }

    // Removes the receiver at a position of receivers() if no item waits for it; the last receiver
    // then takes that position. False: an item waits.
    bool unlist_if_empty(std::size_t position) noexcept;

    // is_empty(): whether no item waits. can_send(): whether one could be sent now; a copy within
    // this process always can.
    [[nodiscard]] bool is_empty() const noexcept { return listed_.empty(); }

    [[nodiscard]] bool can_send() const noexcept;

    // Notes a death: drops messages to that process, now and later. Copies to it stay; the caller
    // removes them. False when the death was known already or the slot is this process's own:
    // nothing was done.
    bool note_death(std::uint32_t slot);

    // Drops all copies that this process runs for a process.   on_drop  called with each
    void drop_copies_of(std::uint32_t origin, const std::function<void(PieceCopy&)>& on_drop);

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

    // The items that wait for one receiver: at most commands_in_flight_max for each process of the
    // node, and as many of its own.
    struct Lane {
        Chain messages;
        // copies whose target lies in that process (own slot: this process moves them)
        Chain copies;
        bool is_listed = false;
        bool is_dead = false;
        bool is_refused = false;  // there was no room for the last message
    };

    void list(std::uint32_t receiver);

    Port& port_;
    const std::uint32_t own_slot_;
    const std::uint32_t epoch_;
    const std::uint32_t datagram_bytes_;
    LinkedPool<Item> items_{items_min};
    std::vector<Lane> lanes_;            // indexed by slot
    std::vector<std::uint32_t> listed_;  // receivers with Lane::is_listed; capacity for all
};

}  // namespace acp::mailbox
