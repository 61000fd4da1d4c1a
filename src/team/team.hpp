// SPDX-License-Identifier: BSD-3-Clause
// A team as one of its members works with it: publishes and reads on its node, exchanges messages with members elsewhere, waits, and notices
// that the team is broken. collectives.hpp makes calls of this. All that returns bool returns false when the team is broken, or
// when the deadline of the call has passed (is_late()).
//
// A member notices by itself that another one is dead; of everything else that breaks a team those who find it tell the others, by
// a numbered operation on the Trouble of each.
// For the one thread that is in a call on the team. Tests: tests/conformance/team_test.cpp, tests/team.
#pragma once

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
#include "os/futex.hpp"
#include "sync/bell.hpp"
#include "team/board.hpp"
#include "team/far_message.hpp"
#include "team/membership.hpp"
#include "team/scratch.hpp"
#include "team/signature.hpp"
#include "team/telling.hpp"

namespace acp::team {

using memory::GlobalAddress;

// What the teams of a process work with. One for each epoch.
struct TeamTools {
    gma::Gma& gma;
    data::Allocator& allocator;
    message::ChannelTools channels;
    Telling& telling;
    bool is_checking = false;  // members compare each call before they make it
    int looks = 1;  // how often a thread looks for what it waits for, before the full wait begins
};

// What a thread waits for.
class Expectation {
public:
    Expectation() = default;
    virtual ~Expectation() = default;
    Expectation(const Expectation&) = delete;
    Expectation& operator=(const Expectation&) = delete;

    virtual bool has_come() noexcept = 0;

    // The thread is about to sleep.
    virtual void look_thoroughly() noexcept {}

    // For people: a member for which it waits, or nobody.
    [[nodiscard]] virtual std::uint32_t rank() const noexcept = 0;
};

// A meeting that may be interrupted by a deadline and gone on with.
struct PendingSync {
    bool is_begun = false;
    bool is_arrived = false;  // and the others can see it
    RoundNumber arrival = 0;
    RoundNumber release = 0;
    std::uint32_t distance = 1;  // of the nodes that a leader exchanges messages with next
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

    // 0: none, in a team of one.
    [[nodiscard]] GlobalAddress own_board() const noexcept { return addresses_[members_.own()]; }

    // The next of the teams that are made of this one: the same on all members.
    [[nodiscard]] std::uint64_t next_child() noexcept { return number_of_child(id_, ++children_); }

    // Begins a call.
    [[nodiscard]] bool begin_call(const Signature& signature,
                                  gma::Deadline deadline = {}) noexcept {
        signature_ = signature;
        deadline_ = deadline;
        is_late_ = false;
        const bool is_whole = look();
        if (!is_whole) [[unlikely]]
            tell_others();
        return is_whole;
    }

    // The call that was begun.
    [[nodiscard]] CollectiveCall call() const noexcept { return signature_.call(); }

    [[nodiscard]] bool is_broken() const noexcept { return code_ != base::Code::ok; }

    [[nodiscard]] bool is_late() const noexcept { return is_late_; }

    // Why it is broken.
    [[nodiscard]] base::Status failure() const {
        return base::Status::worded(code_, [this] { return why_; });
    }

    // The team is broken from now on, on all members. Returns false.
    bool fail(const base::Status& why) noexcept;

    // On this node.

    [[nodiscard]] RoundNumber begin_round() noexcept { return board_.begin_round(); }

    // Where the caller puts `bytes` bytes that it is going to publish; nullptr: broken.
    [[nodiscard]] char* room(RoundNumber round, std::uint64_t bytes) {
        const auto has_room = [&] { return board_.has_room(round); };
        const auto behind = [&] { return rank_at(board_.place_behind(round)); };
        return wait(has_room, behind) ? board_.room(round, bytes) : nullptr;
    }

    void publish(RoundNumber round) noexcept {
        board_.publish(round, signature_);
        ring_near();
    }

    // What another member of the node has published, or the caller itself; nullptr: broken.
    [[nodiscard]] char* read(std::uint32_t place, RoundNumber round, std::uint64_t bytes) {
        return read(place, round, bytes, [&] { return rank_at(place); });
    }

    // The same of the leader, who publishes when all have published in the round `arrival`.
    [[nodiscard]] char* read_release(RoundNumber arrival, RoundNumber release) {
        return read(0, release, 0, [&] {
            const std::uint32_t missing = board_.place_missing(arrival);
            return rank_at(missing == nobody ? 0 : missing);
        });
    }

    // Copies that to `target`, see copy_out(). False: broken.
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

    // Between any two members. A message that was begun must live until settle() has returned true, or the team is broken. When the team
    // breaks all of them end.

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

    // The same under a signature for these two members.
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

    // Leaves the team, in order, after all have met for that: what it has in heaps may be given back.
    bool depart();

    // Waits for what was sent to other nodes, and takes its failures, which are nobody's to be told.
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

    // Waits until ready() is true.   who()  as of Expectation::rank
    template <typename Ready, typename Who>
    bool wait(const Ready& ready, const Who& who) {
        for (int i = 0; i < tools_.looks; ++i) {
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
    bool have_gone_well(std::span<FarMessage> messages);
    void await_reason(std::uint32_t rank);
    bool look() noexcept;
    bool are_all_there() noexcept;
    bool fail_mismatch(std::uint32_t rank,
                       const Signature& expected,
                       const Signature& found) noexcept;
    void note_failure(base::Code code, std::string_view why) noexcept;
    void tell_others() noexcept;
    [[nodiscard]] bool is_gone(std::uint32_t rank) const noexcept;
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
    std::vector<sync::Bell<>*> bells_;  // of the other members of the node
    Board board_;
    FarEnds ends_;
    Scratch scratch_;
    PendingSync sync_;
    Signature signature_;  // of the call that is being made
    gma::Deadline deadline_;
    bool is_late_ = false;
    bool is_leaving_ = false;  // others may have given back the memory of their boards
    bool is_untold_ = false;   // others are to be told why it is broken, if they do not see it
    std::uint32_t deaths_seen_ = 0;
    base::Code code_ = base::Code::ok;  // why it is broken
    std::string why_;
};

}  // namespace acp::team
