// SPDX-License-Identifier: BSD-3-Clause
// A team, as one of its members uses it: it publishes to and reads from the members on its node (team/board.hpp), exchanges messages with
// members on other nodes, waits, and notices that the team is broken. collectives.hpp builds the collective calls on it. Functions that may
// wait or fail return false when the team is broken, or when the deadline of the call has passed (is_late()).
//
// Each member notices by itself that the process of another one has died. A member that finds any other reason why the team is broken tells
// all others (team/breakage.hpp).
// For the one thread that is in a call on the team. Tests: tests/conformance/team_test.cpp, tests/team.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/deadline.hpp"
#include "gma/gma.hpp"
#include "message/channel_end.hpp"
#include "os/cpu.hpp"
#include "os/fiber.hpp"
#include "os/futex.hpp"
#include "sync/bell.hpp"
#include "team/board.hpp"
#include "team/breakage.hpp"
#include "team/far_message.hpp"
#include "team/membership.hpp"
#include "team/scratch.hpp"
#include "team/signature.hpp"
#include "team/telling.hpp"

namespace acp::team {

using memory::GlobalAddress;

// The parts of the library that all teams of a process use. One object per epoch.
struct TeamTools {
    gma::Gma& gma;
    data::Allocator& allocator;
    message::ChannelTools channels;
    Telling& telling;
    bool is_checking = false;  // members compare each call before they make it
    int looks = 1;  // how often a thread looks for what it waits for, before Gma::wait_until begins
};

// What a thread waits for.
class Expectation {
public:
    Expectation() = default;
    virtual ~Expectation() = default;
    Expectation(const Expectation&) = delete;
    Expectation& operator=(const Expectation&) = delete;

    virtual bool has_come() noexcept = 0;

    // Called after the thread has announced its sleep: looks also where has_come() does not, since that takes longer.
    virtual void look_thoroughly() noexcept {}

    // For diagnostics: the rank of a member that it waits for, or nobody.
    [[nodiscard]] virtual std::uint32_t rank() const noexcept = 0;
};

// Where a call that runs on a fiber has stopped.
struct StoppedCall {
    os::Fiber* fiber = nullptr;       // on which calls run; nullptr: they block the thread
    Expectation* expected = nullptr;  // what the call waits for; nullptr: it has not stopped
    bool has_come = false;
};

// How far a barrier has come: a deadline may interrupt the call, and the next call goes on from here.
struct PendingSync {
    bool is_begun = false;
    bool is_arrived = false;  // the caller has published that it is in the barrier
    RoundNumber arrival = 0;
    RoundNumber release = 0;
    std::uint32_t distance = 1;  // the step of the dissemination: to the leader so many nodes on
    std::vector<FarMessage> messages;
};

class Team {
public:
    //   tools   outlives this
    //   boards  of each member, by team rank: all zero when the team is made, with room for board_bytes
    //   id      as of FarEnds
    Team(TeamTools& tools, Membership members, std::vector<GlobalAddress> boards, std::uint64_t id);
    ~Team() = default;
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    [[nodiscard]] const Membership& members() const noexcept { return members_; }

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

    // The address of the caller's block; 0: none, in a team of one.
    [[nodiscard]] GlobalAddress own_board() const noexcept { return addresses_[members_.own()]; }

    // The id of the next team that is made from this one. All members get the same, since they make teams in the same order.
    [[nodiscard]] std::uint64_t next_child() noexcept { return number_of_child(id_, ++children_); }

    // The number of the next plan that is compiled on this team. Likewise.
    [[nodiscard]] std::uint64_t next_plan() noexcept { return ++plans_; }

    // Begins a collective call. False: the team is broken.
    [[nodiscard]] bool begin_call(const Signature& signature,
                                  gma::Deadline deadline = {}) noexcept {
        signature_ = stopped_.fiber == nullptr ? signature : signature.non_blocking();
        deadline_ = deadline;
        is_late_ = false;
        const bool is_whole = look();
        if (!is_whole) [[unlikely]]
            tell_others();
        return is_whole;
    }

    // The call that was begun.
    [[nodiscard]] CollectiveCall call() const noexcept { return signature_.call(); }

    [[nodiscard]] bool is_broken() const noexcept { return breakage_.is_broken(); }

