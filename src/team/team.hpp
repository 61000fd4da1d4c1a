// SPDX-License-Identifier: BSD-3-Clause
// A team, as one of its members uses it: it publishes to and reads from the members of its node
// (team/board.hpp), exchanges messages with members on other nodes, waits, and detects that the
// team is broken. The collective calls (collectives.hpp) are built on it. Functions that may wait
// or fail return false if the team is broken, or if the deadline of the call has passed
// (is_late()).
//
// Each member detects the death of another member's process by itself. A member that finds any
// other reason for which the team is broken notifies all members (team/breakage.hpp).
// For the one thread that is in a call on the team. Tests: tests/conformance/team_test.cpp,
// tests/team.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
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

// Objects that all teams of a process use. One set per epoch.
struct TeamTools {
    gma::Gma& gma;
    data::Allocator& allocator;
    message::ChannelTools channels;
    Telling& telling;
    bool is_checking = false;  // a barrier that compares signatures precedes each call
    int looks = 1;             // polls of a wait before Gma::wait_until begins
};

// The condition for which a thread waits.
class Expectation {
public:
    Expectation() = default;
    virtual ~Expectation() = default;
    Expectation(const Expectation&) = delete;
    Expectation& operator=(const Expectation&) = delete;

    virtual bool has_come() noexcept = 0;

    // Called after the thread has announced its sleep: also polls sources that has_come() skips
    // because they are slow.
    virtual void look_thoroughly() noexcept {}

    // For diagnostics: the team rank of an awaited member; or the constant nobody.
    [[nodiscard]] virtual std::uint32_t rank() const noexcept = 0;
};

// The state of a call that runs on a fiber.
struct StoppedCall {
    os::Fiber* fiber = nullptr;       // nullptr: calls run on the thread, and block it
    Expectation* expected = nullptr;  // why the call has stopped; nullptr: it has not
    bool has_come = false;
};

// The state of a barrier: a deadline may interrupt the call, and the next one resumes the barrier.
struct PendingSync {
    bool is_begun = false;
    bool is_arrived = false;  // the caller has published its arrival
    RoundNumber arrival = 0;
    RoundNumber release = 0;
    std::uint32_t distance = 1;  // current step of the dissemination: nodes to the partner
    std::vector<FarMessage> messages;
};

class Team {
public:
    //   tools   must outlive this
    //   boards  the block of each member, by team rank: board_bytes long, all zero when the team
    //           is made
    //   id      the number that FarEnds takes
    Team(TeamTools& tools, Membership members, std::vector<GlobalAddress> boards, std::uint64_t id);
    ~Team() = default;
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    [[nodiscard]] const Membership& members() const noexcept { return members_; }

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

    // The address of the caller's block; 0: none, in a team of one.
    [[nodiscard]] GlobalAddress own_board() const noexcept { return addresses_[members_.own()]; }

    // The id of the next team that is made from this one. Members make teams in the same order, so
    // all get the same id.
    [[nodiscard]] std::uint64_t next_child() noexcept { return number_of_child(id_, ++children_); }

    // The number of the next plan that is compiled on this team; the same on all members.
    [[nodiscard]] std::uint64_t next_plan() noexcept { return ++plans_; }

    // Begins a collective call. False: the team is broken, and the other members are notified if
    // necessary.
    [[nodiscard]] bool begin_call(const Signature& signature,
                                  gma::Deadline deadline = {}) noexcept {
        signature_ = stopped_.fiber == nullptr ? signature : signature.non_blocking();
        deadline_ = deadline;
        late_for_ = std::nullopt;
        if (!look()) [[unlikely]] {
            tell_others();
            return false;
        }
        // A barrier that a deadline has interrupted is one call, however often it is resumed.
        if (!sync_.is_begun) board_.note_call(signature_);
        return true;
    }

    // The current call.
    [[nodiscard]] CollectiveCall call() const noexcept { return signature_.call(); }

    [[nodiscard]] bool is_broken() const noexcept { return breakage_.is_broken(); }

    [[nodiscard]] bool is_late() const noexcept { return late_for_.has_value(); }

    // After a call that was late: a member that it still waited for, as its rank in the job;
    // nullopt: that member has come since.
    [[nodiscard]] std::optional<std::uint32_t> missing_rank() const noexcept;

    // The reason, if the team is broken.
    [[nodiscard]] base::Status failure() const { return breakage_.failure(); }

    // --- Calls on a fiber, which stop instead of waiting ---

    // Records in the process's slot whether a fiber runs: if its stack overflows, the process's
    // failure names it.
    void note_fiber(bool is_running) const noexcept {
        const local::Space& space = tools_.gma.space();
        // relaxed: read when the process has died
        space.segment()
            .slot(space.slot_of(members_.process(members_.own())))
            .runs_on_fiber.store(is_running ? 1 : 0, std::memory_order_relaxed);
    }

    // Later calls stop on this fiber instead of waiting. nullptr: they wait.
    void run_on(os::Fiber* fiber) noexcept { stopped_ = {fiber, nullptr, false}; }

    // Whether the fiber of a stopped call must be resumed: its expectation has come true, the team
    // is broken, or the deadline has passed.
    //   is_thorough  the thread has announced that it sleeps
    [[nodiscard]] bool can_go_on(bool is_thorough) noexcept;

    // Reports to the node's diagnostics what a stopped call waits for.
    void announce_stopped(node::AwaitedEntry& entry, std::uint64_t since_ns) const {
        if (stopped_.expected != nullptr) announce(*stopped_.expected, entry, since_ns);
    }

