// SPDX-License-Identifier: BSD-3-Clause
// Each collective call gives what a sequential model gives, in teams of every shape: members of one
// node, of nodes of one member, of nodes whose members are mixed, of more nodes than exchange their
// parts all with all. Lengths lie on both sides of each limit at which an algorithm changes.
#include "team/collectives.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

#include <acp/team.h>

#include "support/scoped_watchdog.hpp"
#include "unit/team/team_node.hpp"

namespace acp::team::test {
namespace {

using Words = std::vector<std::uint64_t>;

struct Layout {
    const char* name;
    std::vector<std::uint32_t> nodes;
};

const std::vector<Layout> layouts{
    {"alone", {0}},
    {"a_pair_of_a_node", {0, 0}},
    {"a_node_of_flat_barriers", {0, 0, 0, 0, 0}},
    {"a_node_of_more", {0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"two_nodes_of_one", {0, 1}},
    {"mixed_nodes", {4, 2, 4, 2, 9, 2}},
    {"a_node_of_many_and_one_of_few", {1, 0, 0, 0, 0}},
    {"more_nodes_than_exchange_all_with_all", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3}},
};

// Words of each member. 5: inline in the board's line; 8 members' 64: one round of the board;
// 120 and 121: packed with the signature, and behind it; then one and several rounds or segments.
const std::vector<std::uint64_t> counts{0, 1, 5, 6, 64, 120, 121, 512, 513, 4096, 4097, 9000};

std::uint64_t element(std::uint32_t rank, std::uint64_t i) {
    return (rank + 1) * 1'000'003ULL + i * 7;
}

Words words_of(std::uint32_t rank, std::uint64_t count) {
    Words words(count);
    for (std::uint64_t i = 0; i < count; ++i) words[i] = element(rank, i);
    return words;
}

char* bytes(Words& words) {
    return reinterpret_cast<char*>(words.data());
}

class CollectivesTest : public testing::TestWithParam<Layout> {
protected:
    // Runs a call for every length, and once with members in threads.
    //   part(count)  of each member
    void run_all(const std::function<Part(std::uint64_t)>& part) {
        for (const std::uint64_t count : counts) {
            SCOPED_TRACE(std::to_string(count) + " words");
            node_.run_well(part(count));
            if (HasFatalFailure()) return;
        }
        node_.run_in_threads(part(700));
    }

    acp::test::ScopedWatchdog watchdog_{"a collective call"};
    TeamNode node_{GetParam().nodes};
    std::uint32_t size_ = node_.size();
};

TEST_P(CollectivesTest, a_broadcast_from_any_member_reaches_all) {
    for (std::uint32_t root = 0; root < size_; ++root) {
        run_all([&](std::uint64_t count) {
            return call({CollectiveCall::broadcast, 8 * count, root}, [=](Team& team) {
                const bool is_root = team.members().own() == root;
                Words words = is_root ? words_of(root, count) : Words(count);
                if (!broadcast(team, bytes(words), 8 * count, root)) return false;
                EXPECT_EQ(words, words_of(root, count));
                return true;
            });
        });
    }
}

TEST_P(CollectivesTest, a_broadcast_of_more_segments_than_are_in_flight_reaches_all) {
    constexpr std::uint64_t count = 6 * segment_bytes(1) / 8 + 100;
    const std::uint32_t root = size_ - 1;
    node_.run_well(call({CollectiveCall::broadcast, 8 * count, root}, [root](Team& team) {
        const bool is_root = team.members().own() == root;
        Words words = is_root ? words_of(root, count) : Words(count);
        if (!broadcast(team, bytes(words), 8 * count, root)) return false;
        EXPECT_TRUE(words == words_of(root, count));
        return true;
    }));
}

// Subtraction with a shift is not associative: it shows in which order elements are combined.
void follow(void* into, const void* from, std::size_t count, void* /*context*/) {
    for (std::size_t i = 0; i < count; ++i) {
        auto& word = static_cast<std::uint64_t*>(into)[i];
        word = word * 31 + static_cast<const std::uint64_t*>(from)[i];
    }
}

struct Sum {
    Words send;
    Words receive;
    Combiner combiner;

    Sum(std::uint32_t rank, std::uint64_t count, bool is_own)
        : send(words_of(rank, count)),
          receive(count, 99),
          combiner(is_own ? Combiner(follow, nullptr, 8) : *Combiner::of(ACP_UINT64, ACP_SUM)) {}

