// SPDX-License-Identifier: BSD-3-Clause
// The interface by which global memory access submits commands with an address on another node to
// the gateway of its own node, and polls for their completions. There are two kinds: RingLink
// (rings in the node segment; the gateway is a thread of the agent), and gateway::OwnGateway (the
// gateway runs in this process, whose rank is alone on its node). Knows no handle and no order. One
// thread at a time calls a link: in gma that is the driver. has_news() and deadline_ns() may be
// called by any thread beside it, and set_service_wanted() too, by one thread at a time. No call
// blocks. If an allocation fails, a call does the part that needs no memory, and deadline_ns() is
// in the past until the rest is done.
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

using memory::BlamedAddress;

// The completion of a command, or of `count` commands with the tokens token, token + 2, ...:
// several only if all succeeded and none is an invoke.
struct Ended {
    std::uint64_t token = 0;
    std::uint32_t count = 1;
    base::Code code = base::Code::ok;
    BlamedAddress blamed = BlamedAddress::none;
    std::uint32_t process = 0;  // failure: the process whose memory or death caused it
    // Why the node of that process is lost, if the link knows the reason before the node segment
    // has it. If its fate is `told`, the link knows no reason, but node/loss.hpp may.
    node::NodeLoss loss = {};
    std::uint32_t place = 0;         // successful invoke: LinkInvocation::place
    std::uint32_t result_bytes = 0;  // successful invoke: length of its result
    // successful invoke: its result, in memory of the link, valid until the next call of poll() or
    // flush(); nullptr: no bytes
    const std::byte* result = nullptr;
};

// A numbered operation that the gateway of the process's node is to run.
struct LinkInvocation {
    // the process on whose memory it runs; it is on another node
    std::uint32_t process = 0;
    std::uint32_t operation = 0;  // its number
    // no more than memory::invoke_bytes_max; they lie at Link::arguments_at(place)
    std::uint32_t argument_bytes = 0;
    std::uint32_t place = 0;  // below invokes_max; no other invoke in flight has it
    // The copies that it runs after (memory::NumberedCommand), if the link keeps the order.
    std::uint64_t before = 0;
    std::uint32_t before_count = 0;
};

// The most invokes of one process that may be in flight at once. The caller chooses a place for
// each, which both sides use: so neither side searches, and an invoke that does not complete delays
// no other.
inline constexpr std::uint32_t invokes_max = node::invoke_cells;

// Moves completions from one list to the end of another, as many as there is memory for; the rest
// stays, in order.
void move_ended(std::vector<Ended>& from, std::vector<Ended>& into) noexcept;

// The properties of a link by which its users choose a path and a way to wait. Constant as long as
// the link lives.
struct LinkTraits {
    // True: the gateway runs in this process, and completions arrive only while a thread of this
    // process calls poll(). False: the gateway has its own thread and rings the bells of the
    // process's door.
    bool is_polled_here = false;
    // True: every rank of this job is its node's gateway, so each process of another node serves
    // its memory itself, private memory included. False: a gateway in the agent does.
    bool is_peer_served = false;
    // Cost of one poll(). Dear: it makes a system call.
    node::LookCost look_cost = node::LookCost::cheap;
    // Descriptors that become readable when poll() has something to do: an event, and the sockets
    // of the gateway. The service thread sleeps on them. Empty unless is_polled_here.
    std::span<const int> wait_fds;
};

class Link {
public:
    Link() = default;
    virtual ~Link() = default;
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    // Submits a command, which is copied. It is not ordered with other commands in flight. False:
    // there is no room now, and nothing was done; try again after the next poll().
    //   token  even; no command or invoke in flight has it
    virtual bool submit(std::uint64_t token, const memory::Command& command) = 0;

    // submit() of several commands, first to last; their numbers are their tokens. Returns how many
    // were taken: there is no room for the next one now. A command that is ordered after others
    // (NumberedCommand::before) is taken only by a link that keeps the order, which a link may do
    // where is_polled_here and is_peer_served.
    virtual std::size_t submit_all(std::span<const memory::NumberedCommand> commands) {
        std::size_t taken = 0;
        while (taken < commands.size() && commands[taken].before_count == 0 &&
               submit(commands[taken].number, *commands[taken].command)) {
            ++taken;
        }
        return taken;
    }

    // Where the arguments of the invoke with a place lie: memory::invoke_bytes_max bytes of the
    // link. The caller writes them before invoke(), and leaves them until the completion.
    [[nodiscard]] virtual std::byte* arguments_at(std::uint32_t place) noexcept = 0;

    // Submits an invoke, as submit() a command, or as submit_all() an ordered one. Its completion carries
    // the result.
    virtual bool invoke(std::uint64_t token, const LinkInvocation& invocation) = 0;

    // Call after a series of submits and invokes: publishes them to the gateway, and wakes it if it
    // sleeps.
    virtual void flush() = 0;

    // Makes progress and appends the completions that have arrived; without memory for more, as
    // many as `ended` has room for. True if it appended one, or if data moved; acknowledgements
    // alone do not count. False: `ended` is unchanged.
    //   ended  must have room for at least one completion
    virtual bool poll(std::vector<Ended>& ended) = 0;

    // Lets answers to what the next poll() receives wait for the call of poll() or flush() after it;
    // until then deadline_ns() is past. For a caller that either polls again at once or, when what it
    // awaited has come, soon submits commands, which then travel in the same datagrams.
    virtual void let_answers_wait() noexcept {}

    // Whether poll() would append a completion; one or two loads. Unless is_polled_here the first
    // one is seq_cst: a thread that announced its sleep before this call either sees a completion
    // here or is woken for it.
    [[nodiscard]] virtual bool has_news() const noexcept = 0;

    [[nodiscard]] virtual LinkTraits traits() const noexcept = 0;

    // When poll() must be called again even if nothing arrives, as a time of the monotonic clock,
    // which may be past; ~0: no such time. Only for a link with is_polled_here.
    [[nodiscard]] virtual std::uint64_t deadline_ns() const noexcept = 0;

    // Sets whether the gateway, on a completion, wakes this process's service thread while no
    // thread waits in the library: true if queued work waits for a completion. A completion may
    // have arrived before, so the caller calls has_news() afterwards.
    virtual void set_service_wanted(bool is_wanted) noexcept = 0;
};

}  // namespace acp::remote
