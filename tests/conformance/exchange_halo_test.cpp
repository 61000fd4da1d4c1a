// SPDX-License-Identifier: BSD-3-Clause
// The halo of an array that is divided among a grid of ranks: after a round each halo point has its
// owner's value.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/exchange_fixture.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t nothing = -1;

// A part of an array of two or three dimensions, in which each point has its number in the whole
// array, times the round.
class Part {
public:
    Part(std::vector<int> members,
         std::vector<int> periodic,
         std::vector<std::size_t> halo,
         int reach)
        : members_(std::move(members)),
          periodic_(std::move(periodic)),
          halo_(std::move(halo)),
          points_(members_.size()),
          place_(members_.size()),
          reach_(reach) {
        int rank = acp_rank();
        for (std::size_t d = members_.size(); d-- > 0; rank /= members_[d]) {
            place_[d] = rank % members_[d];
            points_[d] = 3 + d;
        }
        std::size_t all = 1;
        for (std::size_t d = 0; d < members_.size(); ++d) all *= points_[d] + 2 * halo_[d];
        array_.resize(all);
    }

    [[nodiscard]] acp_grid_t grid() const {
        return {static_cast<int>(members_.size()),
                members_.data(),
                periodic_.data(),
                points_.data(),
                halo_.data(),
                sizeof(std::int64_t),
                reach_};
    }

    [[nodiscard]] std::int64_t* array() { return array_.data(); }

    void fill(std::int64_t round) {
        for_each_point([&](std::size_t index, int outside, std::int64_t number) {
            array_[index] = outside == 0 ? number * (round + 1) : nothing;
        });
    }

    void check(std::int64_t round) {
        for_each_point([&](std::size_t index, int outside, std::int64_t number) {
            const bool is_filled = outside <= reach_ && number != nothing;
            ASSERT_EQ(array_[index], is_filled ? number * (round + 1) : nothing)
                << "point " << index << " in round " << round;
        });
    }

private:
    // Calls call(index, outside, number) for each point: `outside` is the number of dimensions in
    // which the point lies in the halo, `number` its number in the whole array, or `nothing` beyond
    // its edge.
    template <typename Call>
    void for_each_point(const Call& call) {
        for (std::size_t index = 0; index < array_.size(); ++index) {
            std::size_t rest = index;
            std::int64_t number = 0;
            std::int64_t unit = 1;
            int outside = 0;
            bool is_beyond = false;
            for (std::size_t d = members_.size(); d-- > 0;) {
                const auto points = static_cast<std::int64_t>(points_[d]);
                const std::size_t width = points_[d] + 2 * halo_[d];
                const auto at =
                    static_cast<std::int64_t>(rest % width) - static_cast<std::int64_t>(halo_[d]);
                rest /= width;
                outside += at < 0 || at >= points ? 1 : 0;
                const std::int64_t size = points * members_[d];
                const std::int64_t global = at + place_[d] * points;
                is_beyond = is_beyond || ((global < 0 || global >= size) && periodic_[d] == 0);
                number += (global + size) % size * unit;
                unit *= size;
            }
            call(index, outside, is_beyond ? nothing : number);
        }
    }

    std::vector<int> members_;
    std::vector<int> periodic_;
    std::vector<std::size_t> halo_;
    std::vector<std::size_t> points_;
    std::vector<int> place_;
    int reach_;
    std::vector<std::int64_t> array_;
};

class HaloTest : public ExchangeTest {
protected:
    void run(Part part) {
        const acp_grid_t grid = part.grid();
        ASSERT_EQ(acp_add_halo_pattern(pattern_, part.array(), &grid), 0) << acp_error_message();
        const acp_plan_t plan = compile();
        for (std::int64_t round = 0; round < 5; ++round) {
            part.fill(round);
            ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
            end(plan, round % 2 == 0);
            part.check(round);
        }
        free_plan(plan);
        EXPECT_EQ(acp_free_pattern(pattern_), 0);
        pattern_ = acp_create_pattern(world_);
    }

    // The shape of a grid of all ranks: two columns, or one if their number is odd.
    [[nodiscard]] std::vector<int> square() const {
        const int rows = procs_ % 2 == 0 ? procs_ / 2 : procs_;
        return {rows, procs_ / rows};
    }
};

TEST_F(HaloTest, two_dimensions) {
    for (const int reach : {1, 2}) {
        run(Part(square(), {0, 0}, {1, 1}, reach));
        run(Part(square(), {1, 1}, {2, 3}, reach));
        run(Part(square(), {0, 1}, {0, 2}, reach));
    }
}

TEST_F(HaloTest, three_dimensions) {
    std::vector<int> members = square();
    members.insert(members.begin() + 1, 1);
    for (const int reach : {1, 2, 3}) run(Part(members, {1, 1, 0}, {1, 2, 1}, reach));
}

TEST_F(HaloTest, grids_that_are_none_are_refused) {
    std::vector<int> members{procs_ + 1};
    const std::vector<std::size_t> points{4}, halo{1}, wide{5};
    std::vector<double> array(6);
    acp_grid_t grid{1, members.data(), nullptr, points.data(), halo.data(), sizeof(double), 1};
    const auto expect = [&](const std::string& part) {
        expect_refused(acp_add_halo_pattern(pattern_, array.data(), &grid), ACP_ERR_ARGUMENT, part);
    };
    expect("as many as the team has");
    members[0] = 0;
    expect("0 members: it has 1 or more");
    members[0] = procs_;
    grid.halo = wide.data();
    expect("a halo of 5");
    grid.halo = nullptr;
    expect("is NULL");
    grid.halo = halo.data();
    grid.reach = 0;
    expect("reach");
    grid.reach = 1;
    grid.dimensions = 9;
    expect("1 .. 8");
    grid.dimensions = 1;
    expect_refused(acp_add_halo_pattern(pattern_, nullptr, &grid), ACP_ERR_ARGUMENT, "NULL");
    grid.points = nullptr;
    expect("the grid's list points is NULL");
    grid.points = points.data();
    ASSERT_EQ(acp_add_halo_pattern(pattern_, array.data(), &grid), 0) << acp_error_message();
}

// Members disagree about the size of a common face: compiling fails on all of them.
TEST_F(HaloTest, parts_that_do_not_fit_are_found) {
    if (procs_ == 1) return;
    const std::vector<int> members{procs_, 1};
    const std::vector<std::size_t> points{4, rank_ == 0 ? 5U : 6U}, halo{1, 1};
    std::vector<double> array(6 * 8);
    const acp_grid_t grid{2,           members.data(), nullptr, points.data(),
                          halo.data(), sizeof(double), 1};
    ASSERT_EQ(acp_add_halo_pattern(pattern_, array.data(), &grid), 0) << acp_error_message();
    expect_none(acp_compile_pattern(pattern_, nullptr), ACP_ERR_MISMATCH, "");
}

}  // namespace
}  // namespace acp::test
