// SPDX-License-Identifier: BSD-3-Clause
// Global memory access of one process: issue, order, route, run, complete. What the inline path could not do
// comes here. A command that is ready is either a job (this process moves the bytes: direct or attach) or is
// forwarded to another process of the node. Jobs are run by threads that wait, else by the service thread,
// which is made with the first command or registration that may need it and sleeps when nothing is to do; so
// every command finishes without any further call. A command with an end on another node is handed to the node's
// gateway through a remote::Link. One Gma per epoch; calls by any thread unless said otherwise.
// Split by event: gma_issue, gma_attach, gma_run, gma_remote, gma_own_link, gma_wait, gma_service. Tests: tests/unit/gma/gma_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"
#include "gma/command_queue.hpp"
#include "gma/inline_access.hpp"
#include "gma/record_blocks.hpp"
#include "gma/trace.hpp"
#include "local/attach.hpp"
#include "local/forwarder.hpp"
#include "local/hazards.hpp"
#include "local/port.hpp"
#include "local/registry.hpp"
#include "local/space.hpp"
#include "node/awaited.hpp"
#include "node/member.hpp"
#include "os/event.hpp"
#include "os/thread.hpp"
#include "remote/link.hpp"

namespace acp::gma {

using memory::Command;

// "acp_copy", "acp_cas4", ...: the call that a command stands for.
[[nodiscard]] inline std::string_view name_of(const Command& command) noexcept {
    return node::name_of(command.operation, command.width);
}

enum class Route : std::uint8_t { none, direct, attach, forward, remote };

struct Path {
    Route route = Route::none;
    const char* name = "none";     // static text: direct, attach, mailbox, udp, remote, none
    bool must_owner_help = false;  // a thread of the owning process must run
    std::string reason;            // why not a better one; "" when there is none
};

// Bytes and commands by path since the epoch began, for the report.
struct Traffic {
    std::uint64_t direct_commands = 0;
    std::uint64_t direct_bytes = 0;
    std::uint64_t attach_commands = 0;
    std::uint64_t attach_bytes = 0;
    std::uint64_t forwarded_commands = 0;
    std::uint64_t forwarded_bytes = 0;
    std::uint64_t remote_commands = 0;
    std::uint64_t remote_bytes = 0;
};

class Gma {
public:
    // Opens global memory access for a member that took its slot. Publishes what others need; the caller meets
    // all ranks before the first use.
    //   member, hazards, fast  must outlive this
    //   has_own_window         false when several ranks are threads of one process (tests)
    //   link                   to the gateway of the node, in a job of several; must outlive this
    // Errors: config (a forced path that cannot work here), system, memory, limit.
    static base::Result<std::unique_ptr<Gma>> open(node::Member& member,
                                                   local::Hazards& hazards,
                                                   FastPath& fast,
                                                   const base::Config& config,
                                                   bool has_own_window,
                                                   remote::Link* link = nullptr);
    // Nothing may be outstanding, and nobody may use this rank's memory any more.
    ~Gma();
    Gma(const Gma&) = delete;
    Gma& operator=(const Gma&) = delete;

    // After all ranks met: checks that the paths the configuration requires exist. Errors: unsupported, config.
    base::Status check_requirements();

    // Issues a command. Always returns a handle; a bad command gives a failed one.
    [[gnu::always_inline]] Handle issue(const Command& command, Handle order) {
        if (is_gateway_here_ && command.is_copy()) {
            return issue_copy(command.target, command.source, command.bytes, order);
        }
        const Handle handle = is_gateway_here_ ? handle_null : issue_attach(command, order);
        return handle != handle_null ? handle : issue_other(command, order);
    }

    // issue() of a copy.
    [[gnu::always_inline]] Handle issue_copy(GlobalAddress target,
                                             GlobalAddress source,
                                             std::uint64_t bytes,
                                             Handle order) {
        if (is_gateway_here_) {
            const Handle handle = issue_remote(target, source, bytes, order);
            if (handle != handle_null) [[likely]] {
                return handle;
            }
        }
        const Command command{memory::Operation::copy, 0, target, source, bytes, 0, 0};
        const Handle handle = is_gateway_here_ ? handle_null : issue_attach(command, order);
        return handle != handle_null ? handle : issue_other(command, order);
    }

    // Waits until the prefix of a handle has ended. ok, timeout, interrupted, or the first failure of the
    // prefix that was not yet reported.   timeout_ns  0: only look; < 0: for ever
    base::Status wait(Handle handle, std::int64_t timeout_ns, bool is_interruptible);

    // Waits until everything issued has ended; failures count as reported.
    void finish_all();

    // Counts the failures of a handle's prefix as reported.
    void drop_failures(Handle handle);

    // Whether the prefix of a handle has ended. Makes progress once; does not block.
    [[nodiscard]] bool is_complete(Handle handle);

    base::Result<local::Key> register_memory(void* address,
                                             std::uint64_t bytes,
                                             std::uint32_t color);

    [[nodiscard]] local::Registry& registry() noexcept { return *registry_; }

    [[nodiscard]] const local::Space& space() const noexcept { return space_; }

