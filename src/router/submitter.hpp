// SPDX-License-Identifier: BSD-3-Clause
// Commands of processes of this node begin: what can be done from here is begun at once (a put, or a command whose source is
// here), the rest is asked of the node that holds the source. What another node had no room for begins again. One thread.
// Tests: tests/unit/router/router_test.cpp, room_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "router/activity.hpp"
#include "router/executor.hpp"
#include "router/nodes.hpp"
#include "router/outbox.hpp"
#include "router/own_commands.hpp"
#include "router/placement.hpp"
#include "router/requests.hpp"
#include "router/resends.hpp"

namespace acp::router {

// A numbered operation to be run on the node of a process.
struct InvokeRequest {
    std::uint64_t token = 0;
    std::uint32_t initiator = 0;
    std::uint32_t operation = 0;
    std::uint32_t process = 0;
};

class Submitter {
public:
    using CommandRun = std::span<const memory::NumberedCommand>;

    Submitter(Nodes& nodes,
              OwnCommands& own,
              Resends& resends,
              Requests& requests,
              Executor& executor,
              Outbox& outbox,
              Placement& placement,
              Activity& activity);

    // Begins commands of one process, first to last, as many as there is room for; returns how many.
    std::size_t submit(std::uint32_t initiator, CommandRun run);

    // Begins an invoke. false: no room, nothing done.
    bool invoke(const InvokeRequest& call, Bytes arguments);

    // Begins again what was refused and is due.
    void resend_due();

private:
    [[nodiscard]] std::size_t begin_short_puts(std::uint32_t initiator, CommandRun run);
    [[nodiscard]] std::size_t fill_datagram(RouterPeer& to,
                                            std::uint32_t initiator,
                                            CommandRun run);
    void fill_in(Outstanding& record,
                 std::uint32_t initiator,
                 const memory::NumberedCommand& one) const noexcept;
    [[nodiscard]] bool begin(std::uint32_t index);
    [[nodiscard]] bool begin_part(const Outstanding& record,
                                  std::uint64_t offset,
                                  std::uint64_t bytes);
    [[nodiscard]] bool resend(const Resend& again);
    [[nodiscard]] bool is_lost(const Outstanding& command, CommandFailure& failure);
    [[nodiscard]] bool fits(const Outstanding& call);

    Nodes& nodes_;
    OwnCommands& own_;
    Resends& resends_;
    Requests& requests_;
    Executor& executor_;
    Outbox& outbox_;
    Placement& placement_;
    Activity& activity_;
};

}  // namespace acp::router
