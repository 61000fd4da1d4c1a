// SPDX-License-Identifier: BSD-3-Clause
// Sends into rings and receives from them; finds the rings that hold messages in one of two ways.
#include "mailbox/port_rings.hpp"

#include <algorithm>
#include <bit>

namespace acp::mailbox {

namespace {

constexpr std::uint32_t is_filled = 1;

}  // namespace

RingsPort::RingsPort(const node::Segment& segment, std::uint32_t slot, Find find)
    : SharedPort(segment, slot),
      find_(find),
      mailboxes_(segment.mailbox(0)),
      mailbox_stride_(segment.layout().mailbox_stride),
      ring_stride_(node::MailboxLayout::of(segment.shape()).ring_stride),
      payload_stride_(node::MailboxLayout::of(segment.shape()).payload_stride),
      produced_(node::slots_of(segment.shape())),
      consumed_(node::slots_of(segment.shape())) {
    const bool is_fresh = segment.control().job_epoch.load(std::memory_order_relaxed) == 0;
    for (std::uint32_t other = 0; other < slots_ && !is_fresh; ++other) {
        // relaxed: only an earlier port of this process wrote these
        produced_[other] = control(other, slot).produced.load(std::memory_order_relaxed);
        consumed_[other] = control(slot, other).consumed.load(std::memory_order_relaxed);
        keep(other);  // an earlier port of this process may have cleared the bit of this ring
    }
}

bool RingsPort::send(std::uint32_t receiver,
                     const MessageHead& head,
                     std::span<const char> payload) {
    char* const to = ring(receiver, slot_);
    const std::uint64_t position = produced_[receiver];
    Cell& next = cell(to, position);
    if (!next.is_free() && next.await()) {
        return false;
    }
    next.fill(head, payload, area(to, position));
    produced_[receiver] = position + 1;
    // relaxed: only the next port of this process reads it
    control(receiver, slot_).produced.store(position + 1, std::memory_order_relaxed);
    // seq_cst: partner is is_full(), which then sees the cell; the exchange also precedes this
    // sender's load of the receiver's bells
    next.state.exchange(is_filled, std::memory_order_seq_cst);
    if (find_ == Find::by_bitmap) {
        // the result is not needed: no thread sleeps on the bitmap itself
        (void)segment_.slot(receiver).rung.set(slot_);
    }
    knock(receiver);
    return true;
}

bool RingsPort::has_room(std::uint32_t receiver) const {
    return cell(ring(receiver, slot_), produced_[receiver]).is_free();
}

bool RingsPort::is_full(std::uint32_t sender) const noexcept {
    char* const from = ring(slot_, sender);
    // relaxed: a hint for another thread; the driver reads its own store
    const std::uint64_t position = control(slot_, sender).consumed.load(std::memory_order_relaxed);
    return !cell(from, position).is_free();
}

std::uint32_t RingsPort::drain(std::uint32_t sender,
                               const Handler& handler,
                               std::uint32_t max_messages) {
    char* const from = ring(slot_, sender);
    const std::uint32_t bound = std::min(max_messages, node::ring_cells);

    // Returns a cell to its sender after the handler has had its message. Never copied.
    struct Handed {  // NOLINT(cppcoreguidelines-special-member-functions)
        const RingsPort& port;
        Cell& cell;
        std::uint32_t sender;

        ~Handed() {
            if (cell.release()) port.knock(sender);
        }
    };

    std::uint32_t handled = 0;
    MessageHead head;
    while (handled < bound) {
        const std::uint64_t position = consumed_[sender];
        Cell& next = cell(from, position);
        // acquire: partner is the exchange in send()
        if (next.state.load(std::memory_order_acquire) == Cell::free) {
            break;
        }
        const std::span<const char> payload = next.read(head, area(from, position));
        const Handed handed{*this, next, sender};
        consumed_[sender] = position + 1;
        // relaxed: see is_full()
        control(slot_, sender).consumed.store(position + 1, std::memory_order_relaxed);
        handler(sender, head, payload);
        ++handled;
    }
    return handled;
}

std::uint32_t RingsPort::receive_by_polling(const Handler& handler, std::uint32_t max_messages) {
    std::uint32_t handled = 0;
    std::uint32_t sender = next_sender_;
    for (std::uint32_t looked = 0; looked < slots_ && handled < max_messages; ++looked) {
        handled += drain(sender, handler, max_messages - handled);
        sender = sender + 1 == slots_ ? 0 : sender + 1;
    }
    next_sender_ = sender;
    return handled;
}

void RingsPort::keep(std::uint32_t sender) noexcept {
    kept_[sender / 64] |= std::uint64_t{1} << (sender % 64);
    // relaxed, here and below: other threads read it as a hint in has_mail(); only the driver
    // writes it
    kept_words_.store(kept_words_.load(std::memory_order_relaxed) | 1U << (sender / 64),
                      std::memory_order_relaxed);
}

std::uint32_t RingsPort::receive_by_bitmap(const Handler& handler, std::uint32_t max_messages) {
    sync::DoorbellBitmap<>& rung = segment_.slot(slot_).rung;
    if (!rung.is_silent()) {
        (void)rung.take_all([this](std::uint32_t sender) { keep(sender); });
    }
    if (kept_words_.load(std::memory_order_relaxed) == 0) return 0;
    // One round over all senders, from where the last round ended: the first word's upper bits, the
    // other words, its lower bits.
    const std::uint32_t start = next_sender_;
    const std::uint64_t upper = ~std::uint64_t{0} << (start % 64);
    std::uint32_t handled = 0;
    for (std::uint32_t step = 0; step <= sync::doorbell_words && handled < max_messages; ++step) {
        const std::uint32_t word = (start / 64 + step) % sync::doorbell_words;
        const std::uint64_t mask = step == 0                      ? upper
                                   : step == sync::doorbell_words ? ~upper
                                                                  : ~0ULL;
        handled += drain_kept(word, mask, handler, max_messages - handled);
    }
    return handled;
}

std::uint32_t RingsPort::drain_kept(std::uint32_t word,
                                    std::uint64_t mask,
                                    const Handler& handler,
                                    std::uint32_t max_messages) {
    std::uint32_t handled = 0;
    for (std::uint64_t bits = kept_[word] & mask; bits != 0 && handled < max_messages;
         bits &= bits - 1) {
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits));
        const std::uint32_t sender = word * 64 + bit;
        const std::uint32_t bound = std::min(max_messages - handled, node::ring_cells);
        const std::uint32_t taken = drain(sender, handler, bound);
        handled += taken;
        next_sender_ = sender + 1 == slots_ ? 0 : sender + 1;
        // the ring was found empty after its bit was taken: a later message sets the bit again
        if (taken < bound) {
            kept_[word] &= ~(std::uint64_t{1} << bit);
        }
    }
    if (kept_[word] == 0) {
        kept_words_.store(kept_words_.load(std::memory_order_relaxed) & ~(1U << word),
                          std::memory_order_relaxed);
    }
    return handled;
}

std::uint32_t RingsPort::receive(const Handler& handler, std::uint32_t max_messages) {
    return find_ == Find::by_polling ? receive_by_polling(handler, max_messages)
                                     : receive_by_bitmap(handler, max_messages);
}

bool RingsPort::has_mail() const {
    if (find_ == Find::by_bitmap) {
        return kept_words_.load(std::memory_order_relaxed) != 0 ||
               !segment_.slot(slot_).rung.is_silent();
    }
    for (std::uint32_t sender = 0; sender < slots_; ++sender) {
        if (is_full(sender)) return true;
    }
    return false;
}

void RingsPort::forget(std::uint32_t dead_slot) {
    char* const to = ring(dead_slot, slot_);
    for (std::uint32_t i = 0; i < node::ring_cells; ++i) {
        // relaxed: the receiver is dead and reads it no more
        cell(to, i).state.store(Cell::free, std::memory_order_relaxed);
    }
}

}  // namespace acp::mailbox
