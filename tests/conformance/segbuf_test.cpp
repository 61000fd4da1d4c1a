// SPDX-License-Identifier: BSD-3-Clause
// Segmented buffers: every segment arrives once, whole and in order, of any size, wherever the
// buffers lie, whether the source or the destination calls first; every misuse is refused and
// changes nothing; freed memory is reclaimed.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <acp.h>

#include "conformance/lives.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

using Buffer = std::vector<unsigned char>;

struct Geometry {
    std::size_t bytes;
    std::size_t count;
};

// Fills a segment so that each of its bytes identifies it.
void fill(unsigned char* segment, std::size_t bytes, std::uint64_t number) {
    Random random(number * 7 + bytes);
    for (std::size_t i = 0; i < bytes; ++i) segment[i] = static_cast<unsigned char>(random.next());
}

bool is_segment(const unsigned char* segment, std::size_t bytes, std::uint64_t number) {
    Buffer expected(bytes);
    fill(expected.data(), bytes, number);
    return std::equal(expected.begin(), expected.end(), segment);
}

class SegbufTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(240);
    }

    [[nodiscard]] int next() const { return (rank_ + 1) % procs_; }

    [[nodiscard]] int previous() const { return (rank_ + procs_ - 1) % procs_; }

    static void expect_refused(int code, const std::string& part) { expect_error(code, {part}); }

    static void expect_connected(acp_segbuf_t segbuf) {
        ASSERT_NE(segbuf, ACP_SEGBUF_NULL) << acp_error_message();
        ASSERT_EQ(acp_connect_segbuf(segbuf), 0) << acp_error_message();
        ASSERT_EQ(acp_isconnected_segbuf(segbuf), 0);
    }

    static void await(int (*question)(acp_segbuf_t), acp_segbuf_t segbuf) {
        int answer = 1;
        while ((answer = question(segbuf)) == 1) {
        }
        ASSERT_EQ(answer, 0) << acp_error_message();
    }

    // Fills and sends the next segment as soon as one is free.
    static void send(acp_segbuf_t segbuf,
                     unsigned char* buffer,
                     Geometry of,
                     std::uint64_t number) {
        await(acp_isready_segbuf, segbuf);
        const std::size_t place = number % of.count;
        ASSERT_EQ(acp_query_segbuf_tail(segbuf), static_cast<std::int64_t>(number));
        fill(buffer + place * of.bytes, of.bytes, number);
        ASSERT_EQ(acp_ack_segbuf(segbuf), 0) << acp_error_message();
    }

    static void receive(acp_segbuf_t segbuf,
                        const unsigned char* buffer,
                        Geometry of,
                        std::uint64_t number) {
        await(acp_isacked_segbuf, segbuf);
        const std::size_t place = number % of.count;
        ASSERT_EQ(acp_query_segbuf_head(segbuf), static_cast<std::int64_t>(number));
        ASSERT_TRUE(is_segment(buffer + place * of.bytes, of.bytes, number))
            << "segment " << number << " of " << of.bytes << " bytes";
        ASSERT_EQ(acp_ready_segbuf(segbuf), 0) << acp_error_message();
    }

    static void part(acp_segbuf_t segbuf) {
        EXPECT_EQ(acp_disconnect_segbuf(segbuf), 0) << acp_error_message();
        EXPECT_EQ(acp_free_segbuf(segbuf), 0) << acp_error_message();
    }

    // Sends segments from rank 0 to rank `receiver`, with buffers at the given places.
    void carry(int receiver, unsigned char* buffer, Geometry of, std::uint64_t segments) const {
        const bool is_source = rank_ == 0;
        const acp_segbuf_t segbuf =
            is_source ? acp_create_src_segbuf(receiver, buffer, of.bytes, of.count)
                      : acp_create_dst_segbuf(0, buffer, of.bytes, of.count);
        expect_connected(segbuf);
        for (std::uint64_t i = 0; i < segments && !HasFatalFailure(); ++i) {
            if (is_source) send(segbuf, buffer, of, i);
            if (!is_source) receive(segbuf, buffer, of, i);
        }
        part(segbuf);
    }
};

