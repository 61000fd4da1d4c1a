// SPDX-License-Identifier: BSD-3-Clause
// The teams of a process, by handle: the team of all ranks, and teams made from others. One object
// per epoch. Any thread, but one at a time for each team.
// Tests: tests/unit/team/teams_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/hashed.hpp"
#include "message/pairing.hpp"
#include "message/slots.hpp"
#include "team/all_calls.hpp"
#include "team/collectives.hpp"
#include "team/team.hpp"
#include "team/team_entry.hpp"
#include "team/team_requests.hpp"

namespace acp::team {

using TeamHandle = message::SlotHandle;

inline constexpr TeamHandle no_team = message::no_slot;

class Teams {
public:
    //   gma, hashed, allocator  must outlive this
    //   is_checking             a barrier that compares signatures precedes each call
    Teams(gma::Gma& gma,
          data::Hashed& hashed,
          data::Allocator& allocator,
          const message::ChannelSettings& settings,
          bool is_checking,
          std::uint64_t handles_made);

    ~Teams() { end_requests(); }

    Teams(const Teams&) = delete;
    Teams& operator=(const Teams&) = delete;

    // Zeroes the board of a process for the team of all ranks, in the node segment, before an epoch
    // begins.
    static void clear(const node::Segment& segment, std::uint32_t slot) noexcept;

    // The team of all ranks. Throws std::bad_alloc.
    TeamHandle world();

    // Runs a call with this signature: calls body(team), which returns false if the team is broken
    // or late. Non-blocking calls that were begun on the team before must end first. Errors: stale,
    // state, peer, mismatch, memory, timeout (of a call with a deadline).
    template <typename Body>
    base::Status run(TeamHandle handle,
                     const Signature& signature,
                     const Body& body,
                     gma::Deadline deadline = {}) {
        const auto check = [](const Membership&) { return base::Status(); };
        return run_checked(handle, signature, check, body, deadline);
    }

    // run(), after check(members) has checked the call's arguments: if it does not return ok,
    // nothing is begun.
    template <typename Check, typename Body>
    base::Status run_checked(TeamHandle handle,
                             const Signature& signature,
                             const Check& check,
                             const Body& body,
                             gma::Deadline deadline = {}) {
        Use use(*this, handle);
        if (!use.is_ok()) [[unlikely]]
            return use.why();
        if (base::Status refusal = check(use.team().members()); !refusal.is_ok()) [[unlikely]]
            return refusal;
        if (!use.entry().calls.is_empty()) [[unlikely]] {
            if (auto status = requests_.end_calls(use.entry(), deadline); !status.is_ok()) {
                use.let_go();
                all_calls_.wake_waiters();
                return status;
            }
        }
        return run_call(use.team(), signature, body, deadline);
    }

    // Begins a non-blocking call: run() on a fiber, after all calls that were begun on the team
    // before it.
    // Errors: stale, state, limit, memory, system.
    base::Result<RequestHandle> begin(TeamHandle handle,
                                      const Signature& signature,
                                      std::function<bool(Team&)> body);

    // Waits for the end of a non-blocking call, retires its request, and returns the call's result.
    // Errors: stale (no such request), timeout (the call is still in flight), and those of run().
    //   timeout_ns  0: only polls; < 0: for ever
    base::Status wait(RequestHandle handle, std::int64_t timeout_ns) {
        return requests_.wait(handle, timeout_ns);
    }

    // The caller's arguments in a division of a team.
    struct Division {
        std::int64_t color = -1;   // members of one color form a team; < 0: the caller is in none
        std::int64_t key = 0;      // orders the ranks of a new team
        std::uint64_t digest = 0;  // of arguments that must be the same on all members
    };

    // Makes new teams from the members of a team. no_team: the caller is in none. Errors: those of
    // run(); memory and unsupported, from the boards' heaps.
    base::Result<TeamHandle> divide(TeamHandle handle,
                                    CollectiveCall call,
                                    const Division& division);

    // Allocates memory of the same size on each member. Returns the address of the caller's part.
    // No part is made if one member has no room. Errors: those of run(); memory and unsupported,
    // from the heaps.
    base::Result<GlobalAddress> allocate(TeamHandle handle, std::uint64_t bytes);

    // Frees such memory, after a barrier of all members. Errors: those of run(); argument (no part
    // begins there).
    //   own  an address that allocate() has returned
    base::Status free_memory(TeamHandle handle, GlobalAddress own);

