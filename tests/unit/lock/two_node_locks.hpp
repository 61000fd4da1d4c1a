// SPDX-License-Identifier: BSD-3-Clause
// A lock in the heap of rank 0, and a thread of each rank that contends for it. Ranks 0 and 1 are on
// the lock's node, 2 and 3 on the other one.
#pragma once

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "support/scoped_watchdog.hpp"
#include "unit/data/two_nodes.hpp"
#include "unit/lock/lock_scene.hpp"

namespace acp::lock::test {

//   Party  a contender: Contender, or one of the same constructor
template <typename Party>
class TwoNodeLocksTest : public testing::Test {
protected:
    TwoNodeLocksTest() {
        for (std::uint32_t rank = 0; rank < data::test::TwoNodes::procs; ++rank) {
            locks_.push_back(std::make_unique<Locks>(*node_[rank].gma, *node_[rank].allocator));
            if (rank == 0) lock_ = locks_[0]->make(0).value();
            contenders_.push_back(std::make_unique<Party>(*locks_[rank], lock_));
        }
        node_.template count<operations::GrantLock>(grants_);
        node_.template count<operations::PollLock>(polls_);
    }

    [[nodiscard]] GlobalAddress lock() const { return lock_; }

    Locks& locks(std::uint32_t rank) { return *locks_[rank]; }

    Party& rank(std::uint32_t rank) { return *contenders_[rank]; }

    LockWords words() { return {node_[0].gma->space(), lock_}; }

    std::atomic<std::uint32_t> grants_{0};  // notifications of waiters of other nodes
    std::atomic<std::uint32_t> polls_{0};
    acp::test::ScopedWatchdog watchdog_{"unit_lock: a thread waits for ever"};
    data::test::TwoNodes node_;
    std::vector<std::unique_ptr<Locks>> locks_;
    GlobalAddress lock_ = 0;
    std::vector<std::unique_ptr<Party>> contenders_;
};

}  // namespace acp::lock::test
