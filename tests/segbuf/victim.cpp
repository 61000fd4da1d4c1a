// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks send numbered segments to each other without end, until the middle one is
// killed. Rank 0 is a source for the victim, rank 2 a destination; a second thread of both
// exchanges segments with the other survivor all the time. The calls of both then fail; both free
// their ends, and exchange segments once more.
#include <atomic>
#include <cstdio>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "segbuf/kill_board.hpp"
#include "support/clock.hpp"
#include "support/victim_rank.hpp"

namespace acp::test {
namespace {

constexpr std::size_t words = 64;  // words of a segment
constexpr std::size_t segments = 8;
constexpr std::size_t bytes = words * sizeof(std::uint64_t);

class Ring {
public:
    acp_segbuf_t make_source(int rank) {
        return end = acp_create_src_segbuf(rank, room.data(), bytes, segments);
    }

    acp_segbuf_t make_destination(int rank) {
        return end = acp_create_dst_segbuf(rank, room.data(), bytes, segments);
    }

    std::uint64_t* place(std::uint64_t number) { return &room[number % segments * words]; }

    // Returns 0, or -1 on failure.
    int send(std::uint64_t number) {
        int answer = 1;
        while ((answer = acp_isready_segbuf(end)) == 1) {
        }
        if (answer != 0) return -1;
        std::fill_n(place(number), words, number);
        return acp_ack_segbuf(end);
    }

    // Returns 0, 1 if the segment was not whole, or -1 on failure.
    int receive(std::uint64_t number) {
        int answer = 1;
        while ((answer = acp_isacked_segbuf(end)) == 1) {
        }
        if (answer != 0) return -1;
        for (std::size_t i = 0; i < words; ++i) {
            if (place(number)[i] != number) return 1;
        }
        return acp_ready_segbuf(end);
    }

    int part() { return acp_disconnect_segbuf(end) == 0 ? acp_free_segbuf(end) : -1; }

    acp_segbuf_t end = ACP_SEGBUF_NULL;

private:
    std::vector<std::uint64_t> room = std::vector<std::uint64_t>(words * segments);
};

class Worker : VictimRank<SegbufNote> {
public:
    explicit Worker(SegbufBoard& board)
        : VictimRank(board.ranks[acp_rank()]),
          scene_(static_cast<Scene>(board.scene.load(std::memory_order_relaxed))),
          rank_(acp_rank()) {}

    int run() {
        note_.process.store(getpid(), std::memory_order_relaxed);
        if (rank_ == victim_rank) relay();
        exchange([](std::uint64_t number) { return number == 40; });
        const std::int64_t before = blocks();
        std::thread beside([this] {
            // Rank 0 chooses the last number for both.
            exchange([this](std::uint64_t number) {
                return rank_ == 0 && is_over_.load() && number > 40;
            });
        });
        use_victim();
        is_over_.store(true);
        beside.join();
        note_.blocks_left.store(blocks() - before, std::memory_order_relaxed);
        must(acp_heap_check(rank_) == 0, "acp_heap_check");
        acp_finalize();
        return exit_status();
    }

private:
    // The victim forwards the segments that it receives, or does nothing.
    [[noreturn]] void relay() {
        Ring in;
        Ring out;
        if (scene_ != Scene::connecting) {
            in.make_destination(0);
            out.make_source(2);
            left_open_.make_destination(0);
            must(acp_connect_segbuf(in.end) == 0 && acp_connect_segbuf(out.end) == 0, "connecting");
            must(acp_connect_segbuf(left_open_.end) == 0,
                 "connecting the segmented buffer that stays open");
        }
        note_.is_at_work.store(1, std::memory_order_release);
        for (std::uint64_t number = 0; scene_ == Scene::asking; ++number) {
            if (in.receive(number) != 0 || out.send(number) != 0) break;
        }
        for (;;) pause();
    }

