// SPDX-License-Identifier: BSD-3-Clause
// The forwarder under traffic: every rank puts into, gets back from and counts on the memory of all
// others at once, as threads of one process and as processes, some of which are killed during the
// traffic. ACP_TEST_SEED repeats a run as far as the schedule allows.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "node/death.hpp"
#include "os/cpu.hpp"

#include "support/random.hpp"
#include "support/watchdog.hpp"
#include "unit/mailbox/test_rank.hpp"

namespace acp::mailbox::test {
namespace {

using local::test::all_kinds;
using local::test::Child;
using local::test::Kind;
using local::test::make_segment;
using local::test::name_of;

constexpr std::uint32_t procs = 4;
// the region of each rank in the memory of each other rank
constexpr std::uint64_t region_bytes = 64 * 1024;
constexpr std::uint32_t rounds = 60;
const Kind automatic{"automatic", base::IntraNode::automatic, base::MailboxKind::mpsc};

std::uint64_t seed() {
    const char* text = std::getenv("ACP_TEST_SEED");
    static const std::uint64_t chosen =
        text != nullptr ? std::strtoull(text, nullptr, 0) : acp::test::fresh_seed();
    return chosen;
}

// The words that the ranks exchange without ACP, in the starter memory of slot 0.
struct Board {
    std::atomic<std::uint64_t> keys[procs];
    std::atomic<std::uint32_t> done;
    std::atomic<std::uint64_t> counted;  // successful additions
    alignas(8) std::uint64_t counter;    // target of the atomics
};

Board& board_of(const node::Segment& segment) {
    return *reinterpret_cast<Board*>(segment.starter(0));
}

// One rank's traffic. It waits for commands only, so after a death all its waits must end.
class Traffic {
public:
    Traffic(const node::Segment& segment, std::uint32_t slot, const Kind& kind, bool has_own_window)
        : segment_(segment),
          board_(board_of(segment)),
          slot_(slot),
          rank_(segment, slot, kind.intranode != base::IntraNode::automatic, has_own_window),
          random_(seed() + slot) {
        board_.keys[slot].store(rank_.own.address);
    }

    // Returns 0, or the line of the failed check.
    //   victims  the last `victims` ranks continue until they are killed
    int run(std::uint32_t victims) {
        for (std::uint32_t other = 0; other < procs; ++other) {
            while (board_.keys[other].load() == 0) os::yield_cpu();
        }
        const bool is_victim = slot_ >= procs - victims;
        for (std::uint32_t round = 0; is_victim || round < rounds; ++round) {
            for (std::uint32_t other = 0; other < procs; ++other) {
                if (const int failure = visit(other); failure != 0) return failure;
            }
        }
        board_.done.fetch_add(1);
        while (board_.done.load() < procs - victims) poll();
        return 0;
    }

private:
    void poll() {
        if (rank_.forwarder->poll() == 0) os::yield_cpu();
        const std::uint32_t deaths = segment_.control().deaths.load(std::memory_order_acquire);
        if (deaths == deaths_seen_) return;
        deaths_seen_ = deaths;
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            if (node::is_dead(segment_, slot)) rank_.forwarder->on_death(slot);
        }
    }

    base::Code await(const memory::Command& command) {
        (void)rank_.forwarder->submit(1, command);
        std::vector<ForwardedEnd> ended;
        while (rank_.forwarder->outstanding() != 0) poll();
        take_ended(*rank_.forwarder, ended);
        return ended.size() == 1 ? ended[0].code : base::Code::system;
    }

