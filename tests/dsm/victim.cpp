// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks write, read, flush and fence shared pages between barriers without end, until
// one of them is killed. The barrier of every other rank then fails; it continues to read what it has and
// to fence, and leaves.
// Where each rank is a node of its own, a killed one takes its pages away: no rank reads those of
// others there.
#include <cstdint>
#include <cstdlib>

#include <acp.h>

#include "support/member_victim.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

constexpr std::size_t words_of_page = 4096 / 8;
constexpr std::size_t pages_of_rank = 64;
constexpr std::size_t words_of_rank = pages_of_rank * words_of_page;
constexpr std::size_t pages_count = member_ranks * pages_of_rank;
constexpr std::size_t lane =
    words_of_page - member_ranks;  // the place of the word of rank 0 in a page

class Worker : MemberVictim {
public:
    explicit Worker(MemberBoard& board) : MemberVictim(board) {}

    int run() {
        begin();
        must(acp_init_dsm(member_ranks * words_of_rank * 8) == 0, "acp_init_dsm");
        words_ = static_cast<std::uint64_t*>(acp_alloc_dsm(member_ranks * words_of_rank * 8));
        must(words_ != nullptr, "acp_alloc_dsm");
        if (!is_all_right()) return exit_status();
        const bool is_lonely = number_of_nodes() == member_ranks;
        Random random(static_cast<std::uint64_t>(acp_rank()));
        std::uint64_t round = 0;
        repeat_until_refused([&] {
            ++round;
            write_own(random, round);
            if (!is_lonely) {
                read_others(random, round);
                check_lanes(round - 1);
                write_lanes(round);
            }
            for (int i = 0; i < 3; ++i) exchange_words(random);
            write_own(random, round);
            return acp_barrier_dsm() == 0;
        });
        must(acp_barrier_dsm() != 0, "a later barrier goes well");
        must_be_refused();
        must(own()[0] <= round, "its own page");
        for (int i = 0; i < 100; ++i) exchange_words(random);
        if (!is_lonely) check_lanes(round - 1);
        must(acp_finalize_dsm() != 0, "acp_finalize_dsm goes well");
        acp_finalize();
        return exit_status();
    }

private:
    [[nodiscard]] std::uint64_t* own() const {
        return words_ + static_cast<std::size_t>(acp_rank()) * words_of_rank;
    }

    // Another rank's word is written between barriers by its owner alone, and may be read in a race.
    void read_others(Random& random, std::uint64_t round) {
        for (int i = 0; i < 5; ++i) {
            const volatile std::uint64_t& word = words_[random.below(member_ranks * words_of_rank)];
            must(word <= round + 1, "a word that no rank has written");
        }
    }

    // A range of any ranks' words, of which the node has some: writes beside it are sent too.
    void exchange_words(Random& random) {
        const std::size_t first = random.below(member_ranks * words_of_rank);
        const std::size_t count = random.between(1, member_ranks * words_of_rank - first);
        if (random.chance(50)) {
            must(acp_flush_dsm(words_ + first, count * 8) == 0, "acp_flush_dsm");
        } else if (acp_fence_dsm(words_ + first, count * 8) != 0) {
            must(acp_errno() == ACP_ERR_PEER, "acp_fence_dsm");
        }
    }

    void write_own(Random& random, std::uint64_t round) const {
        for (int i = 0; i < 20; ++i) {
            const std::size_t at = random.below(words_of_rank);
            if (at % words_of_page < lane) own()[at] = round;
        }
    }

    [[nodiscard]] volatile std::uint64_t& lane_of(std::size_t page, std::uint64_t rank) const {
        return words_[page * words_of_page + lane + rank];
    }

    // Calls visit(page) for the pages in which a rank writes its word in a round.
    template <typename Visit>
    static void for_each_written(std::uint64_t rank, std::uint64_t round, const Visit& visit) {
        Random random(round * member_ranks + rank + 1);
        for (int i = 0; i < 25; ++i) visit(random.below(pages_count));
    }

    void write_lanes(std::uint64_t round) const {
        const auto self = static_cast<std::uint64_t>(acp_rank());
        for_each_written(self, round, [&](std::size_t page) { lane_of(page, self) = round; });
    }

    // What all ranks wrote before the last barrier.
    void check_lanes(std::uint64_t round) {
        for (std::uint64_t rank = 0; round != 0 && rank < member_ranks; ++rank) {
            for_each_written(rank, round, [&](std::size_t page) {
                must(lane_of(page, rank) >= round, "a write before the barrier is lost");
            });
        }
    }

    [[nodiscard]] static int number_of_nodes() {
        const char* const text = std::getenv("TEST_NODES");
        return text == nullptr ? 1 : std::atoi(text);
    }

    std::uint64_t* words_ = nullptr;
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::MemberBoard, acp::test::Worker>(argc, argv,
                                                                            "dsm_victim");
}
