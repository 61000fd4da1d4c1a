// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks send numbered PM messages to each other without end, until one of them is
// killed. Each survivor then gets ACP_ERR_PEER, and exchanges a fixed number of messages with the
// other survivors.
#include <cstring>
#include <poll.h>
#include <string>
#include <unistd.h>

#include <acp.h>

#include "pm/kill_board.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"
#include "support/victim_rank.hpp"

namespace acp::test {
namespace {

// Messages to each survivor.
constexpr std::uint64_t count_after = 500;

class Exchanger : VictimRank<PmNote> {
public:
    explicit Exchanger(PmBoard& board)
        : VictimRank(board.ranks[acp_rank()]),
          victim_(board.victim.load(std::memory_order_relaxed)) {}

    int run() {
        note_.process.store(getpid(), std::memory_order_relaxed);
        pm_ = acp_open_pm(0);
        must(pm_ != ACP_PM_NULL, "acp_open_pm");
        Random random(static_cast<std::uint64_t>(acp_rank()) + 1);
        for (std::uint64_t turn = 0; !is_told_ && is_all_right(); ++turn) {
            if (turn == 2000) note_.is_at_work.store(1, std::memory_order_release);
            const int to = static_cast<int>(random.below(pm_ranks));
            wait_for_room_ns_ = random.chance(3) ? wait_ns(turn) : 0;
            (void)send(to, number_[to], random.chance(5) ? 8000 : 64);
            wait_for_room_ns_ = 0;
            (void)receive();
            // Now and then a rank sleeps until a message arrives. A rank that already knows of the
            // death does not, since it may have received all messages of the others.
            if (is_told_) continue;
            if (random.chance(1)) must(acp_wait_pm(pm_, wait_ns(turn)) >= 0, "acp_wait_pm");
            if (random.chance(1)) sleep_in_poll(wait_ns(turn));
        }
        go_on_with_others();
        void* buffer = nullptr;
        must(acp_get_buffer_pm(pm_, victim_, 8, &buffer) == -1 && acp_errno() == ACP_ERR_PEER,
             "a buffer for the victim");
        must(std::string(acp_error_message()).find("rank " + std::to_string(victim_)) !=
                 std::string::npos,
             "the message does not name the victim");
        must(acp_close_pm(pm_) == 0, "acp_close_pm");
        acp_finalize();
        return exit_status();
    }

private:
    struct Content {
        std::uint64_t number;
        std::uint64_t is_last;
    };

    // Without a timeout once the kill can come, since the death ends the wait.
    static std::int64_t wait_ns(std::uint64_t turn) { return turn < 2000 ? 100'000 : -1; }

    void sleep_in_poll(std::int64_t timeout_ns) {
        pollfd wanted{-1, POLLIN, 0};
        const int may_sleep = acp_before_select_pm(pm_, &wanted.fd);
        must(may_sleep >= 0, "acp_before_select_pm");
        if (may_sleep == 1) (void)poll(&wanted, 1, timeout_ns < 0 ? -1 : 1);
        must(acp_after_select_pm(pm_) == 0, "acp_after_select_pm");
    }

    bool send(int to, std::uint64_t& number, std::size_t size, bool is_last = false) {
        void* buffer = nullptr;
        const int has_room = wait_for_room_ns_ != 0
                                 ? acp_wait_buffer_pm(pm_, to, size, &buffer, wait_for_room_ns_)
                                 : acp_get_buffer_pm(pm_, to, size, &buffer);
        must(has_room >= 0 || (to == victim_ && acp_errno() == ACP_ERR_PEER), "acp_get_buffer_pm");
        if (has_room != 1) return false;
        fill_and_send(buffer, number, is_last);
        return true;
    }

    void fill_and_send(void* buffer, std::uint64_t& number, bool is_last) {
        const Content content{number, is_last ? 1U : 0U};
        std::memcpy(buffer, &content, sizeof content);
        must(acp_send_pm(pm_) == 0, "acp_send_pm");
        ++number;
    }

    void be_told() {
        if (!is_told_) note_.told_at_ns.store(now_ns(), std::memory_order_relaxed);
        is_told_ = true;
    }

    bool receive() {
        const void* data = nullptr;
        std::size_t size = 0;
        int source = -1;
        const bool is_promised = random_.chance(20) && acp_wait_pm(pm_, 0) == 1;
        const int has_come = acp_receive_pm(pm_, &data, &size, &source);
        must(!is_promised || has_come != 0, "acp_wait_pm has ended for nothing");
        if (has_come == -1) {
            // Survivors that are done leave, and their departures are reported after the victim's
            // death, each once.
            must(acp_errno() == ACP_ERR_PEER && !has_gone_[source], "acp_receive_pm");
            has_gone_[source] = true;
            if (source != victim_) {
                must(last_seen_ > 0, "no rank is reported as gone before the victim");
                return false;
            }
            be_told();
            return false;
        }
        if (has_come != 1) return false;
        Content content{};
        std::memcpy(&content, data, sizeof content);
        must(content.number == expected_[source]++, "a message is lost, doubled or out of order");
        last_seen_ += static_cast<int>(content.is_last);
        must(!has_gone_[source], "no message of a rank arrives after the report of its end");
        if (!is_told_ && random_.chance(2)) wait_while_holding();
        must(acp_release_pm(pm_) == 0, "acp_release_pm");
        return true;
    }

    // A rank that holds a received message cannot receive another one, so it must not get
    // ACP_PM_RECEIVE_FIRST.
    void wait_while_holding() {
        const auto to = static_cast<int>(random_.below(pm_ranks));
        void* buffer = nullptr;
        const int outcome = acp_wait_buffer_pm(pm_, to, 8000, &buffer, 20'000);
        must(outcome != ACP_PM_RECEIVE_FIRST,
             "ACP_PM_RECEIVE_FIRST is not returned while a message is held");
        must(outcome >= 0 || acp_errno() == ACP_ERR_PEER, "acp_wait_buffer_pm");
        if (outcome == 1) fill_and_send(buffer, number_[to], false);
    }

    void go_on_with_others() {
        std::uint64_t left[pm_ranks] = {};
        std::uint64_t all_left = 0;
        for (int to = 0; to < pm_ranks; ++to) {
            left[to] = to == victim_ ? 0 : count_after;
            all_left += left[to];
        }
        while ((all_left > 0 || last_seen_ < pm_ranks - 1 || acp_test_sent_pm(pm_) == 0) &&
               is_all_right()) {
            for (int to = 0; to < pm_ranks; ++to) {
                if (left[to] == 0 || !send(to, number_[to], 64, left[to] == 1)) continue;
                --left[to];
                --all_left;
            }
            while (receive()) {
            }
        }
    }

    Random random_{static_cast<std::uint64_t>(acp_rank()) + 100};
    int victim_;
    acp_pm_t pm_ = ACP_PM_NULL;
    std::int64_t wait_for_room_ns_ = 0;
    bool is_told_ = false;
    bool has_gone_[pm_ranks] = {};
    int last_seen_ = 0;
    std::uint64_t number_[pm_ranks] = {};
    std::uint64_t expected_[pm_ranks] = {};
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::PmBoard, acp::test::Exchanger>(argc, argv, "pm_victim");
}
