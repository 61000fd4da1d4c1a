// SPDX-License-Identifier: BSD-3-Clause
// A home finds the bytes that it has written itself, also those that a difference overwrites, and counts
// none that another node has sent.
#include "pages/checked_page.hpp"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "pages/page_merge.hpp"
#include "support/random.hpp"

namespace acp::pages {
namespace {

using Bytes = std::array<std::byte, page_bytes>;

constexpr NodeNumber home = 0;

class CheckedPageTest : public testing::Test {
protected:
    // Another node writes a value at some places of a page that was all zero.
    void apply(NodeNumber node, const std::vector<std::size_t>& places, std::byte value) {
        const Bytes zeros{};
        Bytes changed{};
        for (const std::size_t place : places) changed[place] = value;
        DifferenceRoom room{};
        checked_.apply(code_, code_.make(room, changed, zeros), {node, node + 1}, masks_);
    }

    // The bytes that are noted as a node's.
    [[nodiscard]] WrittenBytes noted(NodeNumber node) const {
        WrittenBytes found;
        masks_.for_each_writer(0, [&](const PageWriter& writer, const WrittenBytes& bytes) {
            if (writer.node == node) found = bytes;
        });
        return found;
    }

    const DifferenceCode code_{ByteInstructions()};
    alignas(64) Bytes page_{};
    alignas(64) Bytes twin_{};
    std::vector<std::atomic<std::uint64_t>> memory_ =
        std::vector<std::atomic<std::uint64_t>>(WriterMasks<>::bytes(1, 8) / 8);
    WriterMasks<> masks_{memory_.data(), 1, 8};
    CheckedPage checked_{0, PageSpan(page_), PageSpan(twin_), home};
};

TEST_F(CheckedPageTest, changes_page_and_twin_alike) {
    apply(1, {0, 100, 4095}, std::byte{7});
    EXPECT_EQ(page_, twin_);
    EXPECT_EQ(page_[4095], std::byte{7});
    EXPECT_EQ(noted(1).count(), 3U);
    EXPECT_TRUE(noted(home).is_empty());
    EXPECT_TRUE(checked_.own_writes().is_empty());
}

TEST_F(CheckedPageTest, notes_the_home_s_bytes_that_a_difference_overwrites) {
    page_[4095] = std::byte{1};
    page_[63] = std::byte{1};
    page_[64] = std::byte{1};
    apply(1, {63, 65, 4095}, std::byte{7});
    EXPECT_EQ(noted(home).count(), 2U);
    EXPECT_EQ(noted(home).run_from(0).first, 63U);
    EXPECT_EQ(noted(home).run_from(64).first, 4095U);
    EXPECT_EQ(checked_.own_writes().count(), 1U) << "byte 64, which no other node wrote";
}

TEST_F(CheckedPageTest, finds_what_the_home_writes_behind_a_difference) {
    apply(1, {8}, std::byte{7});
    page_[8] = std::byte{9};
    EXPECT_EQ(checked_.own_writes().run_from(0).first, 8U);
    apply(2, {8}, std::byte{5});
    EXPECT_EQ(noted(home).count(), 1U);
}

// Whichever of the two writes comes first, and also while the difference is applied.
TEST_F(CheckedPageTest, finds_what_the_home_writes_beside_a_difference) {
    constexpr int rounds = 8'000;
    std::vector<std::size_t> places(page_bytes);
    std::iota(places.begin(), places.end(), 0);
    std::atomic<int> begun{0};
    std::atomic<int> written{0};
    std::thread writer([&] {
        for (int round = 1; round <= rounds; ++round) {
            while (begun.load() < round) std::this_thread::yield();
            for (int delay = round % 4096; delay != 0; --delay) asm volatile("");
            words_of(PageSpan(page_))[0].store(1, std::memory_order_relaxed);
            written.store(round);
        }
    });
    int missed = 0;
    for (int round = 1; round <= rounds; ++round) {
        page_.fill({});
        twin_.fill({});
        masks_.clear();
        begun.store(round);
        apply(1, places, std::byte{7});
        while (written.load() < round) std::this_thread::yield();
        if (noted(home).is_empty() && checked_.own_writes().is_empty()) ++missed;
    }
    writer.join();
    EXPECT_EQ(missed, 0);
}

TEST_F(CheckedPageTest, counts_no_byte_as_the_home_s_when_a_process_that_died_is_repeated) {
    page_[8] = std::byte{7};  // the page has the difference, the twin not yet
    apply(1, {8}, std::byte{7});
    EXPECT_TRUE(noted(home).is_empty());
    EXPECT_EQ(page_, twin_);
    apply(1, {8}, std::byte{7});
    EXPECT_TRUE(noted(home).is_empty());
}

TEST_F(CheckedPageTest, forgets_the_home_s_writes_of_the_epoch_before) {
    page_[0] = std::byte{1};
    page_[4095] = std::byte{1};
    checked_.end_own_writes();
    EXPECT_EQ(page_, twin_);
    apply(1, {0, 4095}, std::byte{7});
    EXPECT_TRUE(noted(home).is_empty());
}

TEST_F(CheckedPageTest, agrees_with_a_model_of_random_writers) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        test::Random random(seed);
        page_ = twin_ = Bytes{};
        masks_.clear();
        std::map<std::size_t, std::uint32_t> writers;  // a bit for each node
        std::uint8_t value = 0;
        for (std::uint64_t write = 0; write < 40; ++write) {
            const auto node = static_cast<NodeNumber>(random.below(3));
            const std::size_t place = random.below(60) * 70 % page_bytes;
            writers[place] |= 1U << node;
            ++value;  // no two writes are equal
            if (node == home) {
                page_[place] = std::byte{value};
            } else {
                apply(node, {place}, std::byte{value});
            }
        }
        WrittenBytes own = checked_.own_writes();
        own.add(noted(home));
        const std::array<WrittenBytes, 3> found = {own, noted(1), noted(2)};
        for (const auto& [place, nodes] : writers) {
            for (NodeNumber node = 0; node < 3; ++node) {
                const bool is_found = (found[node].line(place / 64) >> place % 64 & 1) != 0;
                EXPECT_EQ(is_found, (nodes >> node & 1) != 0) << place << " of node " << node;
            }
        }
    }
}

}  // namespace
}  // namespace acp::pages