    // Puts random bytes there, counts, and gets the bytes back. A dead peer is no failure.
    int visit(std::uint32_t other) {
        const std::uint64_t bytes =
            random_.chance(60) ? random_.below(65) : random_.below(region_bytes + 1);
        char* const out = rank_.own.bytes + mebibyte;
        char* const back = out + region_bytes;
        for (std::uint64_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(random_.next());
        std::memset(back, 0, bytes);
        const memory::GlobalAddress here = rank_.own.address + mebibyte;
        const memory::GlobalAddress there = board_.keys[other].load() + slot_ * region_bytes;
        for (const memory::Command& command :
             {copy(there, here, bytes), copy(here + region_bytes, there, bytes)}) {
            const base::Code code = await(command);
            if (code == base::Code::peer && node::is_dead(segment_, other)) return 0;
            if (code != base::Code::ok) return 10 + static_cast<int>(code);
        }
        if (std::memcmp(out, back, bytes) != 0) return 1;
        const memory::GlobalAddress counter =
            rank_.space.starter_address(0) + offsetof(Board, counter);
        if (await({memory::Operation::add, 8, here + 2 * region_bytes, counter, 0, 1, 0}) !=
            base::Code::ok) {
            return 2;
        }
        board_.counted.fetch_add(1);
        return 0;
    }

    static constexpr std::uint64_t mebibyte = 1024 * 1024;

    const node::Segment& segment_;
    Board& board_;
    const std::uint32_t slot_;
    Rank rank_;
    acp::test::Random random_;
    std::uint32_t deaths_seen_ = 0;
};

class TrafficTest : public testing::TestWithParam<Kind> {
protected:
    TrafficTest() : segment_(make_segment(GetParam(), procs, 1408)) {
        acp::test::arm_watchdog(200, "a traffic test");
        RecordProperty("seed", std::to_string(seed()));
    }

    ~TrafficTest() override { acp::test::arm_watchdog(0, ""); }

    Child start(std::uint32_t slot, std::uint32_t victims) {
        return Child([this, slot, victims] {
            return Traffic(segment_, slot, GetParam(), true).run(victims);
        });
    }

    node::Segment segment_;
};

TEST_P(TrafficTest, threads_put_get_and_count_everywhere) {
    // Registered before any thread maps and unmaps memory, because an emulator's list of mappings
    // may lack lines during such calls.
    std::vector<std::unique_ptr<Traffic>> ranks;
    for (std::uint32_t slot = 0; slot < procs; ++slot) {
        ranks.push_back(std::make_unique<Traffic>(segment_, slot, GetParam(), false));
    }
    std::vector<std::thread> threads;
    std::atomic<int> failure{0};
    for (const auto& rank : ranks) {
        threads.emplace_back([&] {
            if (const int code = rank->run(0); code != 0) failure.store(code);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failure.load(), 0) << "seed " << seed();
    EXPECT_EQ(board_of(segment_).counter, procs * procs * rounds);
}

TEST_P(TrafficTest, processes_put_get_and_count_everywhere) {
    std::vector<Child> children;
    for (std::uint32_t slot = 0; slot < procs; ++slot) children.push_back(start(slot, 0));
    for (Child& child : children) EXPECT_EQ(child.join(), 0) << "seed " << seed();
    EXPECT_EQ(board_of(segment_).counter, procs * procs * rounds);
}

TEST_P(TrafficTest, survivors_of_a_kill_complete_what_does_not_need_the_dead) {
    std::vector<Child> children;
    for (std::uint32_t slot = 0; slot < procs; ++slot) children.push_back(start(slot, 1));
    const std::uint32_t victim = procs - 1;  // not slot 0, which has the counter
    Board& board = board_of(segment_);
    // not before all have published their memory, for which each rank waits without detecting
    // deaths
    const std::uint64_t kill_after = 1 + acp::test::Random(seed()).below(100);
    while (board.counted.load() < kill_after) os::yield_cpu();
    children[victim].kill();
    node::mark_dead(segment_, victim, SIGKILL);
    for (std::uint32_t slot = 0; slot < victim; ++slot) {
        EXPECT_EQ(children[slot].join(), 0) << "slot " << slot << ", seed " << seed();
    }
    EXPECT_GE(board.counter, board.counted.load());
    EXPECT_LE(board.counter, board.counted.load() + 1)
        << "only the dead rank's last one is in doubt";
}

std::vector<Kind> kinds() {
    std::vector<Kind> all(std::begin(all_kinds), std::end(all_kinds));
    all.push_back(automatic);
    return all;
}

INSTANTIATE_TEST_SUITE_P(over, TrafficTest, testing::ValuesIn(kinds()), name_of);

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