    // The address in a member's part at the same offset as `own` in the own part. May be called at
    // any time. Errors: stale, argument.
    base::Result<GlobalAddress> translate(TeamHandle handle, GlobalAddress own, std::uint32_t rank);

    // Frees a team, after a barrier of all members. Errors: stale, state, argument (the team of all
    // ranks), and those that break a team; after the last ones the team is freed nevertheless.
    base::Status free(TeamHandle handle);

    // Ends the non-blocking calls with an error. No other thread is in a call on a team.
    void end_requests() noexcept { all_calls_.end_epoch(); }

    // Drains outstanding sends and failure notifications; their errors are discarded. No other
    // thread is in a call on a team.
    void settle_sent() noexcept;

    // The argument of the next epoch's constructor: no handle of this epoch is valid there.
    [[nodiscard]] std::uint64_t handles_made() {
        return std::max(entries_.handles_made(), requests_.handles_made());
    }

    [[nodiscard]] bool is_checking() const noexcept { return tools_.is_checking; }

    // Calls body(members), also while another thread is in a call on the team. Errors: stale.
    template <typename Body>
    base::Status ask(TeamHandle handle, const Body& body) {
        const TeamLook look(entries_.find(handle), handle);
        if (look.entry() == nullptr) return no_such_team(handle);
        body(look.entry()->team->members());
        return {};
    }

private:
    using Entry = TeamEntry;

    // Locks the team of a handle for one thread.
    class Use {
    public:
        explicit Use(Teams& teams,
                     TeamHandle handle,
                     CallLock::Use how = CallLock::Use::call) noexcept
            : handle_(handle), entry_(teams.entries_.find(handle)) {
            is_mine_ = entry_ != nullptr && entry_->lock.lock(how);
            // Another thread may have freed the team between find() and lock().
            if (!is_mine_ || teams.entries_.is_still(*entry_, handle)) [[likely]]
                return;
            let_go();
            entry_ = nullptr;
        }

        ~Use() { let_go(); }

        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

        void let_go() noexcept {
            if (std::exchange(is_mine_, false)) entry_->lock.unlock();
        }

        [[nodiscard]] bool is_ok() const noexcept { return is_mine_; }

        [[nodiscard]] Team& team() const noexcept { return *entry_->team; }

        [[nodiscard]] Entry& entry() const noexcept { return *entry_; }

        [[nodiscard]] base::Status why() const;

    private:
        TeamHandle handle_;
        Entry* entry_;
        bool is_mine_ = false;
    };

    template <typename Body>
    base::Status run_call(Team& team,
                          const Signature& signature,
                          const Body& body,
                          gma::Deadline deadline = {}) {
        if (!team.begin_call(signature, deadline)) [[unlikely]]
            return team.failure();
        if (team.pending_sync().is_begun && signature.call() != CollectiveCall::sync) [[unlikely]]
            return late(signature);
        if (run_in(team, body)) [[likely]]
            return {};
        return team.is_late() ? timeout(team) : team.failure();
    }

    // Runs the body of the current call.
    template <typename Body>
    bool run_in(Team& team, const Body& body) {
        try {
            if (tools_.is_checking && team.call() != CollectiveCall::sync) [[unlikely]] {
                if (!synchronize(team)) return false;
            }
            return body(team);
        } catch (const std::bad_alloc&) {
            return team.fail(base::Status::bare(base::Code::memory));
        }
    }

    struct Candidate;

    static base::Status no_such_team(TeamHandle handle);
    static base::Status late(const Signature& signature);
    static base::Status timeout(const Team& team);
    [[nodiscard]] std::uint32_t node_of(std::uint32_t process) const noexcept;
    base::Result<TeamHandle> add(Membership members,
                                 std::vector<GlobalAddress> boards,
                                 std::uint64_t id);
    base::Status prepare(const Team& parent, Candidate& own);
    base::Result<TeamHandle> make(const Team& parent,
                                  const Candidate& own,
                                  std::span<const Candidate> all,
                                  std::uint64_t id);
    base::Status divide_in(Team& parent, const Division& division, TeamHandle& made);
    void empty(Entry& entry) noexcept;
    void forget(Entry& entry) noexcept;

    message::Pairing pairing_;
    Telling telling_;
    AllCalls all_calls_;
    TeamRequests requests_;
    TeamTools tools_;
    message::Slots<Entry> entries_;
    std::mutex world_mutex_;
    std::atomic<TeamHandle> world_{no_team};
};

}  // namespace acp::team