    [[nodiscard]] Reduction reduction() {
        return {bytes(send), bytes(receive), send.size(), &combiner};
    }
};

// The combination of the members of a range, in the order of ranks.
Words combined(std::uint32_t first, std::uint32_t end, std::uint64_t count, bool is_own) {
    Sum sum(first, count, is_own);
    for (std::uint32_t rank = first + 1; rank < end; ++rank) {
        const Words next = words_of(rank, count);
        sum.combiner.combine(sum.send.data(), sum.send.data(), next.data(), count);
    }
    return sum.send;
}

TEST_P(CollectivesTest, a_reduction_has_the_elements_of_all) {
    for (const std::uint32_t root : {std::uint32_t{0}, size_ - 1}) {
        run_all([&](std::uint64_t count) {
            return call({CollectiveCall::reduce, 8 * count, root}, [=, this](Team& team) {
                Sum sum(team.members().own(), count, false);
                const bool is_root = team.members().own() == root;
                if (!reduce(team, sum.reduction(), root)) return false;
                if (is_root) {
                    EXPECT_EQ(sum.receive, combined(0, size_, count, false));
                }
                return true;
            });
        });
    }
    run_all([&](std::uint64_t count) {
        return call({CollectiveCall::allreduce, 8 * count}, [=, this](Team& team) {
            Sum sum(team.members().own(), count, false);
            if (!all_reduce(team, sum.reduction())) return false;
            EXPECT_EQ(sum.receive, combined(0, size_, count, false));
            return true;
        });
    });
}

TEST_P(CollectivesTest, a_scan_combines_the_elements_of_earlier_members_in_their_order) {
    for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive}) {
        run_all([&](std::uint64_t count) {
            return call({CollectiveCall::scan, 8 * count}, [=](Team& team) {
                const std::uint32_t own = team.members().own();
                Sum sum(own, count, true);
                if (!scan(team, sum.reduction(), kind)) return false;
                const bool is_inclusive = kind == ScanKind::inclusive;
                const bool is_unchanged = !is_inclusive && own == 0;
                EXPECT_EQ(sum.receive, is_unchanged ? Words(count, 99)
                                                    : combined(0, own + is_inclusive, count, true));
                return true;
            });
        });
    }
}

// The words of all members, one behind the other.
Words gathered(std::uint32_t members, std::uint64_t count) {
    Words all;
    for (std::uint32_t rank = 0; rank < members; ++rank) {
        const Words words = words_of(rank, count);
        all.insert(all.end(), words.begin(), words.end());
    }
    return all;
}

TEST_P(CollectivesTest, gathers_give_the_parts_of_all_in_the_order_of_ranks) {
    run_all([&](std::uint64_t count) {
        return call({CollectiveCall::allgather, 8 * count}, [=, this](Team& team) {
            Words own = words_of(team.members().own(), count);
            Words all(size_ * count);
            if (!all_gather(team, bytes(own), bytes(all), 8 * count)) return false;
            EXPECT_EQ(all, gathered(size_, count));
            return true;
        });
    });
    const std::uint32_t root = size_ / 2;
    run_all([&](std::uint64_t count) {
        return call({CollectiveCall::gather, 8 * count, root}, [=, this](Team& team) {
            Words own = words_of(team.members().own(), count);
            Words all(size_ * count);
            if (!gather(team, bytes(own), bytes(all), 8 * count, root)) return false;
            const bool is_root = team.members().own() == root;
            EXPECT_EQ(all, is_root ? gathered(size_, count) : Words(size_ * count));
            return true;
        });
    });
}

TEST_P(CollectivesTest, a_scatter_gives_each_member_its_part) {
    const std::uint32_t root = size_ - 1;
    run_all([&](std::uint64_t count) {
        return call({CollectiveCall::scatter, 8 * count, root}, [=, this](Team& team) {
            Words all = gathered(size_, count);
            Words own(count);
            if (!scatter(team, bytes(all), bytes(own), 8 * count, root)) return false;
            EXPECT_EQ(own, words_of(team.members().own(), count));
            return true;
        });
    });
}

// What member `from` sends to member `to`.
std::uint64_t pair_element(std::uint32_t from, std::uint32_t to, std::uint64_t i) {
    return element(from, i) ^ std::uint64_t{to} << 40;
}