    [[nodiscard]] local::Hazards& hazards() noexcept { return hazards_; }

    [[nodiscard]] Path path(GlobalAddress target, GlobalAddress source);

    // The path between this rank and the private memory of another, whatever is registered now.
    [[nodiscard]] Path private_path(std::uint32_t slot);

    [[nodiscard]] Traffic traffic() const;

    // Turns the link once, for who waits for other nodes elsewhere than here. true when something moved.
    bool help();

    // Who helped is about to sleep: the service thread listens to the link.
    void rest();

private:
    // Who works: a thread that waits (attends), one that only looks or issues, the service thread.
    enum class Driver { waiter, passer_by, service };

    struct Job {
        std::uint64_t number = 0;
        const Command* command = nullptr;  // in the queue, until the number is finished
        Route route = Route::none;
    };

    static constexpr std::uint32_t batch_max = local::attach_batch_max;
    static constexpr std::uint64_t batched_bytes_max = 64ULL * 1024;  // longer ones: own call
    static constexpr std::int64_t nap_ns = 1'000'000;
    static constexpr std::uint32_t collected_max = 256;  // copies between two turns of the link
    static constexpr std::size_t handed_at_once_max = 64;
    // While others turn the link: twice as long each time, for each costs them 10 us of their core.
    static constexpr std::int64_t deaf_nap_min_ns = 250'000;
    static constexpr std::int64_t deaf_nap_max_ns = 1'000'000;
    static constexpr std::uint32_t naps_before_deep_sleep = 16;
    static constexpr std::uint32_t lone_attaches_to_trust = 2;

    Gma(node::Member& member,
        local::Hazards& hazards,
        FastPath& fast,
        const base::Config& config,
        remote::Link* link);
    base::Status open_all(bool has_own_window);

    // gma_issue.cpp
    Handle issue_other(const Command& command, Handle order);
    base::Status check(const Command& command, memory::HazardLine& line, Route& route);
    Route choose(const Command& command, const local::Place& target, const local::Place& source);

    [[nodiscard]] bool is_here(const local::Place& place) const noexcept {
        return place.direct != nullptr && (place.is_own || space_.reach().is_shared_direct);
    }

    [[nodiscard]] bool can_attach(const local::Place& place) noexcept;
    [[nodiscard]] std::string why_forwarded(const local::Place& place) const;
    [[nodiscard]] bool is_satisfied(Handle order);
    Handle queue(const Command& command, Route route, Handle order);
    void wait_for_room(std::uint64_t oldest);
    Handle fail(base::Status failure);
    Route route_of(const Command& command);
    void dispatch(std::uint64_t number, Route route);  // mutex_ held
    void notify();
    [[gnu::cold]] base::Status bad_address(const Command& command,
                                           bool is_target,
                                           base::Code code) const;

    // gma_attach.cpp
    [[nodiscard]] bool find_attach(const Command& command, local::AttachCopy& copy) const noexcept;
    [[nodiscard]] bool is_to_run_at_once(const Command& command,
                                         memory::HazardLine& line) const noexcept;
    static void count_at_once(memory::HazardLine& line, std::uint64_t bytes) noexcept;
    Handle issue_attach(const Command& command, Handle order);
    bool run_alone(std::unique_lock<std::mutex>& lock);

    // gma_run.cpp
    bool drive(Driver driver);
    bool run_jobs();
    bool run_some(std::unique_lock<std::mutex>& lock);
    bool run_batch(std::unique_lock<std::mutex>& lock);
    std::uint32_t take_jobs(std::span<Job> batch);  // mutex_ held
    base::Status run_direct(const Command& command, memory::HazardLine& line);
    void run_attach(std::span<const Job> batch,
                    std::span<base::Status> outcomes,
                    memory::HazardLine& line);
    [[gnu::cold]] base::Status outcome_of(const Command& command, const local::AttachCopy& copy);
    bool end_attached(std::uint64_t number, base::Status outcome);  // mutex_ held
    base::Status run_atomic_remote_result(const Command& command, memory::HazardLine& line);
    bool turn_forwarder(Driver driver);
    bool take_driver();
    bool give_driver();
    std::uint32_t turn_once();  // driver_ held
    void count_attached(std::span<const Job> batch,
                        std::span<const base::Status> outcomes);  // mutex_ held
    bool release();                                               // mutex_ held
    void note_deaths();

    // gma_remote.cpp
    [[nodiscard]] bool is_far(GlobalAddress address, std::uint64_t bytes) const noexcept {
        return link_ != nullptr && space_.is_elsewhere(address, bytes);
    }

    [[nodiscard]] bool is_far(const Command& command) const noexcept {
        return is_far(command.target, command.bytes) || is_far(command.source, command.bytes);
    }

