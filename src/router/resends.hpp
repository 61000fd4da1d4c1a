// SPDX-License-Identifier: BSD-3-Clause
// Parts of this node's commands that another node had no room for, until they are due to be sent again: later and later, by
// how often the command was refused (ORD-40). A command for which there is no record left fails. Says when something is due;
// submitter.hpp sends it. One thread.
// Tests: tests/unit/router/own_commands_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "router/activity.hpp"
#include "router/own_commands.hpp"

namespace acp::router {

inline constexpr Time resend_ns_min = 200'000;      // another node had no room
inline constexpr std::uint32_t resends_min = 4096;  // ranges kept to be sent again
inline constexpr std::uint32_t resend_levels = 9;   // each waits twice as long: up to 51 ms

class Resends {
public:
    //   commands_max  of this node's processes. Throws std::bad_alloc; later calls take no memory
    Resends(OwnCommands& own, Activity& activity, std::uint32_t commands_max);

    // A part of a copy, or a whole command that is none, is to be sent again.
    void add(std::uint32_t command, std::uint64_t offset, std::uint64_t bytes);

    // The old value of an atomic is to be sent to the target's node again: the atomic must not run again.
    void add_value(std::uint32_t command, std::uint64_t value);

    // Calls send(again) for all that are due. It returns false when there is no room: the others stay until the next call.
    template <typename Send>
    void send_due(Send send) {
        for (Queue& queue : queues_) {
            while (!queue.is_empty() && resends_[queue.head].due <= activity_.now()) {
                if (!send(resends_[queue.head])) return;
                activity_.note_move();
                resends_.give(queue.pop(resends_));
            }
        }
    }

    // When the first one is due; datagram::never: there is none.
    [[nodiscard]] Time deadline() const noexcept;

    [[nodiscard]] std::uint32_t used() const noexcept { return resends_.used(); }

private:
    [[nodiscard]] static std::uint32_t level_of(const Outstanding& record) noexcept;
    [[nodiscard]] Resend* take(std::uint32_t command);

    OwnCommands& own_;
    Activity& activity_;
    Pool<Resend> resends_;
    std::array<Queue, resend_levels> queues_;
};

}  // namespace acp::router