// All pairs have `count` words; or each has another number, some none.
Part all_to_all_of(CollectiveCall which, std::uint64_t count) {
    const bool is_equal = which == CollectiveCall::alltoall;
    const auto words_between = [=](std::uint32_t from, std::uint32_t to) {
        return is_equal ? count : count * ((from + 2 * to) % 3) / 2;
    };
    return call({which, is_equal ? 8 * count : 0}, [=](Team& team) {
        const std::uint32_t size = team.members().size();
        const std::uint32_t own = team.members().own();
        Words send;
        Words expected;
        std::vector<std::size_t> sent(size);
        std::vector<std::size_t> received(size);
        std::vector<std::size_t> sent_at(size);
        std::vector<std::size_t> received_at(size);
        for (std::uint32_t rank = 0; rank < size; ++rank) {
            sent_at[rank] = 8 * send.size();
            received_at[rank] = 8 * expected.size();
            sent[rank] = 8 * words_between(own, rank);
            received[rank] = 8 * words_between(rank, own);
            for (std::uint64_t i = 0; i < sent[rank] / 8; ++i)
                send.push_back(pair_element(own, rank, i));
            for (std::uint64_t i = 0; i < received[rank] / 8; ++i)
                expected.push_back(pair_element(rank, own, i));
        }
        Words receive(expected.size());
        if (!all_to_all(team, bytes(send), {sent, sent_at}, bytes(receive),
                        {received, received_at}))
            return false;
        EXPECT_EQ(receive, expected);
        return true;
    });
}

TEST_P(CollectivesTest, every_member_gets_a_part_from_every_member) {
    for (const auto which : {CollectiveCall::alltoall, CollectiveCall::alltoallv})
        run_all([&](std::uint64_t count) { return all_to_all_of(which, count); });
}

TEST_P(CollectivesTest, no_member_leaves_a_barrier_before_all_have_come) {
    for (std::uint32_t last = 0; last < size_; ++last) {
        SCOPED_TRACE("member " + std::to_string(last) + " comes last");
        for (std::uint32_t rank = 0; rank < size_; ++rank) {
            if (rank != last) node_.start(rank, barrier());
        }
        for (int i = 0; i < 20; ++i) node_.pass();
        for (std::uint32_t rank = 0; rank < size_; ++rank) {
            EXPECT_EQ(node_.has_ended(rank), rank == last) << "member " << rank;
        }
        node_.start(last, barrier());
        std::vector<std::uint32_t> all(size_);
        std::iota(all.begin(), all.end(), 0);
        node_.finish(all);
        for (const std::uint32_t rank : all) EXPECT_TRUE(node_.end(rank).is_ok());
    }
}

TEST_P(CollectivesTest, a_barrier_carries_the_notices_of_all_to_all) {
    // 32: what the first gather carries; 1,024: the longest notice.
    for (const std::uint64_t longest : {0U, 1U, 32U, 33U, 500U, 1023U, 1024U}) {
        const auto notice_of = [=](std::uint32_t rank) {
            // Of different lengths, and some members have none.
            return std::string(longest * (rank % 3) / 2, static_cast<char>('a' + rank % 26));
        };
        node_.run_well(call({CollectiveCall::sync_notices, 0}, [=, this](Team& team) {
            const std::string own = notice_of(team.members().own());
            std::string all(size_ * notice_bytes_max, '.');
            std::vector<std::size_t> sizes(size_);
            if (!synchronize_with_notices(team, own, all.data(), sizes.data())) return false;
            for (std::uint32_t rank = 0; rank < size_; ++rank) {
                const std::string its = notice_of(rank);
                EXPECT_EQ(all.substr(rank * notice_bytes_max, sizes[rank]), its) << longest;
                EXPECT_EQ(all[rank * notice_bytes_max + notice_bytes_max - 1],
                          its.size() == notice_bytes_max ? its.back() : '.')
                    << "written behind the notice";
            }
            return true;
        }));
    }
}

TEST_P(CollectivesTest, calls_of_all_kinds_follow_each_other_without_a_barrier) {
    for (int i = 0; i < 20; ++i) {
        node_.run_well([&, i](Team& team) -> base::Status {
            for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{600}}) {
                auto status = all_to_all_of(CollectiveCall::alltoall, count)(team);
                if (status.is_ok()) status = barrier()(team);
                Words words = words_of(7, count);
                const std::uint32_t root = static_cast<std::uint32_t>(i) % size_;
                if (team.members().own() != root) words.assign(count, 0);
                if (status.is_ok()) {
                    status = call({CollectiveCall::broadcast, 8 * count, root}, [&](Team& its) {
                        return broadcast(its, bytes(words), 8 * count, root);
                    })(team);
                }
                EXPECT_EQ(words, words_of(7, count));
                if (!status.is_ok()) return status;
            }
            return {};
        });
        if (HasFatalFailure()) return;
    }
}

std::string name_of(const testing::TestParamInfo<Layout>& layout) {
    return layout.param.name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, CollectivesTest, testing::ValuesIn(layouts), name_of);

}  // namespace
}  // namespace acp::team::test
