// SPDX-License-Identifier: BSD-3-Clause
// Carries commands with an end on another node, and operations on memory there: hands them to the
// node's gateway through a remote::Link, ends them when the gateway returns their completion, and
// fails them when the gateway is gone. Calls are made by the driver's thread, unless said
// otherwise. Without a link (a job of one node) every call does nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "gma/ahead_commands.hpp"
#include "gma/commands.hpp"
#include "gma/invokes.hpp"
#include "gma/routes.hpp"
#include "gma/trace.hpp"
#include "local/space.hpp"
#include "node/segment.hpp"
#include "remote/link.hpp"

namespace acp::gma {

class RemoteCarrier {
public:
    // The link, and how this process uses it.
    struct Manner {
        remote::Link* link = nullptr;  // must outlive the carrier; nullptr: a job of one node
        bool is_polled_here = false;   // LinkTraits
        bool is_peer_served = false;   // LinkTraits
        // Waiting threads take in completions; false: always the service thread.
        bool may_program_poll = true;
        Trace* trace = nullptr;  // records each command; nullptr: there is none
    };

    //   all   must outlive this
    //   slot  of this process: counts commands handed over
    // Throws std::bad_alloc.
    RemoteCarrier(Commands& commands,
                  Invokes& invokes,
                  const Routes& routes,
                  const local::Space& space,
                  node::Slot& slot,
                  Manner manner);

    [[nodiscard]] bool has_link() const noexcept { return link_ != nullptr; }

    // Whether collect_ahead() may hand over commands.
    [[nodiscard]] bool has_ahead() const noexcept { return ahead_.has_link(); }

    // Puts a ready command at the end. With the lock of Commands; any thread.
    void append(std::uint64_t number) noexcept {
        note_kind(commands_.queue.command(number).is_invoke());
        commands_.queue.append(collected_, number);
        // seq_cst; partner: Progress::may_service_sleep() after the service thread announced its
        // sleep
        has_work_.store(true, std::memory_order_seq_cst);
    }

    // Appends a command that the next poll may hand over. True: the caller must hand over now,
    // since none is in flight, or collected_max commands wait. With the lock; any thread.
    // is_invoke  whether it is one
    [[nodiscard]] bool collect(std::uint64_t number, bool is_invoke) noexcept {
        note_kind(is_invoke);
        commands_.queue.append(collected_, number);
        is_fed_.store(true, std::memory_order_relaxed);
        return under_way_ == 0 || collected_.count >= collected_max;
    }

    // A command was admitted with this order, which is not satisfied yet. Where it may go ahead, the next
    // poll hands it over. True: the caller must hand over now. With the lock; any thread.
    [[nodiscard]] bool collect_ahead(std::uint64_t number, Handle order) noexcept;

    // Whether collect_ahead() takes no more until the next poll. With the lock; any thread.
    [[nodiscard]] bool is_ahead_full() const noexcept { return ahead_.is_full(); }

    // The caller did not get the driver's role: the next poll hands over the collected commands.
    // Any thread.
    void leave_to_others() noexcept {
        has_work_.store(true, std::memory_order_seq_cst);  // partner: Progress::may_service_sleep()
    }

    // Whether commands wait that must be handed over by the next poll; those that were only
    // collected may wait for more. Any thread.
    [[nodiscard]] bool has_work() const noexcept {
        return has_work_.load(std::memory_order_relaxed);
    }

    // Whether a poll may find something. Any thread.
    [[nodiscard]] bool has_news() const noexcept;

    // Whether the service thread must not sleep. Otherwise completions wait for the next call. Any
    // thread.
    [[nodiscard]] bool has_task() const noexcept;

    // Whether no command is on its way: then no answer can have come.
    [[nodiscard]] bool is_quiet() const noexcept { return under_way_ == 0; }

    // Whether commands were appended or collected since the last hand_over().
    [[nodiscard]] bool has_collected() const noexcept {
        // relaxed: a thread that queues a command sets this under the lock, then polls or wakes a
        // thread: so it may be missed here
        return has_work_.load(std::memory_order_relaxed) || is_fed_.load(std::memory_order_relaxed);
    }

    // Hands over what the link has room for; returns how many commands left the list. With the lock
    // of Commands. When some did, flush() follows without the lock.
    std::uint64_t hand_over();

    void flush() { link_->flush(); }

    // Polls the link. True when something moved. Without the lock.
    //   may_answers_wait  Link::let_answers_wait
    bool poll(bool may_answers_wait);

    // Whether the link has something to do now that no other thread does, such as answers to send.
    [[nodiscard]] bool is_due() const noexcept {
        return link_ != nullptr && manner_.is_polled_here && link_->deadline_ns() == 0;
    }

    [[nodiscard]] bool has_ends() const noexcept { return !ended_.empty(); }

    // Ends the commands whose completions the link has returned; returns the number of completions.
    // With the lock of Commands.
    std::uint32_t end_commands();

    // Sets in the link whether the service thread is to be rung when a command ends: it is when a
    // command waits for that end, or for room. True: completions had arrived before, and the caller
    // wakes a thread. With the lock of Commands; any thread.
    [[nodiscard]] bool update_service_wish() noexcept;

    // Ends all that needs the gateway. With the lock of Commands.
    void on_gateway_death();

    // At the end of the process's use of the link.
    void close() noexcept;

private:
    void note_kind(bool is_invoke) noexcept { has_invokes_ = has_invokes_ || is_invoke; }

    static constexpr std::uint32_t collected_max = 256;  // copies between two polls of the link
    static constexpr std::size_t ended_min = 256;  // ends taken from the link at once, at least
    static constexpr std::size_t handed_at_once_max = 64;

    std::uint64_t hand_collected();
    std::uint64_t hand_ahead();
    [[nodiscard]] std::size_t hand_run(std::span<const memory::NumberedCommand> run);
    std::uint64_t fail_collected();
    void count(std::uint64_t commands, std::uint64_t bytes);
    [[nodiscard]] base::Code take_result(const remote::Ended& ended) noexcept;
    [[gnu::cold]] base::Status failure_of(const Command& command, const remote::Ended& ended) const;
    [[nodiscard]] std::string text_of_end(memory::GlobalAddress address, std::uint64_t bytes) const;
    [[nodiscard]] std::string text_of(const Command& command, const remote::Ended& ended) const;

    Commands& commands_;
    Invokes& invokes_;
    const Routes& routes_;
    const local::Space& space_;
    node::Slot& slot_;
    remote::Link* link_;
    Trace* trace_;
    Manner manner_;
    std::vector<remote::Ended> ended_;  // capacity of at least ended_min if there is a link
    CommandList collected_;
    AheadCommands ahead_;
    bool has_invokes_ = false;           // some of collected_ may be invokes; guarded by the lock
    std::atomic<bool> has_work_{false};  // the next poll must hand collected_ over
    std::atomic<bool> is_fed_{false};    // a poll may hand collected_ over
    std::uint64_t under_way_ = 0;        // commands the link has; written with both locks
    std::atomic<bool> is_service_wanted_{false};  // written with the lock
};

}  // namespace acp::gma
