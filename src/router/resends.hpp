// SPDX-License-Identifier: BSD-3-Clause
// Parts of this node's commands that another node refused for lack of room, until they are sent
// again. The pause doubles with each refusal of the command (ORD-40). A command for which there is
// no free record fails. This class decides when a part is due; submitter.hpp sends it. One thread.
// Tests: tests/unit/router/own_commands_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "router/activity.hpp"
#include "router/own_commands.hpp"

namespace acp::router {

inline constexpr Time resend_ns_min = 200'000;      // pause after the first refusal
inline constexpr std::uint32_t resends_min = 4096;  // least number of records
// Each pause is twice as long as the one before: up to 51 ms.
inline constexpr std::uint32_t resend_levels = 9;

class Resends {
public:
    //   commands_max  most outstanding commands of this node's processes
    // Throws std::bad_alloc; later calls allocate nothing.
    Resends(OwnCommands& own, Activity& activity, std::uint32_t commands_max);

    // Adds a part of a copy, or a whole command of another kind, to be sent again.
    void add(std::uint32_t command, std::uint64_t offset, std::uint64_t bytes);

    // Adds the old value of an atomic, to be sent to the target's node again: the atomic itself
    // must not run again.
    void add_value(std::uint32_t command, std::uint64_t value);

    // Calls send(again) for each part that is due. If send() returns false, for lack of room, this
    // part and the later ones stay until the next call.
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
