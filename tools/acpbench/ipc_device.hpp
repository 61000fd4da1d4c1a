// SPDX-License-Identifier: BSD-3-Clause
// An end of an exchange in the process of a device (ipc_end/). Knows only the public interface of
// the library. The rank's main thread.
#pragma once

#include <cstdint>
#include <vector>

#include <acp.h>
#include <acp/offload.h>

#include "ipc_end/ipc_end.hpp"

namespace acp::bench {

// A device process with the library of the ends, and one context.
class IpcDevice {
public:
    // Ends the process of the bench, with a sentence, if it cannot be started.
    IpcDevice();
    IpcDevice(const IpcDevice&) = delete;
    IpcDevice& operator=(const IpcDevice&) = delete;
    ~IpcDevice();

    // Begins an end.   board  ACP_GA_NULL: none
    void begin(const IpcExchange& exchange, acp_ga_t board);

    // Whether it has ended; then end() returns at once.
    [[nodiscard]] bool has_ended();

    // Waits for it. Returns what it returned.   times_ns  of a client's rounds; else empty
    int end(std::vector<std::uint64_t>& times_ns);

private:
    acp_process_t process_;
    acp_context_t context_;
    acp_args_t args_;
    std::uint64_t function_ = 0;
    IpcExchange exchange_;
    std::vector<std::uint64_t> times_ns_;
    std::uint64_t result_ = 0;
    // no command: completing a copy would wait for an earlier call
    std::int64_t call_ = 0;
    int outcome_ = ACP_NONE;
};

}  // namespace acp::bench
