// SPDX-License-Identifier: BSD-3-Clause
// Neighbour alltoallv: pieces of one buffer go to some members, and pieces from others arrive in
// another buffer; each test compares them with the senders' lists.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/exchange_fixture.hpp"

namespace acp::test {
namespace {

// Lists of pieces that lie side by side, with a gap of a byte between them.
class Pieces {
public:
    void add(int shift, std::size_t size) {
        shifts_.push_back(shift);
        sizes_.push_back(size);
        offsets_.push_back(bytes_);
        bytes_ += size + 1;
    }

    [[nodiscard]] acp_neighbours_t list() const {
        return {static_cast<int>(shifts_.size()), shifts_.data(), sizes_.data(), offsets_.data()};
    }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    [[nodiscard]] std::size_t offset(std::size_t piece) const { return offsets_[piece]; }

    [[nodiscard]] std::size_t size(std::size_t piece) const { return sizes_[piece]; }

private:
    std::vector<int> shifts_;
    std::vector<std::size_t> sizes_;
    std::vector<std::size_t> offsets_;
    std::size_t bytes_ = 0;
};

class AlltoallvTest : public ExchangeTest {};

// Each member sends 0 to 3 pieces of any size to each member, itself included.
TEST_F(AlltoallvTest, pieces_reach_their_places) {
    struct Expected {
        int from;
        int number;
    };

    Random random = common_random();
    Pieces to;
    Pieces from;
    std::vector<Expected> sent;  // the pieces that this member sends
    std::vector<Expected> expected;
    for (int source = 0; source < procs_; ++source) {
        for (int target = 0; target < procs_; ++target) {
            const auto count = static_cast<int>(random.below(4));
            for (int number = 0; number < count; ++number) {
                const std::size_t bytes = random.below(random.chance(20) ? 50'000 : 300);
                if (source == rank_) {
                    to.add(target - rank_, bytes);
                    sent.push_back({target, number});
                }
                if (target == rank_) {
                    from.add(source - rank_, bytes);
                    expected.push_back({source, number});
                }
            }
        }
    }
    std::vector<std::uint8_t> source(to.bytes());
    std::vector<std::uint8_t> target(from.bytes());
    const acp_neighbours_t to_list = to.list();
    const acp_neighbours_t from_list = from.list();
    ASSERT_EQ(
        acp_add_alltoallv_pattern(pattern_, source.data(), &to_list, target.data(), &from_list), 0)
        << acp_error_message();
    const acp_plan_t plan = compile();
    for (int round = 0; round < 5; ++round) {
        for (std::size_t p = 0; p < sent.size(); ++p) {
            for (std::size_t i = 0; i < to.size(p); ++i)
                source[to.offset(p) + i] = byte_of(rank_, sent[p].from, sent[p].number, i, round);
        }
        std::fill(target.begin(), target.end(), std::uint8_t{0xee});
        ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
        end(plan, round % 2 == 0);
        for (std::size_t p = 0; p < expected.size(); ++p) {
            for (std::size_t i = 0; i < from.size(p); ++i) {
                ASSERT_EQ(target[from.offset(p) + i],
                          byte_of(expected[p].from, rank_, expected[p].number, i, round))
                    << "byte " << i << " of piece " << p << " in round " << round;
            }
            ASSERT_EQ(target[from.offset(p) + from.size(p)], 0xee) << "behind piece " << p;
        }
    }
    free_plan(plan);
}

TEST_F(AlltoallvTest, wrong_lists_are_refused_and_nothing_is_added) {
    std::array<char, 64> source{};
    std::array<char, 64> target{};
    Pieces right;
    right.add(0, 8);
    right.add(0, 8);
    Pieces wrong;
    wrong.add(0, 8);
    wrong.add(procs_, 8);
    const acp_neighbours_t fit = right.list();
    const acp_neighbours_t unfit = wrong.list();
    const acp_neighbours_t none{0, nullptr, nullptr, nullptr};
    const acp_neighbours_t negative{-1, fit.shifts, fit.sizes, fit.offsets};
    const acp_neighbours_t holey{2, fit.shifts, nullptr, fit.offsets};
    const auto expect = [&](const acp_neighbours_t* to, const acp_neighbours_t* from, void* into,
                            const std::string& part) {
        expect_refused(acp_add_alltoallv_pattern(pattern_, source.data(), to, into, from),
                       ACP_ERR_ARGUMENT, part);
    };
    expect(&unfit, &fit, target.data(), "neighbour 1");
    expect(&fit, &unfit, target.data(), "neighbour 1");
    expect(nullptr, &fit, target.data(), "to is NULL");
    expect(&fit, &negative, target.data(), "the count of from is -1: it is 0 or more");
    expect(&holey, &fit, target.data(), "the list sizes of to is NULL, and its count is 2");
    expect(&fit, &fit, nullptr, "target is NULL");
    const acp_neighbours_t huge{ACP_PATTERN_MESSAGES_MAX + 1, fit.shifts, fit.sizes, fit.offsets};
    expect_refused(acp_add_alltoallv_pattern(pattern_, source.data(), &huge, target.data(), &fit),
                   ACP_ERR_LIMIT, "1048577 pieces");
    // If one of the refused calls had added a message, the numbers of sends and receives would
    // differ.
    ASSERT_EQ(acp_add_alltoallv_pattern(pattern_, source.data(), &fit, target.data(), &fit), 0)
        << acp_error_message();
    ASSERT_EQ(acp_add_alltoallv_pattern(pattern_, nullptr, &none, nullptr, &none), 0)
        << acp_error_message();
    source[fit.offsets[1]] = 'x';
    const acp_plan_t plan = compile();
    ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
    ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
    EXPECT_EQ(target[fit.offsets[1]], 'x');
    free_plan(plan);
}

}  // namespace
}  // namespace acp::test
