// SPDX-License-Identifier: BSD-3-Clause
// The pairs and bitmap ports: a ring of cells per ordered pair of processes, in the receiver's
// mailbox area. A cell's state word shows whether it is full, so polling and reading a message
// touch the same cache line. The two differ in how a receiver finds the rings with messages: pairs
// loads the state of the next cell of every ring, bitmap has a bit per sender. Memory grows with
// n(n-1). A killed sender leaves whole messages or none; if a receiver is stopped, only its own
// rings fill up. Threads: see mailbox/port.hpp.
// Tests: tests/unit/mailbox/port_test.cpp. Source: paper 000 (pairs).
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "mailbox/cell.hpp"
#include "mailbox/port_shared.hpp"

namespace acp::mailbox {

// At the start of a ring: the number of cells that each end has passed, for the next port of the
// same process and for has_mail().
struct RingControl {
    alignas(64) node::SharedU64 produced;  // writer: the sender
    alignas(64) node::SharedU64 consumed;  // writer: the receiver
};

static_assert(sizeof(RingControl) == node::ring_control_bytes);

class RingsPort final : public SharedPort {
public:
    enum class Find { by_polling, by_bitmap };

    //   segment  must outlive this
    RingsPort(const node::Segment& segment, std::uint32_t slot, Find find);

    bool send(std::uint32_t receiver,
              const MessageHead& head,
              std::span<const char> payload) override;
    [[nodiscard]] bool has_room(std::uint32_t receiver) const override;
    std::uint32_t receive(const Handler& handler, std::uint32_t max_messages) override;
    [[nodiscard]] bool has_mail() const override;
    void forget(std::uint32_t dead_slot) override;

private:
    [[nodiscard]] char* ring(std::uint32_t receiver, std::uint32_t sender) const noexcept {
        return mailboxes_ + receiver * mailbox_stride_ + sender * ring_stride_;
    }

    [[nodiscard]] RingControl& control(std::uint32_t receiver,
                                       std::uint32_t sender) const noexcept {
        return *reinterpret_cast<RingControl*>(ring(receiver, sender));
    }

    [[nodiscard]] static Cell& cell(char* ring, std::uint64_t position) noexcept {
        return reinterpret_cast<Cell*>(ring + sizeof(RingControl))[position % node::ring_cells];
    }

    [[nodiscard]] char* area(char* ring, std::uint64_t position) const noexcept {
        return ring + sizeof(RingControl) + node::ring_cells * sizeof(Cell) +
               position % node::ring_cells * payload_stride_;
    }

    [[nodiscard]] bool is_full(std::uint32_t sender) const noexcept;
    std::uint32_t drain(std::uint32_t sender, const Handler& handler, std::uint32_t max_messages);
    std::uint32_t receive_by_polling(const Handler& handler, std::uint32_t max_messages);
    std::uint32_t receive_by_bitmap(const Handler& handler, std::uint32_t max_messages);
    std::uint32_t drain_kept(std::uint32_t word,
                             std::uint64_t mask,
                             const Handler& handler,
                             std::uint32_t max_messages);
    void keep(std::uint32_t sender) noexcept;

    const Find find_;
    char* const mailboxes_;
    const std::uint64_t mailbox_stride_;
    const std::uint64_t ring_stride_;
    const std::uint64_t payload_stride_;
    std::vector<std::uint64_t> produced_;  // cells sent, by receiver
    std::vector<std::uint64_t> consumed_;  // cells handled, by sender
    std::uint32_t next_sender_ = 0;        // where the next round begins
    // bitmap: rings whose bit was taken and that may still hold messages; writer: the driver
    std::array<std::uint64_t, sync::doorbell_words> kept_{};
    std::atomic<std::uint32_t> kept_words_{0};  // which words of kept_ are not zero
};

}  // namespace acp::mailbox
