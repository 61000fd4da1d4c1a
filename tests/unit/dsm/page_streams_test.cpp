// SPDX-License-Identifier: BSD-3-Clause
// A rank touches pages in some order: which ones it finds mapped, and which were fetched in vain.
#include "dsm/page_streams.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

#include "support/random.hpp"

namespace acp::dsm::test {
namespace {

using pages::PageNumber;

// The faults of a rank. Each one maps its page, and the window without the sentinel.
class StreamTest : public testing::Test {
protected:
    static constexpr std::uint64_t pages_count = 1 << 14;

    void touch(PageNumber page) {
        touched_.insert(page);
        if (mapped_.state(page) != MappedState::absent) return;
        ++faults_;
        const StreamWindow window = streams_.on_fault(page);
        EXPECT_LE(window.count, PageStreams::window_pages_max);
        for (std::uint64_t i = 0; i < window.count; ++i) {
            const PageNumber ahead = window.at(i);
            ASSERT_LT(ahead, pages_count);
            ahead_.insert(ahead);
            if (ahead != window.sentinel) mapped_.map(ahead, MappedState::is_protected);
        }
        mapped_.map(page, MappedState::is_protected);
    }

    void touch_stream(PageNumber page, std::int64_t stride, int count) {
        for (int i = 0; i < count; ++i, page += static_cast<PageNumber>(stride)) touch(page);
    }

    // Pages that were fetched ahead and not touched.
    [[nodiscard]] std::size_t vain() const {
        std::size_t count = 0;
        for (const PageNumber page : ahead_) count += touched_.contains(page) ? 0U : 1U;
        return count;
    }

