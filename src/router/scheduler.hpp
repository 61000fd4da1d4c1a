// SPDX-License-Identifier: BSD-3-Clause
// Continues waiting work: when it has its turn at a node that has room (ORD-50), when placement may
// have room for a refused access, and when placement has settled an accepted one. One thread.
// Tests: tests/unit/router/room_test.cpp.
#pragma once

#include <cstdint>

#include "router/activity.hpp"
#include "router/backlog.hpp"
#include "router/executor.hpp"
#include "router/nodes.hpp"
#include "router/outbox.hpp"
#include "router/own_commands.hpp"
#include "router/placer.hpp"
#include "router/requests.hpp"

namespace acp::router {

inline constexpr std::uint32_t pieces_per_poll_max = 64;  // steps of work for one node in one poll

class Scheduler {
public:
    Scheduler(OwnCommands& own,
              Operations& operations,
              Backlog& backlog,
              Outbox& outbox,
              Requests& requests,
              Executor& executor,
              Placer& placer,
              Activity& activity);

    // Gives each ready node its turn once: short frames first, then up to pieces_per_poll_max steps
    // of work.
    void send_all();

    // Tries parked work again, if it is time.
    void retry_waiting();

    // Call when an access that placement accepted has settled.
    //   value  the old value of an atomic
    void on_settled(Ticket ticket, base::Code code, std::uint64_t value);

private:
    void send(RouterPeer& to);
    [[nodiscard]] StepOutcome step(std::uint32_t index, RouterPeer& to);
    [[nodiscard]] bool ask_again(std::uint32_t index);

    OwnCommands& own_;
    Operations& operations_;
    Backlog& backlog_;
    Outbox& outbox_;
    Requests& requests_;
    Executor& executor_;
    Placer& placer_;
    Activity& activity_;
};

}  // namespace acp::router