    // Breaks the team for the caller alone, because its epoch ends.
    void end_epoch() noexcept {
        note_failure(base::Code::state,
                     "acp_finalize or acp_reset was called before the request had ended");
        is_untold_ = false;
    }

    // Breaks the team for the caller, and notifies all other members. Returns false.
    bool fail(const base::Status& why) noexcept;

    // fail(), because a member has announced a notice that is longer than the current call allows.
    bool fail_notice(std::uint32_t rank, std::uint64_t bytes, std::uint64_t bytes_max) noexcept {
        return fail_mismatch(rank, signature_, [=] {
            return "has announced a notice of " + std::to_string(bytes) + " bytes, where at most " +
                   std::to_string(bytes_max) + " are possible";
        });
    }

    // --- Members of this node: rounds on the board ---

    [[nodiscard]] RoundNumber begin_round() noexcept { return board_.begin_round(); }

    // Waits until the caller may publish in a round. Returns the place of its payload of `bytes`
    // bytes; nullptr: broken or late.
    [[nodiscard]] char* room(RoundNumber round, std::uint64_t bytes) {
        const auto has_room = [&] { return board_.has_room(round); };
        const auto behind = [&] { return rank_at(board_.place_behind(round)); };
        return wait(has_room, behind) ? board_.room(round, bytes) : nullptr;
    }

    void publish(RoundNumber round) noexcept {
        board_.publish(round, signature_);
        ring_near();
    }

    // Waits for the payload that a member of the node, which may be the caller, publishes in a
    // round. nullptr: broken or late.
    [[nodiscard]] char* read(std::uint32_t place, RoundNumber round, std::uint64_t bytes) {
        return read(place, round, bytes, [&] { return rank_at(place); });
    }

    // Waits for the node's leader, which publishes in `release` after all have published in
    // `arrival`. Diagnostics name a member that is missing in `arrival`.
    [[nodiscard]] char* read_release(RoundNumber arrival, RoundNumber release) {
        return read(0, release, 0, [&] {
            const std::uint32_t missing = board_.place_missing(arrival);
            return rank_at(missing == nobody ? 0 : missing);
        });
    }

    // Calls read(), and copies the payload to `target` by copy_out().
    bool read_to(
        std::uint32_t place, RoundNumber round, char* target, std::uint64_t bytes, bool is_alone) {
        char* const shown = read(place, round, bytes);
        if (shown == nullptr) return false;
        copy_out(target, shown, bytes, is_alone);
        return true;
    }

    // The caller has read the publications of all other members in a round, the first one of its
    // call.
    void note_all_came(RoundNumber round) noexcept { board_.note_all_came(round); }

    void finish(RoundNumber round) noexcept {
        board_.finish(round);
        ring_near();
    }

    // --- Messages between any two members ---
    // A message must live from its begin until settle() has returned true, or the team is broken,
    // which ends all messages.

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

    // The messages have a signature of their own instead of the call's, on which the two members
    // agree.
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

    // Waits until all messages that were begun have ended, and checks their results.
    bool settle(std::span<FarMessage> messages);

    // Leaves the team, after a barrier in which all members leave. True: no member accesses the
    // caller's block any longer, and the team's memory in heaps may be freed.
    bool depart();

    // Waits until sends to other nodes have ended, and discards their failures.
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

    // Waits until ready() is true.
    //   who()  the result of Expectation::rank()
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
    void compare_calls() noexcept;

    bool fail_mismatch(std::uint32_t rank,
                       const Signature& expected,
                       const Signature& found) noexcept {
        return fail_mismatch(rank, expected, [&found] { return describe(found); });
    }

    //   found()  the other member's call, as text
    template <typename Found>
    bool fail_mismatch(std::uint32_t rank, const Signature& expected, const Found& found) noexcept {
        return fail(mismatch(rank, expected, found));
    }

    template <typename Found>
    [[nodiscard]] base::Status mismatch(std::uint32_t rank,
                                        const Signature& expected,
                                        const Found& found) const noexcept {
        return base::Status::worded(base::Code::mismatch, [&] {
            return name_of_member(members_.own()) + " has called " + describe(expected) + ", and " +
                   name_of_member(rank) + " " + found();
        });
    }

    void note_failure(base::Code code, std::string_view why) noexcept;
    void tell_others() noexcept;
    [[nodiscard]] bool has_lost_node() const noexcept;

    // The team rank of a place on the own node.
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
    std::vector<GlobalAddress> addresses_;  // the addresses of the members' blocks, by team rank
    std::uint64_t id_;
    std::uint64_t children_ = 0;
    std::uint64_t plans_ = 0;
    std::vector<sync::Bell<>*> bells_;  // bells of the other members of the node
    Board board_;
    FarEnds ends_;
    TellingRoom telling_room_;  // one notification for each member on another node
    Scratch scratch_;
    PendingSync sync_;
    Signature signature_;  // the current call's
    gma::Deadline deadline_;
    StoppedCall stopped_;
    // The member that a late call waited for, if it had not come at the end of the wait. nullopt:
    // the call is not late.
    std::optional<std::uint32_t> late_for_;
    // set in depart(): members may have freed their blocks, so none is notified
    bool is_leaving_ = false;
    bool is_untold_ = false;  // the other members must be notified of the failure
    Breakage breakage_;
};

}  // namespace acp::team
