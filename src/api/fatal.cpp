// SPDX-License-Identifier: BSD-3-Clause
// The words and the mark.
#include "api/fatal.hpp"

#include <cstdio>
#include <exception>

#include "api/library.hpp"
#include "os/process.hpp"

namespace acp::api {

namespace {

// Before acp_init nobody has a slot.
void mark(node::OwnEnd end) noexcept {
    const Library& instance = library();
    if (instance.member == nullptr || instance.life.load(std::memory_order_relaxed) == Life::forked)
        return;
    // relaxed: read by the agent after the process has ended
    instance.member->slot().own_end.store(static_cast<std::uint32_t>(end),
                                          std::memory_order_relaxed);
}

}  // namespace

std::string fatal_line(const base::Status& failure) {
    const std::string message(failure.message());
    if (library().member == nullptr) return "acp: " + message;
    const std::string host = " on " + os::host_name();
    const std::string rank = "rank " + std::to_string(library().member->rank());
    return message.find("by " + rank + host) != std::string::npos
               ? "acp: " + message
               : "acp: " + rank + host + ": " + message;
}

void end_by_error(const base::Status& failure) noexcept {
    try {
        std::fprintf(stderr,
                     "%s\nacp: the process ends; ACP_ON_ERROR=return makes this an error that "
                     "acp_errno() gives\n",
                     fatal_line(failure).c_str());
    } catch (const std::exception& shortage) {  // no memory for the words
        std::fprintf(stderr, "acp: the process ends by an error of ACP (%s)\n", shortage.what());
    }
    mark(node::OwnEnd::by_error);
    os::end_by_abort();
}

void mark_abort() noexcept {
    mark(node::OwnEnd::by_abort);
}

}  // namespace acp::api