    [[nodiscard]] bool is_late() const noexcept { return is_late_; }

    // Why it is broken.
    [[nodiscard]] base::Status failure() const { return breakage_.failure(); }

    // --- Calls on a fiber, which stop where others wait ---

    // The calls that follow stop on this fiber instead of waiting. nullptr: they wait again.
    void run_on(os::Fiber* fiber) noexcept { stopped_ = {fiber, nullptr, false}; }

    // Whether a call that has stopped can go on, or never will, so that its fiber is to be resumed.
    //   is_thorough  the thread has announced that it sleeps
    [[nodiscard]] bool can_go_on(bool is_thorough) noexcept;

    // Tells people what a call that has stopped waits for.
    void announce_stopped(node::AwaitedEntry& entry, std::uint64_t since_ns) const {
        if (stopped_.expected != nullptr) announce(*stopped_.expected, entry, since_ns);
    }

    // Makes the team broken for the caller alone: its epoch ends.
    void end_epoch() noexcept {
        note_failure(base::Code::state,
                     "acp_finalize or acp_reset was called before the request had ended");
        is_untold_ = false;
    }

    // Makes the team broken, here and, by telling them, on all other members. Returns false.
    bool fail(const base::Status& why) noexcept;

    // --- Members of this node: rounds on the board ---

    [[nodiscard]] RoundNumber begin_round() noexcept { return board_.begin_round(); }

    // Waits until the caller may publish in a round. Returns where to put the payload of `bytes` bytes; nullptr: broken or late.
    [[nodiscard]] char* room(RoundNumber round, std::uint64_t bytes) {
        const auto has_room = [&] { return board_.has_room(round); };
        const auto behind = [&] { return rank_at(board_.place_behind(round)); };
        return wait(has_room, behind) ? board_.room(round, bytes) : nullptr;
    }

    void publish(RoundNumber round) noexcept {
        board_.publish(round, signature_);
        ring_near();
    }

    // Waits for the payload that a member of the node, perhaps the caller, publishes in a round. nullptr: broken or late.
    [[nodiscard]] char* read(std::uint32_t place, RoundNumber round, std::uint64_t bytes) {
        return read(place, round, bytes, [&] { return rank_at(place); });
    }

    // The same for the node's leader, which publishes in `release` after all have published in `arrival`. Diagnostics name the member that is
    // missing in `arrival`.
    [[nodiscard]] char* read_release(RoundNumber arrival, RoundNumber release) {
        return read(0, release, 0, [&] {
            const std::uint32_t missing = board_.place_missing(arrival);
            return rank_at(missing == nobody ? 0 : missing);
        });
    }

    // As read(), and copies the payload to `target` by copy_out().
    bool read_to(
        std::uint32_t place, RoundNumber round, char* target, std::uint64_t bytes, bool is_alone) {
        char* const shown = read(place, round, bytes);
        if (shown == nullptr) return false;
        copy_out(target, shown, bytes, is_alone);
        return true;
    }

    // The caller has read what all others have published in a round, the first one of its call.
    void note_all_came(RoundNumber round) noexcept { board_.note_all_came(round); }

    void finish(RoundNumber round) noexcept {
        board_.finish(round);
        ring_near();
    }

    // --- Messages between any two members ---
    // A message that was begun must live until settle() has returned true, or the team is broken: that ends all messages.

    bool begin_send(FarMessage& message,
                    std::uint32_t rank,
                    const void* source,
                    std::uint64_t bytes) noexcept {
        return begin_send(message, rank, source, bytes, signature_);
    }

    bool begin_receive(FarMessage& message,
                       std::uint32_t rank,
                       void* target,
                       std::uint64_t bytes) noexcept {
        return begin_receive(message, rank, target, bytes, signature_);
    }

    // The same with a signature other than that of the call, on which these two members agree.
    bool begin_send(FarMessage& message,
                    std::uint32_t rank,
                    const void* source,
                    std::uint64_t bytes,
                    const Signature& signature) noexcept;
    bool begin_receive(FarMessage& message,
                       std::uint32_t rank,
                       void* target,
                       std::uint64_t bytes,
                       const Signature& signature) noexcept;

    // Waits until all messages that were begun have ended.
    bool settle(std::span<FarMessage> messages);