TEST_F(SegbufTest, segments_of_every_size_arrive_whole_and_in_order) {
    for (int receiver = 1; receiver < procs_; ++receiver) {
        if (rank_ != 0 && rank_ != receiver) continue;
        for (const Geometry of :
             {Geometry{1, 1}, Geometry{8, 3}, Geometry{64, 300}, Geometry{900, 7},
              Geometry{1'000, 2}, Geometry{4'096, 16}, Geometry{40'000, 5}, Geometry{1 << 20, 3},
              Geometry{2'000, 700}}) {
            Buffer buffer(of.bytes * of.count);
            carry(receiver, buffer.data(), of, std::min<std::uint64_t>(3 * of.count + 5, 400));
            ASSERT_FALSE(HasFatalFailure()) << of.count << " segments of " << of.bytes;
        }
    }
}

TEST_F(SegbufTest, buffers_may_lie_in_starter_memory_and_in_the_heap) {
    if (rank_ > 1 || procs_ < 2) return;
    constexpr Geometry of{512, 8};
    auto* const starter =
        static_cast<unsigned char*>(acp_query_address(acp_query_starter_ga(rank_)));
    carry(1, starter, of, 50);
    const acp_ga_t block = acp_malloc(of.bytes * of.count, rank_);
    ASSERT_NE(block, ACP_GA_NULL);
    carry(1, static_cast<unsigned char*>(acp_query_address(block)), of, 50);
    EXPECT_EQ(acp_free(block), 0);
}

TEST_F(SegbufTest, all_ranks_send_round_a_ring_at_once) {
    if (procs_ < 2) return;
    constexpr Geometry of{2'048, 4};
    constexpr std::uint64_t segments = 200;
    Buffer out(of.bytes * of.count);
    Buffer in(of.bytes * of.count);
    const acp_segbuf_t source = acp_create_src_segbuf(next(), out.data(), of.bytes, of.count);
    const acp_segbuf_t destination =
        acp_create_dst_segbuf(previous(), in.data(), of.bytes, of.count);
    expect_connected(source);
    expect_connected(destination);
    for (std::uint64_t i = 0; i < segments && !HasFatalFailure(); ++i) {
        send(source, out.data(), of, i);
        receive(destination, in.data(), of, i);
    }
    EXPECT_EQ(acp_disconnect_segbuf(source), 0);
    EXPECT_EQ(acp_disconnect_segbuf(destination), 0);
    EXPECT_EQ(acp_free_segbuf(source), 0) << acp_error_message();
    EXPECT_EQ(acp_free_segbuf(destination), 0) << acp_error_message();
}

TEST_F(SegbufTest, a_source_is_full_until_segments_are_given_back) {
    if (rank_ > 1 || procs_ < 2) return;
    constexpr Geometry of{32, 4};
    Buffer buffer(of.bytes * of.count);
    const acp_segbuf_t segbuf = rank_ == 0
                                    ? acp_create_src_segbuf(1, buffer.data(), of.bytes, of.count)
                                    : acp_create_dst_segbuf(0, buffer.data(), of.bytes, of.count);
    expect_connected(segbuf);
    const acp_ch_t ask = acp_create_ch(0, 1);
    const acp_ch_t answer = acp_create_ch(1, 0);
    unsigned char byte = 0;
    if (rank_ == 0) {
        for (std::uint64_t i = 0; i < of.count; ++i) send(segbuf, buffer.data(), of, i);
        EXPECT_EQ(acp_isready_segbuf(segbuf), 1);
        EXPECT_EQ(acp_isacked_segbuf(segbuf), 0) << "the source knows that some are there";
        EXPECT_EQ(acp_ack_segbuf(segbuf), -1);
        expect_refused(ACP_ERR_LIMIT, "given no segment back");
        // acp_query_segbuf_sent is below the number of segments sent until all have left, though
        // the place of the next segment is the same as before the first.
        while (acp_query_segbuf_sent(segbuf) != acp_query_segbuf_tail(segbuf)) {
        }
        EXPECT_EQ(acp_query_segbuf_sent(segbuf), static_cast<std::int64_t>(of.count));
        EXPECT_EQ(acp_send_ch(ask, &byte, 1), 0);
        EXPECT_EQ(acp_recv_ch(answer, &byte, 1), 1U);
        await(acp_isready_segbuf, segbuf);
        EXPECT_EQ(acp_query_segbuf_head(segbuf), 1);
        EXPECT_EQ(acp_query_segbuf_tail(segbuf), static_cast<std::int64_t>(of.count));
        send(segbuf, buffer.data(), of, of.count);
        EXPECT_EQ(acp_isready_segbuf(segbuf), 1);
        EXPECT_EQ(acp_send_ch(ask, &byte, 1), 0);
    } else {
        EXPECT_EQ(acp_recv_ch(ask, &byte, 1), 1U);
        receive(segbuf, buffer.data(), of, 0);
        EXPECT_EQ(acp_query_segbuf_sent(segbuf), -1);
        expect_refused(ACP_ERR_ARGUMENT, "destination");
        EXPECT_EQ(acp_send_ch(answer, &byte, 1), 0);
        EXPECT_EQ(acp_recv_ch(ask, &byte, 1), 1U);
        for (std::uint64_t i = 1; i <= of.count; ++i) receive(segbuf, buffer.data(), of, i);
        EXPECT_EQ(acp_ready_segbuf(segbuf), -1);
        EXPECT_TRUE(acp_errno() == ACP_ERR_LIMIT || acp_errno() == ACP_ERR_STALE);
    }
    part(segbuf);
    EXPECT_EQ(acp_free_ch(ask), 0);
    EXPECT_EQ(acp_free_ch(answer), 0);
}

TEST_F(SegbufTest, what_was_sent_before_the_source_disconnected_is_still_read) {
    if (rank_ > 1 || procs_ < 2) return;
    constexpr Geometry of{100'000, 4};
    Buffer buffer(of.bytes * of.count);
    const acp_segbuf_t segbuf = rank_ == 0
                                    ? acp_create_src_segbuf(1, buffer.data(), of.bytes, of.count)
                                    : acp_create_dst_segbuf(0, buffer.data(), of.bytes, of.count);
    expect_connected(segbuf);
    if (rank_ == 0) {
        for (std::uint64_t i = 0; i < of.count; ++i) send(segbuf, buffer.data(), of, i);
    } else {
        for (std::uint64_t i = 0; i < of.count; ++i) receive(segbuf, buffer.data(), of, i);
        int answer = 1;
        while ((answer = acp_isacked_segbuf(segbuf)) == 1) {
        }
        EXPECT_EQ(answer, -1);
        expect_refused(ACP_ERR_STALE, "disconnected");
    }
    part(segbuf);
}

TEST_F(SegbufTest, ends_belong_together_in_the_order_in_which_each_rank_made_them) {
    if (rank_ > 1 || procs_ < 2) return;
    constexpr std::size_t count = 10;
    std::vector<Buffer> buffers(count);
    std::vector<acp_segbuf_t> ends;
    for (std::size_t i = 0; i < count; ++i) {
        // Ends of different sizes would refuse to connect.
        buffers[i].resize(8 * (i + 1));
        ends.push_back(rank_ == 0 ? acp_create_src_segbuf(1, buffers[i].data(), 8, i + 1)
                                  : acp_create_dst_segbuf(0, buffers[i].data(), 8, i + 1));
    }
    for (std::size_t i = count; i-- > 0;) {
        const acp_segbuf_t segbuf = ends[i];
        expect_connected(segbuf);
        if (rank_ == 0) send(segbuf, buffers[i].data(), {8, i + 1}, 0);
        if (rank_ == 1) receive(segbuf, buffers[i].data(), {8, i + 1}, 0);
    }
    for (const acp_segbuf_t segbuf : ends) part(segbuf);
}

TEST_F(SegbufTest, ends_of_different_sizes_are_refused_with_the_values_of_both) {
    if (rank_ > 1 || procs_ < 2) return;
    Buffer buffer(4'096);
    for (const std::size_t segments : {std::size_t{4}, std::size_t{8}}) {
        const std::size_t bytes = segments == 4 ? 512 : 64;
        const acp_segbuf_t segbuf = rank_ == 0
                                        ? acp_create_src_segbuf(1, buffer.data(), 64, 4)
                                        : acp_create_dst_segbuf(0, buffer.data(), bytes, segments);
        ASSERT_NE(segbuf, ACP_SEGBUF_NULL) << acp_error_message();
        EXPECT_EQ(acp_connect_segbuf(segbuf), -1);
        expect_refused(ACP_ERR_ARGUMENT, "the source, rank 0, has 4 segments of 64 bytes");
        expect_refused(ACP_ERR_ARGUMENT, "the destination, rank 1, has " +
                                             std::to_string(segments) + " segments of " +
                                             std::to_string(bytes) + " bytes");
        EXPECT_EQ(acp_isconnected_segbuf(segbuf), -1);
        EXPECT_EQ(rank_ == 0 ? acp_ack_segbuf(segbuf) : acp_ready_segbuf(segbuf), -1);
        if (segments == 4) {
            EXPECT_EQ(acp_free_segbuf(segbuf), 0) << acp_error_message();
        } else {
            part(segbuf);
        }
    }
}

TEST_F(SegbufTest, ends_that_come_and_go_leave_nothing_in_the_heap) {
    if (procs_ < 2) return;
    Buffer out(20'000);
    Buffer in(20'000);
    const auto use = [&](int times) {
        for (int i = 0; i < times && !HasFatalFailure(); ++i) {
            const std::size_t bytes = i % 2 == 0 ? 500 : 5'000;
            const acp_segbuf_t source = acp_create_src_segbuf(next(), out.data(), bytes, 4);
            const acp_segbuf_t destination = acp_create_dst_segbuf(previous(), in.data(), bytes, 4);
            expect_connected(source);
            expect_connected(destination);
            send(source, out.data(), {bytes, 4}, 0);
            receive(destination, in.data(), {bytes, 4}, 0);
            EXPECT_EQ(acp_disconnect_segbuf(source), 0);
            EXPECT_EQ(acp_disconnect_segbuf(destination), 0);
            ASSERT_EQ(acp_free_segbuf(source), 0) << acp_error_message();
            ASSERT_EQ(acp_free_segbuf(destination), 0) << acp_error_message();
        }
    };
    const auto allocated = [&] {
        sync_ranks();
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(rank_, &stat), 0);
        sync_ranks();
        return stat.allocated;
    };
    // The map in which ends find their partners keeps some erased entries until they are reclaimed
    // (table/reclaimer.hpp).
    constexpr std::size_t kept_bytes = 64 << 10;
    use(150);
    const std::size_t before = allocated();
    allow_seconds(static_cast<unsigned>(240 + lives_of_ends() / 50));
    use(lives_of_ends());
    EXPECT_LT(allocated(), before + kept_bytes) << "300 landing areas would have 300 KiB";
    EXPECT_LT(before, 2 * kept_bytes);
}

TEST_F(SegbufTest, threads_share_an_end) {
    if (rank_ > 1 || procs_ < 2) return;
    constexpr int threads = 3;
    constexpr int each = 200;
    constexpr Geometry of{8, 16};
    std::vector<std::uint64_t> buffer(of.count);
    const acp_segbuf_t segbuf = rank_ == 0
                                    ? acp_create_src_segbuf(1, buffer.data(), of.bytes, of.count)
                                    : acp_create_dst_segbuf(0, buffer.data(), of.bytes, of.count);
    expect_connected(segbuf);
    std::atomic<int> moved{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&] {
            while (moved.load() < threads * each) {
                const int status = rank_ == 0 ? acp_ack_segbuf(segbuf) : acp_ready_segbuf(segbuf);
                if (status == 0) ++moved;
                if (status != 0 && acp_errno() != ACP_ERR_LIMIT) {
                    ADD_FAILURE() << acp_error_message();
                    return;
                }
                if (rank_ == 0 && moved.load() + threads > threads * each) return;
                if (status != 0) sched_yield();
            }
        });
        if (rank_ == 1) break;  // rank 1 has one thread, which counts the segments
    }
    for (std::thread& worker : workers) worker.join();
    if (rank_ == 0) {
        while (moved.load() < threads * each) {
            await(acp_isready_segbuf, segbuf);
            ASSERT_EQ(acp_ack_segbuf(segbuf), 0) << acp_error_message();
            ++moved;
        }
        EXPECT_EQ(moved.load(), threads * each);
    }
    part(segbuf);
}

TEST_F(SegbufTest, bad_arguments_are_refused) {
    Buffer buffer(64);
    const auto expect_no_end = [&](int other, void* at, std::size_t bytes, std::size_t count,
                                   const std::string& part) {
        EXPECT_EQ(acp_create_src_segbuf(other, at, bytes, count), ACP_SEGBUF_NULL);
        expect_refused(ACP_ERR_ARGUMENT, part);
        EXPECT_EQ(acp_create_dst_segbuf(other, at, bytes, count), ACP_SEGBUF_NULL);
        expect_refused(ACP_ERR_ARGUMENT, part);
    };
    expect_no_end(rank_, buffer.data(), 8, 8, "the calling one");
    expect_no_end(procs_, buffer.data(), 8, 8, std::to_string(procs_) + " is not one of");
    expect_no_end(-1, buffer.data(), 8, 8, "-1 is not one of");
    if (procs_ > 1) {
        expect_no_end(next(), nullptr, 8, 8, "NULL");
        expect_no_end(next(), buffer.data(), 0, 8, "1 or more");
        expect_no_end(next(), buffer.data(), 8, 0, "1 or more");
        expect_no_end(next(), buffer.data(), std::size_t{1} << 62, 1, "2^61");
        expect_no_end(next(), buffer.data(), std::size_t{1} << 32, std::size_t{1} << 32, "2^61");
        // NOLINTNEXTLINE(performance-no-int-to-ptr): nothing is mapped there
        auto* const nowhere = reinterpret_cast<void*>(std::uintptr_t{0x1000});
        expect_no_end(next(), nowhere, 4'096, 8, "not mapped");
        expect_no_end(next(), nowhere, 64, 8, "not mapped");
        expect_no_end(next(), static_cast<char*>(nowhere) + 8, 64, 8,
                      "the buffer at 0x1008 (8 segments of 64 bytes): ");
        // The heap has no room for one word per segment.
        constexpr std::size_t many = std::size_t{1} << 30;
        void* const room = mmap(nullptr, many, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ASSERT_NE(room, MAP_FAILED);
        EXPECT_EQ(acp_create_dst_segbuf(next(), room, 1, many), ACP_SEGBUF_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
        munmap(room, many);
    }
    for (const std::uintptr_t number :
         {std::uintptr_t{0}, std::uintptr_t{1}, std::uintptr_t{77}, ~std::uintptr_t{0}}) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle that a program may hold by mistake
        const auto segbuf = reinterpret_cast<acp_segbuf_t>(number);
        for (const auto call :
             {acp_connect_segbuf, acp_isconnected_segbuf, acp_ready_segbuf, acp_ack_segbuf,
              acp_isready_segbuf, acp_isacked_segbuf, acp_disconnect_segbuf, acp_free_segbuf}) {
            EXPECT_EQ(call(segbuf), -1);
            expect_refused(ACP_ERR_STALE, "no such segmented buffer");
        }
        for (const auto query :
             {acp_query_segbuf_head, acp_query_segbuf_tail, acp_query_segbuf_sent}) {
            EXPECT_EQ(query(segbuf), -1);
            expect_refused(ACP_ERR_STALE, "no such segmented buffer");
        }
    }
}

TEST_F(SegbufTest, calls_in_the_wrong_state_are_refused) {
    if (rank_ > 1 || procs_ < 2) return;
    Buffer buffer(64);
    const auto expect_state = [&](acp_segbuf_t segbuf, const std::string& part) {
        for (const auto call :
             {acp_ready_segbuf, acp_ack_segbuf, acp_isready_segbuf, acp_isacked_segbuf}) {
            EXPECT_EQ(call(segbuf), -1);
            expect_refused(ACP_ERR_STATE, part);
        }
        EXPECT_EQ(acp_query_segbuf_tail(segbuf), -1);
        expect_refused(ACP_ERR_STATE, part);
    };
    const acp_ch_t go = acp_create_ch(0, 1);
    unsigned char byte = 0;
    if (rank_ == 1) {
        EXPECT_EQ(acp_recv_ch(go, &byte, 1), 1U);
    }
    const acp_segbuf_t segbuf = rank_ == 0 ? acp_create_src_segbuf(1, buffer.data(), 8, 8)
                                           : acp_create_dst_segbuf(0, buffer.data(), 8, 8);
    if (rank_ == 0) {
        EXPECT_EQ(acp_isconnected_segbuf(segbuf), 1);
        expect_state(segbuf, "not connected");
        EXPECT_EQ(acp_send_ch(go, &byte, 1), 0);
    }
    expect_connected(segbuf);
    EXPECT_EQ(rank_ == 0 ? acp_ready_segbuf(segbuf) : acp_ack_segbuf(segbuf), -1);
    expect_refused(ACP_ERR_ARGUMENT, rank_ == 0 ? "its source" : "its destination");
    EXPECT_EQ(acp_free_segbuf(segbuf), -1);
    expect_refused(ACP_ERR_STATE, "acp_disconnect_segbuf");
    // Neither end has disconnected before.
    EXPECT_EQ(acp_free_ch(go), 0);
    EXPECT_EQ(acp_disconnect_segbuf(segbuf), 0);
    expect_state(segbuf, "disconnected");
    EXPECT_EQ(acp_isconnected_segbuf(segbuf), -1);
    EXPECT_EQ(acp_disconnect_segbuf(segbuf), -1);
    expect_refused(ACP_ERR_STATE, "disconnected");
    EXPECT_EQ(acp_free_segbuf(segbuf), 0) << acp_error_message();
    EXPECT_EQ(acp_free_segbuf(segbuf), -1);
    expect_refused(ACP_ERR_STALE, "no such segmented buffer");
}

TEST_F(SegbufTest, acp_reset_drops_open_ends_and_their_handles_mean_nothing_afterwards) {
    constexpr Geometry of{100, 4};
    Buffer buffer(of.bytes * of.count);
    Buffer never_used(of.bytes * of.count);
    const bool is_of_two = rank_ < 2 && procs_ > 1;
    const auto make = [&](Buffer& of_end) {
        return rank_ == 0 ? acp_create_src_segbuf(1, of_end.data(), of.bytes, of.count)
                          : acp_create_dst_segbuf(0, of_end.data(), of.bytes, of.count);
    };
    for (int round = 0; round < 3; ++round) {
        // The epoch starts here, so the open ends are its first: their handles are those that the
        // first ends of the next epoch would get.
        ASSERT_EQ(acp_reset(acp_rank()), 0) << acp_error_message();
        acp_segbuf_t open = ACP_SEGBUF_NULL;
        if (is_of_two) {
            open = make(buffer);
            expect_connected(open);
            if (rank_ == 0) send(open, buffer.data(), of, 0);
            // An end without a partner.
            if (rank_ == 0) {
                EXPECT_NE(make(never_used), ACP_SEGBUF_NULL);
            }
        }
        ASSERT_EQ(acp_reset(acp_rank()), 0) << acp_error_message();
        if (!is_of_two) continue;
        const acp_segbuf_t segbuf = make(buffer);
        EXPECT_EQ(acp_isconnected_segbuf(open), -1);
        expect_refused(ACP_ERR_STALE, "no such segmented buffer");
        expect_connected(segbuf);
        for (std::uint64_t i = 0; i < 10; ++i) {
            if (rank_ == 0) send(segbuf, buffer.data(), of, i);
            if (rank_ == 1) receive(segbuf, buffer.data(), of, i);
        }
        part(segbuf);
    }
}

}  // namespace
}  // namespace acp::test
