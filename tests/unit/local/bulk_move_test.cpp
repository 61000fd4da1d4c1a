// SPDX-License-Identifier: BSD-3-Clause
// The choice between plain and streamed stores, by ways whose samples take scripted times; and the
// streamed stores of this processor at every alignment. One thread.
#include "local/bulk_move.hpp"

#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "local/direct.hpp"

namespace acp::local::test {
namespace {

constexpr std::uint64_t slow = 100;

// Writes what was called, with the KiB of each range, and moves the bytes.
class ScriptedWays {
public:
    explicit ScriptedWays(std::deque<std::uint64_t> samples) : samples_(std::move(samples)) {}

    void plain(char* target, const char* source, std::uint64_t bytes) {
        move('p', target, source, bytes);
    }

    void stream(char* target, const char* source, std::uint64_t bytes) {
        move('s', target, source, bytes);
    }

    void load(const char* /*source*/, std::uint64_t bytes) { note('l', bytes); }

    // The second call of a sample is later by its scripted time.
    std::uint64_t ticks() {
        is_begun_ = !is_begun_;
        if (is_begun_) return now_;
        if (!samples_.empty()) {
            now_ += samples_.front();
            samples_.pop_front();
        }
        return now_;
    }

    [[nodiscard]] static bool is_slow(std::uint64_t ticks) { return ticks >= slow; }

    [[nodiscard]] const std::string& calls() const { return calls_; }

private:
    void move(char way, char* target, const char* source, std::uint64_t bytes) {
        std::memcpy(target, source, bytes);
        note(way, bytes);
    }

    void note(char way, std::uint64_t bytes) {
        calls_ += way + std::to_string(bytes >> 10U) + (bytes % 1024 != 0 ? "+ " : " ");
    }

    std::deque<std::uint64_t> samples_;
    std::string calls_;
    std::uint64_t now_ = 0;
    bool is_begun_ = false;
};

std::vector<char> pattern(std::size_t bytes) {
    std::vector<char> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<char>(i * 7 + i / 251 + 1);
    return made;
}

// Moves bytes, expects them to have come, and returns the calls.
std::string calls_of(std::uint64_t bytes, std::deque<std::uint64_t> samples) {
    const std::vector<char> source = pattern(bytes);
    std::vector<char> target(bytes);
    ScriptedWays ways(std::move(samples));
    BulkMove<ScriptedWays>(ways).run(target.data(), source.data(), bytes);
    EXPECT_EQ(target, source);
    return ways.calls();
}

TEST(BulkMove, is_plain_where_the_first_sample_is_quick) {
    EXPECT_EQ(calls_of(16 << 10, {1}), "p4 p12 ");
    EXPECT_EQ(calls_of((16 << 10) + 1, {1}), "p4 p12+ ");
}

TEST(BulkMove, is_streamed_where_stores_are_slow) {
    EXPECT_EQ(calls_of(16 << 10, {slow, slow}), "p4 l4 p4 s8 ");
    EXPECT_EQ(calls_of((64 << 10) + 5, {slow, slow}), "p4 l4 p4 s56+ ");
}

TEST(BulkMove, is_plain_where_only_loads_were_slow) {
    EXPECT_EQ(calls_of(16 << 10, {slow, 1}), "p4 l4 p4 p8 ");
}

TEST(BulkMove, chooses_anew_for_each_part_and_moves_a_short_rest_plainly) {
    EXPECT_EQ(calls_of((512 << 10) + 100, {1, slow, slow}), "p4 p252 p4 l4 p4 s248 p0+ ");
    EXPECT_EQ(calls_of((272 << 10), {slow, 1, 1}), "p4 l4 p4 p248 p4 p12 ");
}

TEST(BulkMove, of_few_bytes_takes_no_sample) {
    EXPECT_EQ(calls_of(sampled_bytes_min - 1, {}), "p15+ ");
    EXPECT_EQ(calls_of(0, {}), "");
}

TEST(BulkMove, streams_exactly_the_bytes_asked_for_at_any_alignment) {
    constexpr std::size_t margin = 128;
    for (const std::size_t bytes : {0U, 1U, 63U, 64U, 65U, 127U, 128U, 1000U, 16384U}) {
        for (std::size_t from = 0; from < 64; from += 7) {
            for (std::size_t to = 0; to < 64; to += 5) {
                const std::vector<char> source = pattern(bytes + margin);
                std::vector<char> target(bytes + margin, 'x');
                std::vector<char> expected = target;
                std::memcpy(expected.data() + to, source.data() + from, bytes);
                ProcessorWays::stream(target.data() + to, source.data() + from, bytes);
                ASSERT_EQ(target, expected) << bytes << " bytes from " << from << " to " << to;
            }
        }
    }
}

// move_bytes() goes by samples from here on.
TEST(BulkMove, of_this_processor_moves_all_bytes) {
    for (const std::uint64_t bytes : {sampled_bytes_min - 1, sampled_bytes_min,
                                      part_bytes + sampled_bytes_min - 1, 3 * part_bytes + 77}) {
        const std::vector<char> source = pattern(bytes);
        std::vector<char> target(bytes);
        for (int i = 0; i < 3; ++i) {
            target.assign(bytes, 'x');
            move_bytes(target.data(), source.data(), bytes);
            ASSERT_EQ(target, source) << bytes;
        }
    }
}

}  // namespace
}  // namespace acp::local::test
