// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a rank that receives and sends, at random moments: both partners are refused in time, the receiver has got every message whole
// and in order, nothing of the channels stays in their heaps, and they go on with each other. A driver (support/kill_driver.hpp): the
// ranks are channel_victim.
#include "channel/kill_board.hpp"
#include "support/kill_driver.hpp"

namespace acp::test {
namespace {

// Erased entries of the map by which ends find each other, which are freed a batch at a time.
constexpr std::int64_t blocks_kept_max = 24;

class ChannelKillTest : public KillDriver<ChannelBoard> {
protected:
    static void check(const Trial& trial) {
        for (const int rank : {0, 2}) {
            const ChannelNote& note = trial.board.ranks[rank];
            EXPECT_STREQ(note.message, "") << "rank " << rank;
            const std::int64_t took_ns =
                note.refused_at_ns.load(std::memory_order_relaxed) - trial.struck_at_ns;
            EXPECT_GT(took_ns, 0) << "rank " << rank;
            EXPECT_LT(took_ns, (trial.nodes == 1 ? 1 : 2) * second_ns) << "rank " << rank;
            EXPECT_LE(note.blocks_left.load(std::memory_order_relaxed), blocks_kept_max)
                << "rank " << rank;
        }
    }
};

TEST_F(ChannelKillTest, partners_are_refused_and_lose_nothing) {
    const auto prepare = [](ChannelBoard&, Random&, int) { return victim_rank; };
    const auto note_kill = [](ChannelBoard&) {};
    strike_all("channel_victim", 10 * millisecond_ns, prepare, note_kill, check);
}

}  // namespace
}  // namespace acp::test
