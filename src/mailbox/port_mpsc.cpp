// SPDX-License-Identifier: BSD-3-Clause
// Sends from the own pool of cells, and takes messages from the inbox.
#include "mailbox/port_mpsc.hpp"

#include <bit>

#include "os/cpu.hpp"

namespace acp::mailbox {

static_assert(node::pool_cells == 32, "free_ has a bit for each");

MpscPort::MpscPort(const node::Segment& segment, std::uint32_t slot)
    : SharedPort(segment, slot),
      mailboxes_(segment.mailbox(0)),
      mailbox_stride_(segment.layout().mailbox_stride),
      payload_stride_(node::MailboxLayout::of(segment.shape()).payload_stride),
      inbox_(segment.slot(slot).door.inbox),
      flights_(node::slots_of(segment.shape())) {
    // An earlier port of this process may have sent some cells that are still busy. pool_in_use has
    // a bit for each; if it is zero the pool is not read, because reading would allocate a page.
    // Until the destructor of this port has run, all of its cells count as used. relaxed: only this
    // process reads and writes the word.
    std::uint32_t busy = segment.slot(slot).pool_in_use.exchange(~0U, std::memory_order_relaxed);
    for (; busy != 0; busy &= busy - 1) {
        const auto i = static_cast<std::uint32_t>(std::countr_zero(busy));
        const std::uint32_t state = pool(slot)[i].state.load(std::memory_order_acquire);
        const std::uint32_t receiver = (state & ~Cell::is_awaited) - 1;
        if (state != Cell::free && receiver < flights_.size()) {
            free_ &= ~(1U << i);
            sent_to_[i] = static_cast<std::uint16_t>(receiver);
            flights_[receiver].push(i);
        }
    }
}

MpscPort::~MpscPort() {
    const Handler drop = [](std::uint32_t, const MessageHead&, std::span<const char>) {};
    // Does not wait for messages that arrive later.
    receive(drop, slots_ * cells_to_one_max);
    // relaxed: see the constructor
    segment_.slot(slot_).pool_in_use.store(~free_, std::memory_order_relaxed);
}

void MpscPort::reclaim_from(Flight& flight) noexcept {
    // prefetches all these cells for writing, in parallel
    for (std::uint32_t i = 0; i < flight.count; ++i) {
        os::prefetch_for_write(&pool(slot_)[flight.cells[(flight.first + i) % cells_to_one_max]]);
    }
    while (flight.count > 0 && pool(slot_)[flight.oldest()].is_free()) {
        free_ |= 1U << flight.oldest();
        flight.pop();
    }
}

void MpscPort::reclaim_from_all() noexcept {
    for (std::uint32_t busy = ~free_; busy != 0; busy &= busy - 1) {
        reclaim_from(flights_[sent_to_[static_cast<std::uint32_t>(std::countr_zero(busy))]]);
    }
}

// Whether there is a free cell, and the receiver has fewer than cells_to_one_max of them. If not,
// marks the cells that must be freed first, so that their receivers ring this process's bell.
bool MpscPort::find_cell(Flight& flight) noexcept {
    if (flight.count == cells_to_one_max) {
        reclaim_from(flight);
        while (flight.count == cells_to_one_max) {
            if (pool(slot_)[flight.oldest()].await()) return false;
            reclaim_from(flight);
        }
    }
    if (free_ == 0) {
        reclaim_from_all();
    }
    while (free_ == 0) {
        bool is_waiting = true;
        for (std::uint32_t i = 0; i < node::pool_cells; ++i) {
            is_waiting = pool(slot_)[i].await() && is_waiting;
        }
        if (is_waiting) return false;
        reclaim_from_all();
    }
    return true;
}

bool MpscPort::send(std::uint32_t receiver,
                    const MessageHead& head,
                    std::span<const char> payload) {
    Flight& flight = flights_[receiver];
    if ((flight.count == cells_to_one_max || free_ == 0) && !find_cell(flight)) {
        return false;
    }
    const auto number = static_cast<std::uint32_t>(std::countr_zero(free_));
    const std::uint32_t index = slot_ * node::pool_cells + number + 1;
    Cell& mine = pool(slot_)[number];
    mine.fill(head, payload, area(index));
    // relaxed: the push below publishes it
    mine.state.store(receiver + 1, std::memory_order_relaxed);
    free_ &= free_ - 1;
    sent_to_[number] = static_cast<std::uint16_t>(receiver);
    flight.push(number);
    // The result is not needed: no thread sleeps on the inbox word itself.
    (void)segment_.slot(receiver).door.inbox.push(
        index, [&mine](std::uint32_t) -> node::SharedU32& { return mine.next; });
    knock(receiver);
    return true;
}

bool MpscPort::has_room(std::uint32_t receiver) const {
    const Flight& flight = flights_[receiver];
    if (flight.count == cells_to_one_max) {
        return pool(slot_)[flight.oldest()].is_free();
    }
    bool is_any_free = free_ != 0;
    for (std::uint32_t i = 0; i < node::pool_cells && !is_any_free; ++i) {
        is_any_free = pool(slot_)[i].is_free();
    }
    return is_any_free;
}

void MpscPort::take_mail() noexcept {
    const std::uint32_t newest = inbox_.newest();
    if (newest == 0) return;
    os::prefetch_for_write(&cell(newest));  // prefetched while we swap the inbox
    const std::uint32_t chain = inbox_.take_all();
    // relaxed: other threads read it as a hint in has_mail(); only the driver writes it
    kept_.store(sync::Inbox<>::oldest_first(
                    chain, [this](std::uint32_t i) -> node::SharedU32& { return cell(i).next; }),
                std::memory_order_relaxed);
}

std::uint32_t MpscPort::receive(const Handler& handler, std::uint32_t max_messages) {
    std::uint32_t handled = 0;
    if (kept_.load(std::memory_order_relaxed) == 0) {
        take_mail();
    }

    // Returns a cell to its sender after the handler has had its message.
    // Never copied.
    struct Handed {  // NOLINT(cppcoreguidelines-special-member-functions)
        const MpscPort& port;
        Cell& cell;
        std::uint32_t sender;

        ~Handed() {
            if (cell.release()) port.knock(sender);
        }
    };

    MessageHead head;
    std::uint32_t index = kept_.load(std::memory_order_relaxed);
    while (index != 0 && handled < max_messages) {
        Cell& theirs = cell(index);
        // relaxed: since the acquire of take_all() the chain belongs to this thread
        const std::uint32_t newer = theirs.next.load(std::memory_order_relaxed);
        if (newer != 0) {
            os::prefetch_for_write(&cell(newer));
        }
        const std::uint32_t sender = sender_of(index);
        const std::span<const char> payload = theirs.read(head, area(index));
        {
            const Handed handed{*this, theirs, sender};
            kept_.store(newer, std::memory_order_relaxed);  // a hint, as above
            handler(sender, head, payload);
        }
        index = newer;
        ++handled;
    }
    return handled;
}

bool MpscPort::has_mail() const {
    return kept_.load(std::memory_order_relaxed) != 0 || !inbox_.is_empty();
}

void MpscPort::forget(std::uint32_t dead_slot) {
    Flight& flight = flights_[dead_slot];
    while (flight.count > 0) {
        // relaxed: the receiver is dead and reads it no more
        pool(slot_)[flight.oldest()].state.store(Cell::free, std::memory_order_relaxed);
        free_ |= 1U << flight.oldest();
        flight.pop();
    }
}

}  // namespace acp::mailbox
