// SPDX-License-Identifier: BSD-3-Clause
// Revocation: after acp_unregister_memory has returned, no copy writes to the memory. The owner
// (rank 0) registers, unregisters, fills with a pattern and watches, while all others copy into the
// memory at full speed; also while they are stopped inside their copies. TEST_CYCLES is the number
// of cycles.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>
#include <unistd.h>

#include "support/arena.hpp"
#include "support/clock.hpp"
#include "support/commons.hpp"
#include "support/job.hpp"
#include "support/mode.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

std::uint64_t cycles_wanted(std::uint64_t otherwise) {
    const char* given = std::getenv("TEST_CYCLES");
    return given == nullptr ? otherwise : std::strtoull(given, nullptr, 0);
}

// Words that all ranks share, accessed atomically.
struct Signs {
    std::uint64_t address;  // the registered memory; 0 between registrations
    std::uint64_t bytes;    // the length of a copy
    std::uint64_t is_over;
    std::uint64_t landed;   // successful copies of all copiers
    std::uint64_t refused;  // copies that failed by an ended registration
};

std::uint64_t load(const std::uint64_t& word) {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}

void store(std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);  // pairs with load
}

void count(std::uint64_t& word) {
    std::atomic_ref(word).fetch_add(1, std::memory_order_relaxed);  // read after acp_sync
}

constexpr std::size_t memory_bytes = 1024 * 1024;
constexpr std::size_t source_place = 4096;

class RevokeTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        if (procs_ < 2 || !mode().reaches_private_memory()) {
            GTEST_SKIP() << "needs a rank that reaches another rank's registered memory";
        }
        signs_memory_ = std::make_unique<Commons<Signs>>();
        signs_ = &**signs_memory_;
        for (const std::uint64_t process : exchange(static_cast<std::uint64_t>(getpid()))) {
            processes_.push_back(static_cast<pid_t>(process));
        }
    }

    // Copies into the registered memory until the owner sets is_over.
    void copy_at_full_speed() {
        const acp_ga_t source = acp_query_starter_ga(rank_) + source_place;
        auto* bytes = static_cast<std::byte*>(acp_query_address(source));
        std::fill_n(bytes, memory_bytes, std::byte{0xff});
        Random random(static_cast<std::uint64_t>(rank_));
        while (load(signs_->is_over) == 0) {
            const acp_ga_t target = load(signs_->address);
            if (target == 0) {
                continue;
            }
            const std::size_t size = 1 + random.below(load(signs_->bytes));
            const std::size_t offset = random.below(memory_bytes - size + 1);
            const int code = acp_wait(acp_copy(target + offset, source, size, ACP_HANDLE_NULL), -1);
            EXPECT_TRUE(code == ACP_OK || code == ACP_ERR_STALE) << acp_error_message();
            count(code == ACP_OK ? signs_->landed : signs_->refused);
        }
    }

    // Fills the memory after its registration ended and watches it for a while.
    static void expect_untouched(std::vector<std::byte>& memory, int looks) {
        std::ranges::fill(memory, std::byte{0x3c});
        for (int look = 0; look < looks; ++look) {
            std::atomic_signal_fence(std::memory_order_seq_cst);  // look again each time
            const auto wrong = std::ranges::find_if(
                memory, [](std::byte byte) { return byte != std::byte{0x3c}; });
            ASSERT_EQ(wrong, memory.end()) << "byte " << wrong - memory.begin()
                                           << " changed after acp_unregister_memory returned";
        }
    }

    acp_atkey_t open_memory(std::vector<std::byte>& memory) {
        const acp_atkey_t key = acp_register_memory(memory.data(), memory.size(), 0);
        EXPECT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
        store(signs_->address, acp_query_ga(key, memory.data()));
        return key;
    }

    // Waits until more copies have landed, so that copiers are at work.
    void await_copies(std::uint64_t more) {
        const std::uint64_t goal = load(signs_->landed) + more;
        while (load(signs_->landed) < goal) {
        }
    }

    std::unique_ptr<Commons<Signs>> signs_memory_;
    Signs* signs_ = nullptr;
    std::vector<pid_t> processes_;
};