    [[nodiscard]] bool has_link_news() const noexcept;
    [[nodiscard]] bool has_link_task() const noexcept;
    std::uint32_t turn_link();       // driver_ held
    std::uint32_t hand_to_link();    // driver_ held
    std::uint64_t hand_collected();  // driver_ and mutex_ held
    std::uint64_t fail_collected();  // mutex_ held
    std::uint32_t take_link_ends();  // driver_ held
    void want_service();             // mutex_ held
    void on_gateway_death();         // driver_ held
    [[nodiscard]] bool is_gateway_dead() const noexcept;
    [[gnu::cold]] base::Status no_gateway(const Command& command) const;
    [[gnu::cold]] base::Status remote_failure(const Command& command,
                                              const remote::Ended& ended) const;
    [[nodiscard]] std::string where_is(GlobalAddress address) const;
    void count_remote(std::uint64_t commands, std::uint64_t bytes);  // mutex_ held

    // gma_own_link.cpp
    Handle issue_remote(GlobalAddress target,
                        GlobalAddress source,
                        std::uint64_t bytes,
                        Handle order);
    void send_collected();
    [[nodiscard]] bool is_link_turned() const noexcept;
    [[nodiscard]] bool is_link_attended();
    void note_link_turn(bool has_moved);  // driver_ held
    void wake_service();
    void sleep_service(std::int64_t timeout_ns);

    // gma_service.cpp
    base::Status ensure_service();
    void serve();
    void stop_service();
    [[nodiscard]] bool is_idle();
    [[nodiscard]] bool can_forward();
    void hand_over();
    void tell_waiters(Driver driver);

    // gma_wait.cpp
    base::Status wait_announced(std::uint64_t number,
                                std::int64_t timeout_ns,
                                bool is_interruptible);
    base::Status take_failure(std::uint64_t number);  // mutex_ held
    bool drive_until(std::uint64_t number);
    void say_what_is_awaited(std::uint64_t number, std::uint64_t waited_ns);
    void tell_what_is_awaited(node::AwaitedEntry& entry,
                              node::AwaitedCall call,
                              std::uint64_t number,
                              std::uint64_t since_ns);

    node::Member& member_;
    local::Hazards& hazards_;
    FastPath& fast_;
    const base::Config& config_;
    local::Space space_;
    std::unique_ptr<local::Registry> registry_;
    std::unique_ptr<local::Attach> attach_;
    std::unique_ptr<local::Port> port_;
    std::unique_ptr<local::Forwarder> forwarder_;  // guarded by driver_
    std::unique_ptr<Trace> trace_;
    bool may_waiter_run_ =
        true;  // jobs; off: the communication thread does everything (ACP_BYPASS=off)
    bool may_waiter_forward_ = true;  // off: the communication threads of the paper do

    std::atomic<std::uint32_t> lone_attaches_{0};  // run one by one since the last batch

    std::mutex mutex_;  // the queue and the lists of ready commands
    CommandQueue queue_;
    std::deque<Job> jobs_;
    std::deque<Job> to_forward_;
    RecordBlocks<std::uint64_t> to_remote_;  // numbers
    std::vector<std::uint64_t> ready_;       // scratch
    // jobs_ + to_forward_, for looks without the lock. Written with the lock.
    std::atomic<std::uint64_t> pending_{0};

    std::atomic_flag driver_;  // who holds it turns the forwarder; never held over a wait
    std::atomic<bool> is_turn_wanted_{false};    // somebody found driver_ taken and may go to sleep
    std::vector<local::Ended> ended_;            // guarded by driver_
    std::atomic<bool> has_forward_work_{false};  // written under driver_
    // The link to the node's gateway. Its calls are guarded by driver_, but for those any thread may make.
    remote::Link* link_ = nullptr;
    bool is_gateway_here_ =
        false;  // in this process: whoever works turns it, the service thread sleeps there
    std::vector<remote::Ended> link_ended_;
    std::atomic<bool> has_link_work_{false};      // to_remote_ holds what was not tried yet
    std::atomic<bool> is_link_fed_{false};        // so it does, but this can wait for the next turn
    std::uint64_t under_way_ = 0;                 // commands the link has; written with both locks
    std::atomic<bool> is_service_wanted_{false};  // written with the lock

    std::atomic<std::uint32_t> deaths_seen_{0};
    std::vector<bool> is_death_noted_;  // guarded by driver_

    std::mutex service_mutex_;  // making and ending the thread
    os::Thread service_;
    std::atomic<bool> has_service_{false};
    std::atomic<bool> is_stopping_{false};
    std::atomic<bool> is_napping_{false};
    node::Waiter service_waiter_;
    // Where the gateway is in this process:
    std::optional<os::Event> service_event_;
    std::vector<int> service_fds_;  // its, then the link's
    std::atomic<bool> is_service_asleep_{false};
    std::atomic<bool> is_link_left_{false};     // who turned it last has gone to sleep
    std::atomic<bool> is_service_deaf_{false};  // it sleeps, but not on the link
    std::atomic<std::uint32_t> link_turns_{0};  // by other threads; written under driver_
    std::uint32_t link_turns_seen_ = 0;         // by the service thread
    std::int64_t deaf_nap_ns_ = deaf_nap_min_ns / 2;
    std::atomic<std::uint64_t> service_until_ns_{
        0};  // when the service thread turns the link again at the latest
};

}  // namespace acp::gma
