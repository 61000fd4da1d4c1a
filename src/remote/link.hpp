// SPDX-License-Identifier: BSD-3-Clause
// How global memory access hands commands with an end on another node to the gateway of its own node, and hears
// how they ended. Two kinds: RingLink (rings in the node segment, the gateway is a thread of the agent) and the
// gateway's own OwnGateway (the gateway lives in this process, when the rank is alone on its node). Knows no
// handle and no order. Calls by the thread that has gma's driver's role, unless said otherwise.
// Tests: tests/unit/remote/link_conformance.hpp, instantiated for each kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "memory/command.hpp"
#include "node/loss.hpp"
#include "node/ring_layout.hpp"
#include "node/wait_policy.hpp"

namespace acp::remote {

// Which address of a command a failure is about.
enum class FailedEnd : std::uint8_t { none, target, source };

// A command that ended, or `count` of them: tokens token, token + 2, ...
struct Ended {
    std::uint64_t token = 0;
    std::uint32_t count = 1;
    base::Code code = base::Code::ok;
    FailedEnd end = FailedEnd::none;
    std::uint32_t process = 0;  // of a failure: whose memory or death
    // Why its node is gone, where the link knows before the node segment does.
    node::NodeFate fate = node::NodeFate::told;
    std::uint32_t result_bytes = 0;  // of an invoke that went well
    const std::byte* result =
        nullptr;  // of it: the link's memory, until the next call of turn() or flush()
};

// A numbered operation to be run by the gateway of a process's node.
struct LinkInvocation {
    std::uint32_t process = 0;             // of another node
    std::uint32_t operation = 0;           // its number
    std::span<const std::byte> arguments;  // at most memory::invoke_bytes_max; copied
};

// Of one process under way at once. An invoke has the place that its token gives it, so that neither end searches: two
// whose tokens differ by a multiple of 2 * invokes_max exclude each other.
inline constexpr std::uint32_t invokes_max = node::invoke_cells;

[[nodiscard]] constexpr std::uint32_t invoke_place(std::uint64_t token) noexcept {
    return static_cast<std::uint32_t>(token / 2 % invokes_max);
}

// Moves ends from one list to the end of another, as many as that has memory for; the others stay, the first of them
// first.
void move_ended(std::vector<Ended>& from, std::vector<Ended>& into) noexcept;

// What users of a link must know of it, to choose ways and to wait. Each link states it; nobody derives it from other
// properties. The same as long as the link lives.
struct LinkTraits {
    // What has ended comes in only while a thread of this process calls turn(): the gateway is in this process. Else the
    // gateway works by itself and rings the bells of the process's door.
    bool is_turned_here = false;
    // The memory of a process on another node is served by that process, not by a gateway beside it.
    bool is_peer_served = false;
    // Of turn(). Dear: a system call.
    node::LookCost look_cost = node::LookCost::cheap;
    // What becomes readable when turn() has something to do; at most 9. The service thread sleeps on them. None unless
    // is_turned_here.
    std::span<const int> wait_fds;
};

class Link {
public:
    Link() = default;
    virtual ~Link() = default;
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    // Hands a command over. false when there is no room now: try again after take_ended() gave some. Never blocks.
    virtual bool submit(std::uint64_t token, const memory::Command& command) = 0;

    // Hands several over, first to last, the numbers being their tokens. How many were taken: for the next there is no
    // room now.
    virtual std::size_t submit_all(std::span<const memory::NumberedCommand> commands) {
        std::size_t taken = 0;
        while (taken < commands.size() &&
               submit(commands[taken].number, *commands[taken].command)) {
            ++taken;
        }
        return taken;
    }

    // Hands an invoke over. false when there is no room now, or when the invoke that has its place has not ended. Never
    // blocks. Its result comes with its end.
    virtual bool invoke(std::uint64_t token, const LinkInvocation& invocation) = 0;

    // After a series of submits and invokes: the gateway looks (it is woken if it sleeps).
    virtual void flush() = 0;

    // Makes progress and appends what has ended: as much as `ended` has room for where there is no memory for more.
    // True when content moved; acknowledgements alone do not count. Never blocks.
    //   ended  with room for one at least
    virtual bool turn(std::vector<Ended>& ended) = 0;

    // Whether turn() would find something. Any thread; one or two loads.
    [[nodiscard]] virtual bool has_news() const noexcept = 0;

    [[nodiscard]] virtual LinkTraits traits() const noexcept = 0;

    // Nanoseconds until turn() must be called again though nothing comes in; < 0: never. Asked only of a link that is
    // turned here. Any thread.
    [[nodiscard]] virtual std::int64_t timeout_ns() const noexcept = 0;

    // Whether this process's commands that ended should ring its service thread: something waits for their end
    // though nobody waits in the library. Any thread; the caller looks at has_news() afterwards.
    virtual void set_service_wanted(bool is_wanted) noexcept = 0;
};

}  // namespace acp::remote