TEST_F(RevokeTest, lets_nothing_land_after_it_returned) {
    allow_seconds(600);
    const std::uint64_t cycles = cycles_wanted(mode().is_slow() ? 60 : 400);
    if (rank_ != 0) {
        copy_at_full_speed();
    } else {
        Random random(1);
        std::vector<std::byte> memory(memory_bytes);
        for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
            constexpr std::uint64_t sizes[] = {8, 300, 5000, memory_bytes};
            store(signs_->bytes, sizes[cycle % 4]);
            const acp_atkey_t key = open_memory(memory);
            await_copies(1 + random.below(5));
            // Half of the cycles revoke memory whose address is still published.
            if (random.chance(50)) {
                store(signs_->address, 0);
            }
            ASSERT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
            expect_untouched(memory, 2);
            store(signs_->address, 0);
        }
        store(signs_->is_over, 1);
        std::cout << cycles << " cycles, " << load(signs_->landed) << " copies landed, "
                  << load(signs_->refused) << " were refused\n";
    }
    sync_ranks();
}

// Stops a copier at a random moment. If it is inside an access, the owner's acp_unregister_memory
// waits until the copier is continued. In both cases no copy writes afterwards.
TEST_F(RevokeTest, waits_for_a_reader_that_is_stopped_inside_its_access) {
    allow_seconds(600);
    const std::uint64_t cycles = cycles_wanted(30);
    if (rank_ != 0) {
        copy_at_full_speed();
    } else {
        Random random(2);
        std::vector<std::byte> memory(memory_bytes);
        std::uint64_t delayed = 0;
        for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
            store(signs_->bytes, memory_bytes);
            const acp_atkey_t key = open_memory(memory);
            await_copies(2);
            const pid_t victim =
                processes_[1 + random.below(static_cast<std::uint64_t>(procs_ - 1))];
            ASSERT_EQ(kill(victim, SIGSTOP), 0);
            await_state(victim, "T");
            std::atomic<bool> has_returned{false};
            std::thread revoker([&] {
                EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
                has_returned.store(true, std::memory_order_release);  // pairs with the loads below
            });
            const std::int64_t deadline = now_ns() + 20 * millisecond_ns;
            while (!has_returned.load(std::memory_order_acquire) && now_ns() < deadline) {
            }
            if (has_returned.load(std::memory_order_acquire)) {
                expect_untouched(memory, 1);
            } else {
                ++delayed;
            }
            store(signs_->address, 0);
            ASSERT_EQ(kill(victim, SIGCONT), 0);
            revoker.join();
            expect_untouched(memory, 2);
        }
        store(signs_->is_over, 1);
        std::cout << delayed << " of " << cycles
                  << " unregistrations waited for the stopped reader\n";
    }
    sync_ranks();
}

// Overlapping registrations end one by one: the memory stays open through those that are left.
TEST_F(RevokeTest, revokes_one_of_several_registrations_of_the_same_memory) {
    std::vector<std::uint64_t> memory(64);
    std::vector<acp_atkey_t> keys;
    for (std::size_t index = 0; index < 4; ++index) {
        keys.push_back(acp_register_memory(memory.data(), 512, 0));
        ASSERT_NE(keys.back(), ACP_ATKEY_NULL) << acp_error_message();
    }
    const acp_ga_t own = acp_query_starter_ga(rank_) + source_place;
    const int next = (rank_ + 1) % procs_;
    for (std::size_t open = 0; open < keys.size(); ++open) {
        std::vector<acp_ga_t> addresses;
        for (const acp_atkey_t key : keys) {
            const acp_ga_t mine =
                key == ACP_ATKEY_NULL ? ACP_GA_NULL : acp_query_ga(key, memory.data());
            addresses.push_back(exchange(mine)[static_cast<std::size_t>(next)]);
        }
        for (std::size_t index = open; index < keys.size(); ++index) {
            expect_done(acp_copy(addresses[index] + 8 * index, own, 8, ACP_HANDLE_NULL));
        }
        sync_ranks();
        ASSERT_EQ(acp_unregister_memory(keys[open]), 0) << acp_error_message();
        keys[open] = ACP_ATKEY_NULL;
        sync_ranks();
        expect_failure(acp_copy(addresses[open], own, 8, ACP_HANDLE_NULL), ACP_ERR_STALE,
                       {"rank " + std::to_string(next)});
        sync_ranks();
    }
}

}  // namespace
}  // namespace acp::test
