// SPDX-License-Identifier: BSD-3-Clause
// The message and the mark.
#include "api/fatal.hpp"

#include <exception>
#include <utility>

#include "api/library.hpp"
#include "job/identity.hpp"
#include "node/segment.hpp"
#include "os/log_line.hpp"
#include "os/memory_file.hpp"
#include "os/process.hpp"

namespace acp::api {

namespace {

// The member of the job that this process is; nullptr before acp_init and in a forked child.
const node::Member* own_member() noexcept {
    const Library& instance = library();
    return instance.life.state() != LifeState::forked ? instance.member.get() : nullptr;
}

// Before acp_init the environment names the slot that acprun gave this process. A process that a
// rank has started inherits these variables, but the slot is not its own.
void mark_given_slot(node::OwnEnd end) {
    const auto identity = job::identity_of(os::environment());
    if (!identity.is_ok() || !identity.value().is_launched()) return;
    auto file = os::adopt_memory_file(identity.value().node_file);
    if (!file.is_ok()) return;
    const auto segment = node::Segment::open(std::move(file).value());
    if (!segment.is_ok() || identity.value().slot >= segment.value().shape().local_procs) return;
    node::Slot& slot = segment.value().slot(identity.value().slot);
    const std::uint32_t pid = slot.pid.load(std::memory_order_relaxed);  // 0: not written yet
    if (pid != 0 && pid != static_cast<std::uint32_t>(os::own_pid())) return;
    slot.own_end.store(static_cast<std::uint32_t>(end), std::memory_order_relaxed);
}

void mark(node::OwnEnd end) noexcept {
    const Library& instance = library();
    if (const node::Member* member = own_member(); member != nullptr) {
        // relaxed: read by the agent after the process has ended
        member->slot().own_end.store(static_cast<std::uint32_t>(end), std::memory_order_relaxed);
    } else if (instance.life.state() != LifeState::forked && instance.member == nullptr) {
        try {
            mark_given_slot(end);
        } catch (const std::exception&) {  // no memory: the agent reports a crash
            return;
        }
    }
}

}  // namespace

std::string own_name() {
    const node::Member* member = own_member();
    return (member != nullptr ? "rank " + std::to_string(member->rank())
                              : "process " + std::to_string(os::own_pid())) +
           " on " + os::host_name();
}

base::Status in_call(const char* call, base::Status status) noexcept {
    if (status.is_ok()) return status;
    try {
        return std::move(status).within(std::string(call) + " by " + own_name());
    } catch (const std::bad_alloc&) {  // no memory for the rank and the host
        return std::move(status).within(call);
    }
}

std::string fatal_line(std::string_view message) {
    const std::string name = own_name();
    const bool is_named = message.find("by " + name) != std::string_view::npos;
    return "acp: " + (is_named ? "" : name + ": ") + std::string(message);
}

void end_by_error(const char* message) noexcept {
    constexpr const char* advice =
        "acp: the process ends; ACP_ON_ERROR=return makes this an error that acp_errno() gives";
    try {
        os::print_error("%s\n%s\n", fatal_line(message).c_str(), advice);
    } catch (const std::exception&) {  // no memory for the rank and the host
        os::print_error("acp: %s\n%s\n", message, advice);
    }
    mark(node::OwnEnd::by_error);
    os::end_by_abort();
}

void mark_abort() noexcept {
    mark(node::OwnEnd::by_abort);
}

}  // namespace acp::api
