// SPDX-License-Identifier: BSD-3-Clause
// Words by which threads name the records that they read: a reclaimer gets the named records, but
// not those that a dead process has named; and no record is reclaimed while a thread reads it.
// Threads and forked processes.
#include "local/hazard_words.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "os/mapping.hpp"

#include "unit/local/test_owner.hpp"

namespace acp::local::test {
namespace {

using Words = HazardWords<2>;

class HazardWordsTest : public testing::Test {
protected:
    static os::Mapping mapped() {
        auto memory = os::Mapping::map_anonymous(2 * Words::bytes);
        EXPECT_TRUE(memory.is_ok());
        return std::move(memory).value();
    }

    [[nodiscard]] Words::HazardRange range() const { return {memory_.data(), Words::bytes}; }

    static std::vector<std::uint64_t> named_by(const Words& words) {
        std::vector<std::uint64_t> named;
        words.for_each_named([&](std::uint64_t record) { named.push_back(record); });
        std::sort(named.begin(), named.end());
        return named;
    }

    node::Segment node_ = make_node(2, 2);
    os::Mapping memory_ = mapped();
    Hazards hazards_{node_, 0};
    Hazards others_{node_, 1};
    Words words_{node_, hazards_, range()};
    Words words_of_others_{node_, others_, range()};
};

TEST_F(HazardWordsTest, return_all_addresses_named_by_any_process_and_no_others) {
    EXPECT_EQ(named_by(words_), std::vector<std::uint64_t>());
    {
        Words::Names names(words_);
        names.name(0, 17);
        names.name(1, 18);
        std::thread([&] {
            Words::Names of_another(words_of_others_);
            of_another.name(1, 19);
            EXPECT_EQ(named_by(words_), (std::vector<std::uint64_t>{17, 18, 19}));
        }).join();
        names.name(0, 20);
        EXPECT_EQ(named_by(words_of_others_), (std::vector<std::uint64_t>{18, 20}));
    }
    EXPECT_EQ(named_by(words_), std::vector<std::uint64_t>());
}

TEST_F(HazardWordsTest, are_there_for_every_thread_however_many_there_are) {
    constexpr std::uint32_t threads = memory::hazard_lines_per_slot + 8;
    std::vector<std::thread> crew;
    std::atomic<std::uint32_t> seen{0};
    for (std::uint32_t i = 0; i < threads; ++i) {
        crew.emplace_back([&, i] {
            Words::Names names(words_);
            names.name(0, 1000 + i);
            const auto named = named_by(words_);
            seen += static_cast<std::uint32_t>(std::count(named.begin(), named.end(), 1000 + i));
        });
    }
    for (std::thread& thread : crew) thread.join();
    EXPECT_EQ(seen.load(), threads) << "each sees its own name";
    EXPECT_EQ(named_by(words_), std::vector<std::uint64_t>());
}

TEST_F(HazardWordsTest, of_a_dead_process_count_for_nothing) {
    {
        Words::Names names(words_of_others_);
        names.name(0, 5);
        ASSERT_EQ(named_by(words_), std::vector<std::uint64_t>{5});
        node::mark_dead(node_, 1, SIGKILL);
        EXPECT_EQ(named_by(words_), std::vector<std::uint64_t>());
    }
}

// Readers follow a pointer that a writer replaces; the writer overwrites records that are no longer
// named. A reader must not find an overwritten record. Both ways of naming.
class HazardWordsRace : public HazardWordsTest, public testing::WithParamInterface<bool> {};

TEST_P(HazardWordsRace, nothing_is_spoilt_under_a_reader) {
    constexpr std::uint64_t records_count = 8;
    constexpr std::uint64_t good = 0x600D;
    constexpr int rounds = 20'000;
    if (GetParam()) {
        node_.control().is_membarrier_refused.store(1, std::memory_order_relaxed);
    } else if (!hazards_.has_membarrier()) {
        GTEST_SKIP() << "the kernel gives no membarrier, or the tool sees none";
    }
    Words of_readers(node_, hazards_, range());
    Words of_writer(node_, others_, range());
    std::array<std::atomic<std::uint64_t>, records_count + 1> records{};
    for (auto& record : records) record.store(good, std::memory_order_relaxed);
    std::atomic<std::uint64_t> current{1};
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> reads{0};
    std::atomic<std::uint64_t> betrayals{0};
    const auto read = [&] {
        std::uint64_t tries = 0;
        while (!is_over.load(std::memory_order_relaxed)) {
            Words::Names names(of_readers);
            const std::uint64_t record = current.load(std::memory_order_acquire);
            // lets the writer run between load and naming
            if (++tries % 8 == 0) std::this_thread::yield();
            names.name(0, record);
            if (current.load(std::memory_order_seq_cst) != record) continue;
            if (tries % 8 == 1) std::this_thread::yield();
            if (records[record].load(std::memory_order_relaxed) != good) ++betrayals;
            reads.fetch_add(1, std::memory_order_relaxed);
        }
    };
    std::thread first(read);
    std::thread second(read);
    std::vector<std::uint64_t> free_records;
    std::vector<std::uint64_t> retired;
    for (std::uint64_t record = 2; record <= records_count; ++record)
        free_records.push_back(record);
    for (int round = 0; round < rounds || reads.load(std::memory_order_relaxed) < 1000; ++round) {
        if (!free_records.empty()) {
            // the record that has been free for longest
            const std::uint64_t fresh = free_records.front();
            free_records.erase(free_records.begin());
            records[fresh].store(good, std::memory_order_relaxed);
            retired.push_back(current.exchange(fresh, std::memory_order_seq_cst));
        }
        std::vector<std::uint64_t> kept;
        std::array<bool, records_count + 1> is_named{};
        of_writer.for_each_named([&](std::uint64_t record) { is_named[record] = true; });
        for (const std::uint64_t record : retired) {
            if (is_named[record]) {
                kept.push_back(record);
            } else {
                records[record].store(0, std::memory_order_relaxed);
                free_records.push_back(record);
            }
        }
        retired = kept;
    }
    is_over.store(true);
    first.join();
    second.join();
    EXPECT_EQ(betrayals.load(), 0U);
    EXPECT_GE(reads.load(), 1000U);
}

INSTANTIATE_TEST_SUITE_P(, HazardWordsRace, testing::Bool(), [](const auto& which) {
    return which.param ? "with_a_fence_of_its_own" : "by_membarrier";
});

// namespace acp::local::test
}  // namespace
}  // namespace acp::local::test
