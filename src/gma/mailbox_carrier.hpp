// SPDX-License-Identifier: BSD-3-Clause
// Carries commands that another process of the node must run, because it alone reaches the memory:
// hands them to mailbox::Forwarder, which sends them by this process's mailbox, and ends them when
// it reports completion. Calls by the thread that holds the driver's role, unless said otherwise.
#pragma once

#include <atomic>
#include <cstdint>

#include "gma/commands.hpp"
#include "local/space.hpp"
#include "mailbox/forwarder.hpp"
#include "mailbox/port.hpp"

namespace acp::gma {

class MailboxCarrier {
public:
    //   all  must outlive this
    MailboxCarrier(Commands& commands,
                   const local::Space& space,
                   mailbox::Port& port,
                   mailbox::Forwarder& forwarder) noexcept
        : commands_(commands), space_(space), port_(port), forwarder_(forwarder) {}

    // Puts a ready command at the end. With the lock of Commands; any thread.
    void append(std::uint64_t number) noexcept {
        commands_.queue.append(queued_, number);
        has_work_.store(true, std::memory_order_relaxed);
        // seq_cst; partner: Progress::may_service_sleep() after the service thread announced its
        // sleep
        count_.fetch_add(1, std::memory_order_seq_cst);
    }

    // How many were appended and not yet handed over. Any thread.
    [[nodiscard]] std::uint64_t count(std::memory_order order) const noexcept {
        return count_.load(order);
    }

    // Whether commands or messages wait here, with room or without. Any thread; relaxed: the
    // storing thread sees it, and others see appended commands in count().
    [[nodiscard]] bool has_work() const noexcept {
        return has_work_.load(std::memory_order_relaxed);
    }

    // Whether mail has come. Any thread.
    [[nodiscard]] bool has_mail() const { return port_.has_mail(); }

    // Whether what waits here has found room, so that a poll would do something.
    [[nodiscard]] bool can_go_on() const noexcept { return forwarder_.has_work(); }

    // Hands over the appended commands; returns how many. With the lock of Commands.
    std::uint32_t hand_over();

    // One round of the mail. Returns the number of things done. Without the lock.
    std::uint32_t poll();

    [[nodiscard]] bool has_ends() noexcept { return !forwarder_.ended().empty(); }

    // Ends the commands that the others have run; returns how many. With the lock of Commands.
    std::uint32_t end_commands();

    // Makes the next poll check everything again.
    void look_again() noexcept { has_work_.store(true, std::memory_order_relaxed); }

    void on_death(std::uint32_t slot);

private:
    [[gnu::cold]] base::Status failure_of(const Command& command,
                                          const mailbox::ForwardedEnd& ended) const;
    [[gnu::cold]] base::Status no_memory(const Command& command) const;

    Commands& commands_;
    const local::Space& space_;
    mailbox::Port& port_;
    mailbox::Forwarder& forwarder_;
    CommandList queued_;
    std::atomic<std::uint64_t> count_{0};  // length of queued_; written with the lock
    std::atomic<bool> has_work_{false};
};

}  // namespace acp::gma
