// SPDX-License-Identifier: BSD-3-Clause
// Begins commands of this node's processes: a command whose source is on this node is begun here;
// for others a request goes to the node of the source. Also sends again the parts that another node
// refused. One thread.
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

    // Begins commands of one process, in order, as many as there is room for. Returns how many.
    std::size_t submit(std::uint32_t initiator, CommandRun run);

    // Begins an invoke. Returns false if there is no room; nothing was done then.
    bool invoke(const InvokeRequest& call, Bytes arguments);

    // Sends the refused parts again that are due.
    void resend_due();

private:
    [[nodiscard]] std::size_t begin_short_puts(std::uint32_t initiator, CommandRun run);
    [[nodiscard]] std::size_t fill_datagram(RouterPeer& to,
                                            std::uint32_t initiator,
                                            CommandRun run);
    [[nodiscard]] CommandRun of_one_rail(CommandRun run) const noexcept;
    void fill_in(Outstanding& record,
                 std::uint32_t initiator,
                 const memory::NumberedCommand& one) const noexcept;
    [[nodiscard]] bool begin(std::uint32_t index);
    [[nodiscard]] bool begin_part(const Outstanding& record,
                                  std::uint64_t offset,
                                  std::uint64_t bytes);
    [[nodiscard]] bool begin_whole(std::uint32_t index);
    [[nodiscard]] bool resend(const Resend& again);
    [[nodiscard]] bool is_lost(const Outstanding& command, CommandFailure& failure);

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