    MappedPages<> mapped_{pages_count};
    PageStreams streams_{mapped_, 1};
    std::set<PageNumber> touched_;
    std::set<PageNumber> ahead_;
    int faults_ = 0;
};

TEST_F(StreamTest, ascending_and_descending_streams_fault_once_for_each_window) {
    touch_stream(100, 1, 1024);
    EXPECT_LE(faults_, 3 + 6 + 1024 / 64);
    EXPECT_LE(vain(), 96U);
    faults_ = 0;
    touch_stream(9000, -1, 1024);
    EXPECT_LE(faults_, 3 + 6 + 1024 / 64);
    EXPECT_LE(vain(), 192U);
}

TEST_F(StreamTest, streams_of_a_longer_stride_have_windows_of_16_pages) {
    const auto expect_few_faults = [this](PageNumber first, std::int64_t stride) {
        faults_ = 0;
        touch_stream(first, stride, 200);
        EXPECT_LE(faults_, 4 + 5 + 200 / 16 + 1) << stride;
    };
    expect_few_faults(0, 2);
    expect_few_faults(500, 5);
    expect_few_faults(3500, -7);
    expect_few_faults(4000, 16);
    expect_few_faults(12000, -16);
    EXPECT_LE(vain(), 5 * 24U);
}

TEST_F(StreamTest, eight_streams_that_alternate_are_all_found) {
    for (PageNumber i = 0; i < 128; ++i) {
        for (PageNumber stream = 0; stream < 8; ++stream) touch(stream * 2000 + i);
    }
    EXPECT_LE(faults_, 8 * (3 + 6 + 128 / 32));
}

TEST_F(StreamTest, a_stream_ends_at_the_first_and_the_last_page) {
    touch_stream(pages_count - 50, 1, 50);
    touch_stream(49, -1, 50);
    touch_stream(pages_count - 1, -100, 160);
    EXPECT_EQ(touched_.size(), 50U + 50U + 160U - 1U);
}

TEST_F(StreamTest, short_streams_fetch_at_most_twice_what_they_use_in_vain) {
    for (int length = 1; length < 200; ++length) {
        StreamWindow window;
        MappedPages<> mapped(pages_count);
        PageStreams streams(mapped, 1);
        std::uint64_t fetched = 0;
        for (PageNumber page = 0; page < static_cast<PageNumber>(length); ++page) {
            if (mapped.state(page) != MappedState::absent) continue;
            window = streams.on_fault(page);
            mapped.map(page, MappedState::is_protected);
            for (std::uint64_t i = 0; i < window.count; ++i) {
                fetched = window.at(i) + 1;
                if (window.at(i) != window.sentinel)
                    mapped.map(window.at(i), MappedState::is_protected);
            }
        }
        EXPECT_LE(fetched, 3U * static_cast<unsigned>(length)) << length;
        if (length < 3) {
            EXPECT_EQ(fetched, 0U);
        }
    }
}

// Faults that lie as far apart as windows are long: the sentinels stay untouched.
TEST_F(StreamTest, a_stream_that_becomes_sparse_stops_to_fetch_pages_between) {
    touch_stream(0, 1, 300);
    ahead_.clear();
    touch_stream(384, 64, 200);
    EXPECT_LE(vain(), 3 * 64U + 24U);
}

TEST_F(StreamTest, random_touches_fetch_next_to_nothing_ahead) {
    acp::test::Random random(7);
    for (int i = 0; i < 2000; ++i) touch(random.below(pages_count));
    EXPECT_LE(ahead_.size(), 40U);
}

TEST_F(StreamTest, pages_that_were_touched_at_random_between_do_not_end_a_stream) {
    acp::test::Random random(3);
    int of_stream = 0;
    for (PageNumber i = 0; i < 512; ++i) {
        const int before = faults_;
        touch(i);
        of_stream += faults_ - before;
        touch(1000 + random.below(pages_count - 1000));
    }
    EXPECT_LE(of_stream, 3 + 6 + 512 / 32);
}

// Another rank of the node has fetched pages: a fault maps the rest of its block of 16.
TEST_F(StreamTest, a_stream_through_pages_that_come_in_blocks_is_found) {
    for (PageNumber page = 0; page < 1024; ++page) {
        const bool was_absent = mapped_.state(page) == MappedState::absent;
        touch(page);
        if (!was_absent) continue;
        for (PageNumber of = page / 16 * 16; of < page / 16 * 16 + 16; ++of)
            mapped_.map(of, MappedState::is_protected);
    }
    EXPECT_LE(faults_, 1024 / 32);
}

TEST_F(StreamTest, a_page_dropped_behind_a_stream_does_not_continue_it) {
    touch_stream(0, 1, 40);
    for (PageNumber page = 0; page < pages_count; ++page) mapped_.set(page, MappedState::absent);
    ahead_.clear();
    touch(200);
    touch(20);
    EXPECT_TRUE(ahead_.empty());
}

TEST_F(StreamTest, a_stream_whose_pages_were_dropped_does_not_continue_behind_them) {
    PageNumber last = 0;
    for (PageNumber page = 0; page < 200; ++page) {
        const int before = faults_;
        touch(page);
        if (faults_ != before) last = page;
    }
    for (PageNumber page = 0; page < pages_count; ++page) mapped_.set(page, MappedState::absent);
    ahead_.clear();
    touch(last + 20);
    EXPECT_TRUE(ahead_.empty());
}

TEST_F(StreamTest, a_window_is_as_long_as_it_may_be_at_most) {
    for (const std::uint64_t ahead_max : {0U, 1U, 3U, 10U}) {
        MappedPages<> mapped(pages_count);
        PageStreams streams(mapped, 1);
        std::uint64_t longest = 0;
        for (PageNumber page = 0; page < 400; ++page) {
            if (mapped.state(page) != MappedState::absent) continue;
            const StreamWindow window = streams.on_fault(page, ahead_max);
            longest = std::max(longest, window.count);
            mapped.map(page, MappedState::is_protected);
            for (std::uint64_t i = 0; i < window.count; ++i)
                if (window.at(i) != window.sentinel)
                    mapped.map(window.at(i), MappedState::is_protected);
        }
        EXPECT_EQ(longest, ahead_max);
    }
}

// A fault there shows that the stream uses what was fetched for it.
TEST_F(StreamTest, a_window_of_four_pages_or_more_has_a_sentinel_in_its_second_half) {
    std::uint64_t with_sentinel = 0;
    for (PageNumber page = 0; page < 1000; ++page) {
        if (mapped_.state(page) != MappedState::absent) continue;
        const StreamWindow window = streams_.on_fault(page);
        mapped_.map(page, MappedState::is_protected);
        for (std::uint64_t i = 0; i < window.count; ++i)
            if (window.at(i) != window.sentinel)
                mapped_.map(window.at(i), MappedState::is_protected);
        if (window.count < 4) {
            EXPECT_EQ(window.sentinel, StreamWindow::no_unit);
            continue;
        }
        ++with_sentinel;
        EXPECT_GE(window.sentinel, window.at(window.count / 2));
        EXPECT_LE(window.sentinel, window.at(window.count - 1));
    }
    EXPECT_GT(with_sentinel, 5U);
}

TEST_F(StreamTest, a_window_of_whole_blocks_has_64_pages_at_most) {
    PageStreams streams(mapped_, 16);
    const auto map_block = [this](PageNumber block) {
        for (PageNumber i = 0; i < 16; ++i) mapped_.map(block * 16 + i, MappedState::is_protected);
    };
    std::uint64_t longest = 0;
    for (PageNumber block = 0; block < 64; ++block) {
        if (mapped_.state(block * 16) != MappedState::absent) continue;
        const StreamWindow window = streams.on_fault(block * 16 + 5);
        map_block(block);
        for (std::uint64_t i = 0; i < window.count; ++i) {
            EXPECT_GT(window.at(i), block);
            if (window.at(i) != window.sentinel) map_block(window.at(i));
        }
        longest = std::max(longest, window.count);
    }
    EXPECT_EQ(longest, 4U);
}

TEST_F(StreamTest, threads_that_fault_at_once_get_windows_in_the_range) {
    std::vector<std::thread> threads;
    for (PageNumber thread = 0; thread < 4; ++thread) {
        threads.emplace_back([this, thread] {
            for (PageNumber page = thread * 4000; page < thread * 4000 + 2000; ++page) {
                if (mapped_.state(page) != MappedState::absent) continue;
                const StreamWindow window = streams_.on_fault(page);
                for (std::uint64_t i = 0; i < window.count; ++i) {
                    if (window.at(i) >= pages_count) std::abort();
                    if (window.at(i) != window.sentinel)
                        mapped_.map(window.at(i), MappedState::is_protected);
                }
                mapped_.map(page, MappedState::is_protected);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace acp::dsm::test
