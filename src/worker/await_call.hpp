// SPDX-License-Identifier: BSD-3-Clause
// Waits for the next call of a ring: polls, then sleeps on the ring's bell. The ring's server.
#pragma once

#include <atomic>
#include <optional>

#include "base/fence.hpp"
#include "os/futex.hpp"

#include "call/ring.hpp"

namespace acp::worker {

//   poll  returns whether its argument, a function, became true within the time for polls
template <typename Poll>
[[nodiscard]] call::RingServer<>::Claimed await_call(call::RingServer<>& server, Poll&& poll) {
    std::optional<call::RingServer<>::Claimed> call;
    const auto has_call = [&] {
        call = server.next();
        return call.has_value();
    };
    while (!poll(has_call)) {
        auto& bell = server.head().server_bell;
        const std::uint32_t value = bell.announce();
        // seq_cst: the poll below comes after the announcement; partner: RingClient::post()
        base::fence(std::memory_order_seq_cst);
        if (has_call()) break;
        (void)os::futex_wait(bell.word(), value, -1);
    }
    return *call;
}

}  // namespace acp::worker
