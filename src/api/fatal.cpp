// SPDX-License-Identifier: BSD-3-Clause
// The words and the mark.
#include "api/fatal.hpp"

#include <cstdio>
#include <exception>

#include "api/library.hpp"
#include "os/process.hpp"

namespace acp::api {

namespace {

// The member of the job that this process is; nullptr before acp_init and in a forked child.
const node::Member* own_member() noexcept {
    const Library& instance = library();
    return instance.life.state() != LifeState::forked ? instance.member.get() : nullptr;
}

void mark(node::OwnEnd end) noexcept {
    if (const node::Member* member = own_member(); member != nullptr) {
        // relaxed: read by the agent after the process has ended
        member->slot().own_end.store(static_cast<std::uint32_t>(end), std::memory_order_relaxed);
    }
}

}  // namespace

std::string fatal_line(std::string_view message) {
    const node::Member* member = own_member();
    const std::string host = " on " + os::host_name();
    const std::string speaker = member != nullptr ? "rank " + std::to_string(member->rank())
                                                  : "process " + std::to_string(os::own_pid());
    const bool is_named = message.find("by " + speaker + host) != std::string_view::npos;
    return "acp: " + (is_named ? "" : speaker + host + ": ") + std::string(message);
}

void end_by_error(const char* message) noexcept {
    constexpr const char* advice =
        "acp: the process ends; ACP_ON_ERROR=return makes this an error that acp_errno() gives";
    try {
        std::fprintf(stderr, "%s\n%s\n", fatal_line(message).c_str(), advice);
    } catch (const std::exception&) {  // no memory for the rank and the host
        std::fprintf(stderr, "acp: %s\n%s\n", message, advice);
    }
    mark(node::OwnEnd::by_error);
    os::end_by_abort();
}

void mark_abort() noexcept {
    mark(node::OwnEnd::by_abort);
}

}  // namespace acp::api