    void use_victim() {
        Ring ring;
        const bool is_source = rank_ == 0;
        must((is_source ? ring.make_source(1) : ring.make_destination(1)) != ACP_SEGBUF_NULL,
             "an end with the victim");
        if (scene_ == Scene::connecting) note_.is_at_work.store(1, std::memory_order_release);
        const int connected = acp_connect_segbuf(ring.end);
        must((connected == 0) == (scene_ != Scene::connecting), "acp_connect_segbuf");
        const bool is_leaving_open = is_source && scene_ != Scene::connecting;
        if (is_leaving_open) {
            left_open_.make_source(1);
            must(acp_connect_segbuf(left_open_.end) == 0,
                 "connecting the segmented buffer that stays open");
        }
        if (scene_ == Scene::freeing) {
            for (std::uint64_t number = 0; is_source && number < 3; ++number) ring.send(number);
            note_.is_at_work.store(1, std::memory_order_release);
        }
        for (std::uint64_t number = 0; scene_ == Scene::asking; ++number) {
            const int moved = is_source ? ring.send(number) : ring.receive(number);
            must(moved != 1, "segment " + std::to_string(number) + " has other bytes");
            if (moved != 0) break;
            if (number == 50) note_.is_at_work.store(1, std::memory_order_release);
        }
        if (scene_ != Scene::freeing) expect_refused(ring);
        // An end whose connection failed need not be disconnected.
        const bool is_unconnected = scene_ == Scene::connecting;
        const int freed = is_unconnected ? acp_free_segbuf(ring.end) : ring.part();
        must(freed == -1 && acp_errno() == ACP_ERR_PEER, "freeing an end with the victim");
        if (scene_ == Scene::freeing)
            note_.refused_at_ns.store(now_ns(), std::memory_order_relaxed);
        must(acp_free_segbuf(ring.end) == -1 && acp_errno() == ACP_ERR_STALE, "freeing it again");
        for (const auto make : {&Ring::make_source, &Ring::make_destination}) {
            Ring late;
            must((late.*make)(1) == ACP_SEGBUF_NULL && acp_errno() == ACP_ERR_PEER,
                 "making an end for the dead victim");
        }
        // The message that this sends fails, and acp_finalize must not report that.
        must(!is_leaving_open || acp_disconnect_segbuf(left_open_.end) == 0, "disconnecting");
    }

    void expect_refused(const Ring& ring) {
        note_.refused_at_ns.store(now_ns(), std::memory_order_relaxed);
        must(acp_errno() == ACP_ERR_PEER, "a call with the victim");
        must(std::string(acp_error_message()).find("rank 1") != std::string::npos,
             "the message does not name rank 1");
        for (const auto call : {acp_isconnected_segbuf, acp_ready_segbuf, acp_ack_segbuf,
                                acp_isready_segbuf, acp_isacked_segbuf}) {
            const bool is_told = scene_ == Scene::connecting || call != acp_isconnected_segbuf;
            must(!is_told || (call(ring.end) == -1 && acp_errno() == ACP_ERR_PEER), "a later call");
        }
        must(acp_query_segbuf_tail(ring.end) == -1, "acp_query_segbuf_tail");
    }

    // Exchanges segments with the other survivor, both ways, until is_last(number) holds on rank 0,
    // which marks its last segment for rank 2.
    template <typename IsLast>
    void exchange(const IsLast& is_last) {
        constexpr std::uint64_t last_mark = std::uint64_t{1} << 63;
        Ring out;
        Ring in;
        out.make_source(2 - rank_);
        in.make_destination(2 - rank_);
        must(acp_connect_segbuf(out.end) == 0 && acp_connect_segbuf(in.end) == 0, "connecting");
        for (std::uint64_t number = 0;; ++number) {
            bool is_end = false;
            if (rank_ == 0) {
                is_end = is_last(number);
                must(await(acp_isready_segbuf, out.end), "acp_isready_segbuf of a survivor");
                out.place(number)[0] = is_end ? number | last_mark : number;
                must(acp_ack_segbuf(out.end) == 0, "acp_ack_segbuf to a survivor");
            }
            must(await(acp_isacked_segbuf, in.end), "acp_isacked_segbuf of a survivor");
            const std::uint64_t got = in.place(number)[0];
            must((got & ~last_mark) == number, "a segment of a survivor");
            must(acp_ready_segbuf(in.end) == 0, "acp_ready_segbuf of a survivor");
            if (rank_ == 2) {
                is_end = (got & last_mark) != 0;
                must(await(acp_isready_segbuf, out.end), "acp_isready_segbuf of a survivor");
                out.place(number)[0] = number;
                must(acp_ack_segbuf(out.end) == 0, "acp_ack_segbuf to a survivor");
            }
            note_.moved.fetch_add(1, std::memory_order_relaxed);
            if (is_end || note_.message[0] != '\0') break;
        }
        must(acp_disconnect_segbuf(out.end) == 0 && acp_disconnect_segbuf(in.end) == 0,
             "acp_disconnect_segbuf");
        must(acp_free_segbuf(out.end) == 0 && acp_free_segbuf(in.end) == 0,
             "freeing ends of survivors");
    }

    static bool await(int (*question)(acp_segbuf_t), acp_segbuf_t end) {
        int answer = 1;
        while ((answer = question(end)) == 1) {
        }
        return answer == 0;
    }

    Scene scene_;
    Ring left_open_;
    int rank_;
    std::atomic<bool> is_over_{false};
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::SegbufBoard, acp::test::Worker>(argc, argv,
                                                                            "segbuf_victim");
}
