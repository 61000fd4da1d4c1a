// SPDX-License-Identifier: BSD-3-Clause
// A team whose members are ranks of one node in this process. The membership may say that they are
// on several nodes: then those members exchange messages, as between nodes. Each member's part of a
// call runs on a fiber, and the test resumes the fibers in random order: so a test decides who has
// come, and a call that never ends is a failure of the test and no hang. run_in_threads() runs the
// parts by threads that block instead.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "message/pairing.hpp"
#include "team/call_queue.hpp"
#include "team/collectives.hpp"
#include "team/team.hpp"
#include "team/telling.hpp"

#include "support/random.hpp"
#include "support/rank_node.hpp"

namespace acp::team::test {

// One member's part of a call.
using Part = std::function<base::Status(Team&)>;

// The call of a signature: `run` is its collective function.
inline Part call(const Signature& signature,
                 const std::function<bool(Team&)>& run,
                 std::int64_t timeout_ns = -1) {
    return [=](Team& team) -> base::Status {
        if (!team.begin_call(signature, gma::Deadline(timeout_ns))) return team.failure();
        if (run(team)) return {};
        return team.is_late() ? base::Status::bare(base::Code::timeout) : team.failure();
    };
}

inline Part barrier(std::int64_t timeout_ns = -1) {
    return call({CollectiveCall::sync, 0}, synchronize, timeout_ns);
}

class TeamNode {
public:
    //   nodes  the node of each member, by team rank
    explicit TeamNode(const std::vector<std::uint32_t>& nodes, bool is_checking = false)
        : ranks_(static_cast<std::uint32_t>(nodes.size())), random_(nodes.size()) {
        std::vector<TeamMember> members;
        std::vector<memory::GlobalAddress> boards;
        for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
            members.push_back({rank, nodes[rank]});
            boards.push_back(make_board(rank));
        }
        for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
            parts_.push_back(std::make_unique<Member>(ranks_[rank], is_checking));
            parts_[rank]->team =
                std::make_unique<Team>(parts_[rank]->tools, Membership(members, rank), boards, 77);
        }
    }

    // Breaks the team for members whose calls have not ended: a fiber is not destroyed before its
    // function returns.
    ~TeamNode() {
        for (auto& part : parts_) {
            if (!part->calls.is_empty()) part->team->end_epoch();
            (void)part->calls.go_on(*part->team, true);
        }
        for (auto& part : parts_) {
            part->team->settle_sent();
            part->telling.settle();
        }
    }

    TeamNode(const TeamNode&) = delete;
    TeamNode& operator=(const TeamNode&) = delete;

    [[nodiscard]] std::uint32_t size() const { return ranks_.size(); }

    [[nodiscard]] Team& team(std::uint32_t rank) { return *parts_[rank]->team; }

    [[nodiscard]] acp::test::RankNode& ranks() { return ranks_; }

    // Begins a member's part, which runs until it must wait.
    void start(std::uint32_t rank, const Part& part) {
        Member& own = *parts_[rank];
        own.requests.push_back(std::make_unique<TeamRequest>());
        own.requests.back()->make_call = part;
        ASSERT_TRUE(own.calls.add(*own.requests.back()).is_ok());
        (void)own.calls.go_on(*own.team, false);
    }

    // Resumes all members that can make progress, in random order.
    void pass() {
        const auto first = static_cast<std::uint32_t>(random_.below(size()));
        const std::uint32_t step = random_.chance(50) ? 1 : size() - 1;
        for (std::uint32_t i = 0; i < size(); ++i) {
            Member& own = *parts_[(first + i * step) % size()];
            (void)own.calls.go_on(*own.team, random_.chance(30));
        }
    }

    [[nodiscard]] bool has_ended(std::uint32_t rank) { return parts_[rank]->calls.is_empty(); }

    // The result of a member's last part, which has ended.
    [[nodiscard]] const base::Status& end(std::uint32_t rank) {
        EXPECT_TRUE(has_ended(rank)) << "member " << rank << " still waits";
        return parts_[rank]->requests.back()->end;
    }

    [[nodiscard]] std::string words(std::uint32_t rank) { return std::string(end(rank).message()); }

    // Resumes members until all of these have ended. A call of these tests takes less than a
    // hundredth of passes_max.
    void finish(const std::vector<std::uint32_t>& which) {
        for (std::uint32_t i = 0; i < passes_max; ++i) {
            bool have_all = true;
            for (const std::uint32_t rank : which) have_all = has_ended(rank) && have_all;
            if (have_all) return;
            pass();
        }
        FAIL() << "members that could go on wait for ever";
    }

    // Runs a part on all members, in random order.
    void run(const Part& part) {
        std::vector<std::uint32_t> all;
        for (std::uint32_t rank = 0; rank < size(); ++rank) all.push_back(rank);
        for (const std::uint32_t rank : all) start(rank, part);
        finish(all);
    }

    // run(), and every member succeeds.
    void run_well(const Part& part) {
        run(part);
        for (std::uint32_t rank = 0; rank < size(); ++rank)
            ASSERT_TRUE(end(rank).is_ok()) << "member " << rank << ": " << words(rank);
    }

    void run_in_threads(const Part& part) {
        acp::test::in_threads(size(), [&](std::uint32_t rank) {
            const base::Status end = part(team(rank));
            EXPECT_TRUE(end.is_ok()) << "member " << rank << ": " << end.message();
        });
    }

private:
    static constexpr std::uint32_t passes_max = 100'000;

    struct Member {
        Member(acp::test::NodeRank& rank, bool is_checking)
            : pairing(*rank.gma, *rank.hashed),
              telling(*rank.gma),
              tools{*rank.gma, *rank.allocator, {*rank.gma, *rank.allocator, pairing, {}},
                    telling,   is_checking,     1} {}

        message::Pairing pairing;
        Telling telling;
        TeamTools tools;
        std::unique_ptr<Team> team;
        CallQueue calls;
        std::vector<std::unique_ptr<TeamRequest>> requests;
    };

    [[nodiscard]] memory::GlobalAddress make_board(std::uint32_t rank) {
        auto made = ranks_[rank].allocator->allocate(rank, board_bytes, 64);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        EXPECT_TRUE(ranks_[rank].allocator->clear(made.value(), sizeof(BoardBlock)).is_ok());
        return made.value();
    }

    acp::test::RankNode ranks_;
    acp::test::Random random_;
    std::vector<std::unique_ptr<Member>> parts_;
};

}  // namespace acp::team::test