    // Leaves the team, after all members have met in a barrier for that. True: no member touches the caller's block any more, and the team's
    // memory in heaps may be freed.
    bool depart();

    // Waits until what was sent to other nodes has ended, and drops its failures: no call reports them.
    void settle_sent() noexcept { ends_.settle_sent(); }

    [[nodiscard]] Scratch& scratch() noexcept { return scratch_; }

    [[nodiscard]] PendingSync& pending_sync() noexcept { return sync_; }

    [[nodiscard]] bool is_checking() const noexcept { return tools_.is_checking; }

private:
    class Waiting;

    template <typename Who>
    char* read(std::uint32_t place, RoundNumber round, std::uint64_t bytes, const Who& who) {
        const auto is_published = [&] { return board_.is_published(place, round); };
        if (!wait(is_published, who)) return nullptr;
        if (board_.signature(place, round) != signature_) [[unlikely]] {
            (void)fail_mismatch(members_.near()[place], signature_, board_.signature(place, round));
            return nullptr;
        }
        return board_.published(place, round, bytes);
    }

    // Waits until ready() is true.   who()  returns what Expectation::rank() does
    template <typename Ready, typename Who>
    bool wait(const Ready& ready, const Who& who) {
        const int looks = stopped_.fiber == nullptr ? tools_.looks : 1;
        for (int i = 0; i < looks; ++i) {
            if (ready()) return true;
            os::relax();
        }

        class Expected final : public Expectation {
        public:
            Expected(const Ready& ready, const Who& who) noexcept : ready_(ready), who_(who) {}

            bool has_come() noexcept override { return ready_(); }

            [[nodiscard]] std::uint32_t rank() const noexcept override { return who_(); }

        private:
            const Ready& ready_;
            const Who& who_;
        };

        Expected expected(ready, who);
        return wait_long(expected);
    }

    bool wait_long(Expectation& expected);
    void wait_and_watch(Waiting& waiting, const Expectation& expected);
    bool stop_for(Expectation& expected);
    void announce(const Expectation& expected,
                  node::AwaitedEntry& entry,
                  std::uint64_t since_ns) const;
    bool have_gone_well(std::span<FarMessage> messages);
    void await_reason(std::uint32_t rank);
    bool look() noexcept;

    bool fail_mismatch(std::uint32_t rank,
                       const Signature& expected,
                       const Signature& found) noexcept {
        return fail_mismatch(rank, expected, [&found] { return describe(found); });
    }

    //   found()  what that member has called
    template <typename Found>
    bool fail_mismatch(std::uint32_t rank, const Signature& expected, const Found& found) noexcept {
        return fail(base::Status::worded(base::Code::mismatch, [&] {
            return name_of_member(members_.own()) + " has called " + describe(expected) + ", and " +
                   name_of_member(rank) + " " + found();
        }));
    }

    void note_failure(base::Code code, std::string_view why) noexcept;
    void tell_others() noexcept;
    [[nodiscard]] bool has_lost_node() const noexcept;

    // Of a place on the own node.
    [[nodiscard]] std::uint32_t rank_at(std::uint32_t place) const noexcept {
        return place == nobody ? nobody : members_.near()[place];
    }

    [[nodiscard]] std::string name_of_member(std::uint32_t rank) const;

    void ring_near() noexcept {
        for (sync::Bell<>* const bell : bells_) {
            if (bell->ring()) [[unlikely]]
                os::futex_wake(bell->word(), os::everybody);
        }
    }

    TeamTools& tools_;
    Membership members_;
    std::vector<GlobalAddress> addresses_;  // of all boards
    std::uint64_t id_;
    std::uint64_t children_ = 0;
    std::uint64_t plans_ = 0;
    std::vector<sync::Bell<>*> bells_;  // of the other members of the node
    Board board_;
    FarEnds ends_;
    TellingRoom telling_room_;  // for all members on other nodes
    Scratch scratch_;
    PendingSync sync_;
    Signature signature_;  // of the call that is being made
    gma::Deadline deadline_;
    StoppedCall stopped_;
    bool is_late_ = false;
    bool is_leaving_ = false;  // other members may have freed their blocks: none is told any more
    bool is_untold_ = false;   // other members must still be told why the team is broken
    Breakage breakage_;
};

}  // namespace acp::team
