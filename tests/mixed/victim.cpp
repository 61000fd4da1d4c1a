// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks use containers, channels, PM messages, teams and plans at once, all in
// the same random order, until one of them is killed. Each survivor then gets a failed call, and
// leaves at once or after a last message from each neighbour, as the board says.
#include <array>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "mixed/mixed_board.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"
#include "support/victim_rank.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t steps_before_strike = 20;
// The longest message, and the largest call on a team.
constexpr std::size_t words_max = 6000;
constexpr std::uint64_t last_message = ~std::uint64_t{0};

class Worker : VictimRank<MixedNote> {
public:
    explicit Worker(MixedBoard& board)
        : VictimRank(board.ranks[acp_rank()]),
          board_(board),
          rank_(acp_rank()),
          agreed_(board.seed),
          own_(board.seed + static_cast<std::uint64_t>(rank_) + 1) {}

    int run() {
        note_.process.store(getpid(), std::memory_order_relaxed);
        make_all();
        for (std::uint64_t count = 0; is_all_right() && step(); ++count) {
            if (count == steps_before_strike) note_.is_at_work.store(1, std::memory_order_release);
        }
        note_.refused_at_ns.store(now_ns(), std::memory_order_relaxed);
        must(acp_errno() == ACP_ERR_PEER, "the code is " + std::to_string(acp_errno()));
        if (board_.after == AfterDeath::part) part();
        for (int i = 0; i < 30; ++i) use_containers();
        (void)acp_free_plan(plan_);
        (void)acp_close_pm(pm_);
        acp_finalize();
        note_.left_at_ns.store(now_ns(), std::memory_order_relaxed);
        return exit_status();
    }

private:
    void make_all() {
        if (rank_ == board_.first_survivor()) {
            std::vector<int> hosts;
            for (int rank = 0; rank < mixed_ranks; ++rank)
                if (rank != board_.victim) hosts.push_back(rank);
            board_.map = acp_create_map(static_cast<int>(hosts.size()), hosts.data(), 1, rank_);
            board_.deque = acp_create_deque(0, rank_);
            must(board_.map.ga != ACP_GA_NULL && board_.deque.ga != ACP_GA_NULL, "containers");
        }
        must(acp_sync() == 0, "acp_sync");
        team_ = acp_split_team(acp_world_team(), 0, -rank_);
        half_ = acp_split_team(acp_world_team(), rank_ % 2, rank_);
        must(team_ != ACP_TEAM_NULL && half_ != ACP_TEAM_NULL, "acp_split_team");
        out_ = acp_create_ch(rank_, next());
        in_ = acp_create_ch(previous(), rank_);
        must(out_ != ACP_CH_NULL && in_ != ACP_CH_NULL, "acp_create_ch");
        pm_ = acp_open_pm(0);
        must(pm_ != ACP_PM_NULL, "acp_open_pm");
        const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
        for (const std::size_t bytes : {std::size_t{60}, std::size_t{30'000}}) {
            char* const at = exchanged_.data() + bytes;
            must(acp_add_send_pattern(pattern, 1, at, bytes) == 0 &&
                     acp_add_recv_pattern(pattern, -1, at + 100'000, bytes) == 0,
                 "a pattern");
        }
        plan_ = acp_compile_pattern(pattern, nullptr);
        must(plan_ != ACP_PLAN_NULL, "acp_compile_pattern");
        must(acp_free_pattern(pattern) == 0, "acp_free_pattern");
    }

    [[nodiscard]] int next() const { return (rank_ + 1) % mixed_ranks; }

    [[nodiscard]] int previous() const { return (rank_ + mixed_ranks - 1) % mixed_ranks; }

    // One random step, the same on all ranks. False: a call failed.
    bool step() {
        const std::size_t words = 1 + agreed_.below(agreed_.chance(20) ? words_max : 50);
        switch (agreed_.below(7)) {
            case 0:
                return call_team(team_, words);
            case 1:
                // With AfterDeath::part, survivors wait for their neighbours. A team without the
                // victim would not break, and its members could wait for a rank that has stopped
                // making steps, so the call is on the team of all ranks.
                return call_team(board_.after == AfterDeath::leave ? half_ : team_, words);
            case 2:
                return acp_start_plan(plan_) == 0 && acp_wait_plan(plan_) == 0;
            case 3:
                return exchange_messages(words);
            case 4:
                for (std::uint64_t i = own_.below(8); i > 0; --i) use_containers();
                return true;
            case 5:
                return send_to_anybody();
            default:
                return do_all_at_once(words);
        }
    }

    bool call_team(acp_team_t team, std::size_t words) {
        std::uint64_t* const data = words_.data();
        switch (agreed_.below(4)) {
            case 0:
                return acp_sync_team(team) == 0;
            case 1:
                return acp_broadcast_team(team, data, 8 * words, 0) == 0;
            case 2:
                return acp_allreduce_team(team, data, data, words, ACP_UINT64, ACP_MAX) == 0;
            default: {
                const acp_ga_t memory = acp_malloc_team(team, 8 * words);
                return memory != ACP_GA_NULL && acp_free_team_memory(team, memory) == 0;
            }
        }
    }

    // Sends a message to the next rank and receives one from the previous.
    bool exchange_messages(std::size_t words) {
        const acp_request_t sent = begin_send(words);
        if (sent == ACP_REQUEST_NULL) return false;
        return receive_message(words) && acp_wait_ch(sent) != not_well;
    }

    acp_request_t begin_send(std::size_t words) {
        sent_.assign(words, number_);
        return acp_nbsend_ch(out_, sent_.data(), 8 * words);
    }

    bool receive_message(std::size_t words) {
        const std::size_t bytes = acp_recv_ch(in_, received_.data(), 8 * words_max);
        if (bytes == not_well) return false;
        // The neighbour detected the death before this rank, and has sent its last message.
        if (received_[0] == last_message) {
            has_last_ = true;
            return wait_for_refusal();
        }
        must(bytes == 8 * words && received_[0] == number_ && received_[words - 1] == number_,
             "message " + std::to_string(number_) + " is another one");
        ++number_;
        return true;
    }

    // A call on the team of all ranks fails as soon as this rank knows of the death.
    bool wait_for_refusal() {
        (void)acp_sync_team(team_);
        return false;
    }

    bool send_to_anybody() {
        void* buffer = nullptr;
        const int to = static_cast<int>(own_.below(mixed_ranks));
        const int has_room = acp_wait_buffer_pm(pm_, to, 64, &buffer, 100'000);
        if (has_room == 1) {
            std::memcpy(buffer, &to, sizeof to);
            must(acp_send_pm(pm_) == 0, "acp_send_pm");
        }
        const bool is_received = receive_all();
        return has_room >= 0 && is_received;
    }

    bool receive_all() {
        for (;;) {
            const void* data = nullptr;
            const int has_come = acp_receive_pm(pm_, &data, nullptr, nullptr);
            if (has_come != 1) return has_come == 0;
            must(std::memcmp(data, &rank_, sizeof rank_) == 0, "a PM message for another rank");
            must(acp_release_pm(pm_) == 0, "acp_release_pm");
        }
    }

    // Each rank waits for the operations in an order of its own.
    bool do_all_at_once(std::size_t words) {
        if (acp_start_plan(plan_) != 0) return false;
        std::uint64_t* const data = words_.data();
        const acp_team_request_t reduced =
            acp_nballreduce_team(team_, data, data, words, ACP_UINT64, ACP_MAX);
        if (reduced == ACP_TEAM_REQUEST_NULL) return false;
        const acp_request_t sent = begin_send(words);
        if (sent == ACP_REQUEST_NULL) return false;
        bool is_well = send_to_anybody();
        const std::uint64_t first = own_.below(3);
        for (std::uint64_t i = 0; i < 3; ++i) {
            switch ((first + i) % 3) {
                case 0:
                    is_well = acp_wait_plan(plan_) == 0 && is_well;
                    break;
                case 1:
                    is_well = acp_wait_team(reduced) == 0 && is_well;
                    break;
                default:
                    is_well = (has_last_ || receive_message(words)) && is_well;
                    is_well = acp_wait_ch(sent) != not_well && is_well;
            }
            if (!is_well && board_.after == AfterDeath::leave) return false;
        }
        return is_well;
    }

    // These calls access no memory of the victim.
    void use_containers() {
        const std::string key = "key " + std::to_string(own_.below(40));
        std::array<char, 600> value{};
        std::size_t bytes = 1 + own_.below(value.size());
        switch (own_.below(5)) {
            case 0:
                return must_or_left(acp_insert_or_assign_map(board_.map, key.data(), key.size(),
                                                             value.data(), bytes) >= 0,
                                    "acp_insert_or_assign_map");
            case 1:
                return must_or_left(acp_remove_map(board_.map, key.data(), key.size()) >= 0,
                                    "acp_remove_map");
            case 2:
                return must_or_left(
                    acp_retrieve_map(board_.map, key.data(), key.size(), value.data(), &bytes) >= 0,
                    "acp_retrieve_map");
            case 3:
                return must_or_left(acp_push_back_deque(board_.deque, value.data(), bytes) == 0,
                                    "acp_push_back_deque");
            default:
                return must_or_left(acp_take_front_deque(board_.deque, value.data(), bytes) >= 0,
                                    "acp_take_front_deque");
        }
    }

    // A rank with tables of the containers may have left after it detected the death.
    void must_or_left(bool is_so, const std::string& what) {
        const bool has_refusals = board_.ranks[board_.first_survivor()].refused_at_ns.load() != 0 ||
                                  note_.refused_at_ns.load() != 0 || is_anybody_told();
        must(is_so || (has_refusals && acp_errno() == ACP_ERR_PEER), what);
    }

    [[nodiscard]] bool is_anybody_told() const {
        for (const MixedNote& note : board_.ranks)
            if (note.refused_at_ns.load(std::memory_order_relaxed) != 0) return true;
        return false;
    }

    // Closes both channels: sends a last message to the next rank, and receives until the previous
    // rank's last message.
    void part() {
        const std::uint64_t mark = last_message;
        (void)acp_nbsend_ch(out_, &mark, sizeof mark);
        while (!has_last_) {
            const std::size_t bytes = acp_recv_ch(in_, received_.data(), 8 * words_max);
            if (bytes == not_well) break;
            has_last_ = received_[0] == last_message;
        }
        acp_request_t frees[2] = {acp_nbfree_ch(out_), acp_nbfree_ch(in_)};
        const int freed = acp_waitall_ch(frees, 2, nullptr);
        const bool is_beside_victim = next() == board_.victim || previous() == board_.victim;
        must(freed == 0 || is_beside_victim, "freeing channels of survivors");
        must(acp_free_team(team_) == 0 || acp_errno() == ACP_ERR_PEER, "acp_free_team");
    }

    static constexpr auto not_well = static_cast<std::size_t>(-1);

    MixedBoard& board_;
    int rank_;
    // Draws the same numbers on all ranks.
    Random agreed_;
    Random own_;
    acp_team_t team_ = ACP_TEAM_NULL;
    acp_team_t half_ = ACP_TEAM_NULL;
    acp_plan_t plan_ = ACP_PLAN_NULL;
    acp_pm_t pm_ = ACP_PM_NULL;
    acp_ch_t out_ = ACP_CH_NULL;
    acp_ch_t in_ = ACP_CH_NULL;
    // The number of the next message, on both channels.
    std::uint64_t number_ = 0;
    // The neighbour's last message has arrived.
    bool has_last_ = false;
    std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(words_max);
    std::vector<std::uint64_t> sent_;
    std::vector<std::uint64_t> received_ = std::vector<std::uint64_t>(words_max);
    std::vector<char> exchanged_ = std::vector<char>(200'000);
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::MixedBoard, acp::test::Worker>(argc, argv,
                                                                           "mixed_victim");
}
