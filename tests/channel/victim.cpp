// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks send numbered messages to each other without end, until the middle one is
// killed. Rank 0 sends to the victim, rank 2 receives from it. The requests of both then fail; both
// free their ends, and exchange messages with each other.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "channel/kill_board.hpp"
#include "support/clock.hpp"
#include "support/nodes.hpp"
#include "support/random.hpp"
#include "support/victim_rank.hpp"

namespace acp::test {
namespace {

constexpr std::size_t bytes_max = 600'000;
constexpr std::uint64_t early_messages = 20;
constexpr auto no_bytes = static_cast<std::size_t>(-1);

// A message whose words all are its number.
std::vector<std::uint64_t> message_of(std::uint64_t number) {
    Random random(number);
    std::size_t bytes = random.below(600);
    if (random.chance(20)) bytes = random.below(16'000);          // one record between nodes
    if (random.chance(10)) bytes = random.below(bytes_max / 10);  // through the ring or the pipe
    if (random.chance(3)) bytes = random.below(bytes_max);        // a loan on a node
    return std::vector<std::uint64_t>(bytes / 8 + 1, number);
}

class Worker : VictimRank<ChannelNote> {
public:
    explicit Worker(ChannelBoard& board)
        : VictimRank(board.ranks[acp_rank()]),
          rank_(acp_rank()),
          room_(static_cast<char*>(acp_query_address(acp_malloc(bytes_max + 8, rank_)))) {
        must(room_ != nullptr, "acp_malloc");
    }

    int run() {
        note_.process.store(getpid(), std::memory_order_relaxed);
        if (rank_ == victim_rank) relay();
        exchange(5);
        const std::int64_t before = blocks();
        if (rank_ == 0) send_to_victim();
        if (rank_ == 2) receive_from_victim();
        exchange(50);
        note_.blocks_left.store(blocks() - before, std::memory_order_relaxed);
        must(acp_heap_check(rank_) == 0, "acp_heap_check");
        note_.has_ended.store(1, std::memory_order_release);
        acp_finalize();
        return exit_status();
    }

private:
    // The victim forwards the messages that it receives.
    [[noreturn]] void relay() {
        const acp_ch_t in = acp_create_ch(0, 1);
        const acp_ch_t out = acp_create_ch(1, 2);
        const acp_ch_t early = acp_create_ch(1, 2);
        const acp_ch_t left_open = acp_create_ch(0, 1);
        for (std::uint64_t number = 0; number < early_messages; ++number)
            (void)acp_send_ch(early, &number, sizeof number);
        (void)acp_recv_ch(left_open, room_, sizeof(std::uint64_t));
        note_.is_at_work.store(1, std::memory_order_release);
        for (;;) {
            const std::size_t bytes = acp_recv_ch(in, room_, bytes_max + 8);
            if (bytes == no_bytes || acp_send_ch(out, room_, bytes) != 0) pause();
        }
    }

    void send_to_victim() {
        const acp_ch_t out = acp_create_ch(0, 1);
        // A channel with requests in flight when the victim dies. It is left open, and acp_finalize
        // must not report their failures.
        const acp_ch_t left_open = acp_create_ch(0, 1);
        for (std::uint64_t number = 0; number < early_messages; ++number)
            must(acp_nbsend_ch(left_open, &number, sizeof number) != ACP_REQUEST_NULL, "a send");
        for (std::uint64_t number = 0;; ++number) {
            const std::vector<std::uint64_t> message = message_of(number);
            std::memcpy(room_, message.data(), message.size() * 8);
            if (acp_send_ch(out, room_, message.size() * 8) != 0) break;
            if (number == 5) note_.is_at_work.store(1, std::memory_order_release);
        }
        end_with_victim(out);
    }

    void receive_from_victim() {
        const acp_ch_t in = acp_create_ch(1, 2);
        const acp_ch_t early = acp_create_ch(1, 2);
        for (std::uint64_t number = 0;; ++number) {
            const std::size_t bytes = acp_recv_ch(in, room_, bytes_max + 8);
            if (bytes == no_bytes) break;
            const std::vector<std::uint64_t> message = message_of(number);
            must(bytes == message.size() * 8 && std::memcmp(room_, message.data(), bytes) == 0,
                 "message " + std::to_string(number) + " has other bytes");
            if (number == 5) note_.is_at_work.store(1, std::memory_order_release);
        }
        end_with_victim(in);
        // On one node all early messages are in the ring.
        if (is_near(victim_rank)) receive_early(early);
        must(acp_free_ch(early) != 0 && acp_errno() == ACP_ERR_PEER,
             "acp_free_ch of the early one");
    }

    // Messages that a rank had sent before its death can be received after the death was reported.
    void receive_early(acp_ch_t early) {
        for (std::uint64_t number = 0; number < early_messages; ++number) {
            std::uint64_t got = 0;
            const acp_request_t request = acp_nbrecv_ch(early, &got, sizeof got);
            must(acp_wait_ch(request) == sizeof got && got == number, "an early message");
        }
    }

    void end_with_victim(acp_ch_t channel) {
        note_.refused_at_ns.store(now_ns(), std::memory_order_relaxed);
        must(acp_errno() == ACP_ERR_PEER, "a request with the victim");
        must(std::string(acp_error_message()).find("rank 1") != std::string::npos,
             "the message does not name rank 1");
        char byte = 0;
        const acp_request_t late =
            rank_ == 0 ? acp_nbsend_ch(channel, &byte, 1) : acp_nbrecv_ch(channel, &byte, 1);
        must(late == ACP_REQUEST_NULL || acp_wait_ch(late) == no_bytes,
             "a later request goes well");
        must(acp_free_ch(channel) != 0 && acp_errno() == ACP_ERR_PEER, "acp_free_ch");
        must(acp_free_ch(channel) != 0 && acp_errno() == ACP_ERR_STALE, "acp_free_ch once more");
        // A new channel with a rank that is known to be dead is refused, on a node and between
        // nodes.
        const auto make_another = [this] {
            return rank_ == 0 ? acp_create_ch(0, victim_rank) : acp_create_ch(victim_rank, 2);
        };
        // The driver sets this variable where the victim is stopped, alone on its node: it is not
        // known to be dead.
        if (std::getenv("ACP_PEER_TIMEOUT") != nullptr) return;
        for (acp_ch_t another = ACP_CH_NULL; (another = make_another()) != ACP_CH_NULL;)
            (void)acp_free_ch(another);
        must(acp_errno() == ACP_ERR_PEER, "acp_create_ch with the victim");
        must(std::string(acp_error_message()).find("rank 1") != std::string::npos,
             "acp_create_ch does not name rank 1");
    }

    // Exchanges messages with the other survivor, by new channels.
    void exchange(std::uint64_t messages) {
        const acp_ch_t out = acp_create_ch(rank_, 2 - rank_);
        const acp_ch_t in = acp_create_ch(2 - rank_, rank_);
        for (std::uint64_t number = 0; number < messages; ++number) {
            std::uint64_t got = 0;
            must(acp_send_ch(out, &number, sizeof number) == 0, "acp_send_ch to a survivor");
            must(acp_recv_ch(in, &got, sizeof got) == sizeof got && got == number,
                 "acp_recv_ch from a survivor");
        }
        acp_request_t frees[2] = {acp_nbfree_ch(out), acp_nbfree_ch(in)};
        must(acp_waitall_ch(frees, 2, nullptr) == 0, "freeing channels of survivors");
    }

    int rank_;
    char* room_;  // bytes_max + 8 bytes in the heap, so that long messages are loans
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::ChannelBoard, acp::test::Worker>(argc, argv,
                                                                             "channel_victim");
}
