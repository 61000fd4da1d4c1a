// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one node in this process, each with its teams and plans. Collective calls run in one
// thread for each rank; start(), test() and wait() of a plan may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "local/shared_memory.hpp"
#include "team/teams.hpp"

#include "execution/plans.hpp"
#include "support/rank_node.hpp"

namespace acp::execution::test {

// Bytes that name their sender, round and place.
inline char byte_of(std::uint32_t from, std::uint64_t round, std::uint64_t i) {
    return static_cast<char>(from * 67 + round * 29 + i * 3 + i / 251);
}

// The result of compiling or loading a plan.
struct CompiledPlan {
    PlanHandle plan = 0;
    base::Code code = base::Code::ok;
    std::string words;  // the message of the failure

    void set(base::Result<PlanHandle> made) {
        if (made.is_ok()) {
            plan = made.value();
            return;
        }
        const base::Status why = std::move(made).failure();
        code = why.code();
        words = why.message();
    }
};

class PlanNode {
public:
    explicit PlanNode(std::uint32_t procs, std::uint64_t heap_bytes = 8 << 20)
        : ranks_(procs, heap_bytes) {
        for (std::uint32_t rank = 0; rank < procs; ++rank) {
            acp::test::NodeRank& own = ranks_[rank];
            teams_.push_back(std::make_unique<team::Teams>(*own.gma, *own.hashed, *own.allocator,
                                                           message::ChannelSettings{}, false, 0));
            worlds_.push_back(teams_[rank]->world());
            plans_.push_back(std::make_unique<Plans>(*own.gma, *own.allocator, *teams_[rank], 1,
                                                     Plans::HandlesMade{}));
        }
    }

    ~PlanNode() {
        for (auto& plans : plans_) plans->settle_sent();
        for (auto& teams : teams_) teams->settle_sent();
    }

    PlanNode(const PlanNode&) = delete;
    PlanNode& operator=(const PlanNode&) = delete;

    [[nodiscard]] std::uint32_t size() const { return ranks_.size(); }

    [[nodiscard]] Plans& plans(std::uint32_t rank) { return *plans_[rank]; }

    [[nodiscard]] team::Teams& teams(std::uint32_t rank) { return *teams_[rank]; }

    [[nodiscard]] team::TeamHandle world(std::uint32_t rank) { return worlds_[rank]; }

    [[nodiscard]] acp::test::RankNode& ranks() { return ranks_; }

    void on_all(const std::function<void(std::uint32_t)>& body) {
        acp::test::in_threads(size(), body);
    }

    // A pattern of the team of all ranks, to which fill(pattern) adds.
    [[nodiscard]] PatternHandle pattern(std::uint32_t rank,
                                        const std::function<base::Status(Pattern&)>& fill) {
        auto made = plans(rank).make_pattern(world(rank));
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        const base::Status filled = plans(rank).add(made.value(), fill);
        EXPECT_TRUE(filled.is_ok()) << filled.message();
        return made.value();
    }

    using Fill = std::function<base::Status(std::uint32_t rank, Pattern& pattern)>;

    // Compiles the pattern that `fill` makes on each rank. Returns the results by rank.
    [[nodiscard]] std::vector<CompiledPlan> try_compile(const Fill& fill,
                                                        const char* network = nullptr) {
        std::vector<CompiledPlan> made(size());
        on_all([&](std::uint32_t rank) {
            const PatternHandle handle =
                pattern(rank, [&](Pattern& own) { return fill(rank, own); });
            made[rank].set(plans(rank).compile(handle, network));
            EXPECT_TRUE(plans(rank).free_pattern(handle).is_ok());
        });
        return made;
    }

    [[nodiscard]] std::vector<PlanHandle> compile(const Fill& fill) {
        std::vector<PlanHandle> plans;
        for (const CompiledPlan& made : try_compile(fill)) {
            EXPECT_EQ(made.code, base::Code::ok) << made.words;
            plans.push_back(made.plan);
        }
        return plans;
    }

    void free(const std::vector<PlanHandle>& handles) {
        on_all([&](std::uint32_t rank) {
            const base::Status freed = plans(rank).free_plan(handles[rank]);
            EXPECT_TRUE(freed.is_ok()) << freed.message();
        });
    }

    // The bytes of blocks in the heap of a rank.
    [[nodiscard]] std::uint64_t used(std::uint32_t rank) {
        return ranks_[rank].allocator->usage(rank).value().block_bytes;
    }

    // Memory of the rank's heap, which the whole node has mapped.
    [[nodiscard]] char* shared(std::uint32_t rank, std::uint64_t bytes) {
        auto made = ranks_[rank].allocator->allocate(rank, bytes, 64);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return local::shared_pointer(ranks_[rank].gma->space(), rank, made.value());
    }

private:
    acp::test::RankNode ranks_;
    std::vector<std::unique_ptr<team::Teams>> teams_;
    std::vector<team::TeamHandle> worlds_;
    std::vector<std::unique_ptr<Plans>> plans_;
};

}  // namespace acp::execution::test
