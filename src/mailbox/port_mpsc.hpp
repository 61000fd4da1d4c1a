// SPDX-License-Identifier: BSD-3-Clause
// The mpsc port: every process has one inbox, and a pool of cells in its own mailbox area from
// which it sends. A cell travels as an index: the sender fills it and pushes it onto the receiver's
// inbox; the receiver handles it and returns it by a store into the cell. So no sender waits for
// another one: a killed sender leaves whole messages or none, and a stopped receiver keeps at most
// cells_to_one_max cells of each sender. Memory grows with n. Threads: see mailbox/port.hpp.
// Tests: tests/unit/mailbox/port_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "mailbox/cell.hpp"
#include "mailbox/port_shared.hpp"

namespace acp::mailbox {

inline constexpr std::uint32_t cells_to_one_max = 8;

class MpscPort final : public SharedPort {
public:
    //   segment  must outlive this
    MpscPort(const node::Segment& segment, std::uint32_t slot);

    // The destructor drops mail that was not handled.
    MpscPort(const MpscPort&) = delete;
    MpscPort& operator=(const MpscPort&) = delete;
    ~MpscPort() override;

    bool send(std::uint32_t receiver,
              const MessageHead& head,
              std::span<const char> payload) override;
    [[nodiscard]] bool has_room(std::uint32_t receiver) const override;
    std::uint32_t receive(const Handler& handler, std::uint32_t max_messages) override;
    [[nodiscard]] bool has_mail() const override;
    void forget(std::uint32_t dead_slot) override;

private:
    // The own cells that were sent to one receiver and are not free yet, oldest first.
    struct Flight {
        std::array<std::uint8_t, cells_to_one_max> cells{};
        std::uint8_t first = 0;
        std::uint8_t count = 0;

        [[nodiscard]] std::uint32_t oldest() const noexcept { return cells[first]; }

        void push(std::uint32_t cell) noexcept {
            cells[(first + count) % cells_to_one_max] = static_cast<std::uint8_t>(cell);
            ++count;
        }

        void pop() noexcept {
            first = (first + 1) % cells_to_one_max;
            --count;
        }
    };

    // The cell with the index that travels: slot * pool_cells + number + 1.
    [[nodiscard]] Cell& cell(std::uint32_t index) const noexcept {
        return pool(sender_of(index))[(index - 1) % node::pool_cells];
    }

    [[nodiscard]] static std::uint32_t sender_of(std::uint32_t index) noexcept {
        return (index - 1) / node::pool_cells;
    }

    [[nodiscard]] char* area(std::uint32_t index) const noexcept {
        return mailboxes_ + sender_of(index) * mailbox_stride_ + node::pool_cells * sizeof(Cell) +
               (index - 1) % node::pool_cells * payload_stride_;
    }

    [[nodiscard]] Cell* pool(std::uint32_t slot) const noexcept {
        return reinterpret_cast<Cell*>(mailboxes_ + slot * mailbox_stride_);
    }

    void reclaim_from(Flight& flight) noexcept;
    void reclaim_from_all() noexcept;
    [[nodiscard]] bool find_cell(Flight& flight) noexcept;
    void take_mail() noexcept;

    char* const mailboxes_;
    const std::uint64_t mailbox_stride_;
    const std::uint64_t payload_stride_;
    sync::Inbox<>& inbox_;
    std::uint32_t free_ = ~0U;                               // own free cells, a bit each
    std::array<std::uint16_t, node::pool_cells> sent_to_{};  // receivers of the busy cells
    std::vector<Flight> flights_;                            // indexed by receiver
    // index of the oldest message taken from the inbox and not handled, 0 = none; writer: the
    // driver
    std::atomic<std::uint32_t> kept_{0};
};

}  // namespace acp::mailbox
