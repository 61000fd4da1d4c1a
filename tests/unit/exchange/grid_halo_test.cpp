// SPDX-License-Identifier: BSD-3-Clause
// The halos of all members of a grid, executed in one process: each point of each halo gets its
// owner's value.
#include "exchange/grid_halo.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <map>

namespace acp::exchange {
namespace {

constexpr std::int64_t nothing = -1;

// A grid with a number in each point: that of the point in the whole grid.
class World {
public:
    explicit World(GridShape shape) : shape_(std::move(shape)) {
        for (const GridAxis& axis : shape_.axes) members_ *= axis.members;
        arrays_.resize(members_);
        for (std::uint32_t rank = 0; rank < members_; ++rank) fill(rank);
    }

    void exchange() {
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::vector<char>>> sent;
        std::vector<std::vector<HaloMessage>> all;
        for (std::uint32_t rank = 0; rank < members_; ++rank) {
            auto halo = halo_of(shape_, rank, members_);
            ASSERT_TRUE(halo.is_ok()) << halo.failure().message();
            all.push_back(std::move(halo).value());
            for (const HaloMessage& message : all.back()) {
                if (!message.is_sent) continue;
                std::vector<char> packed(message.block.bytes());
                message.block.pack(packed.data(), bytes_of(rank) + message.offset_bytes);
                sent[{rank, message.member}].push_back(packed);
            }
        }
        for (std::uint32_t rank = 0; rank < members_; ++rank) {
            std::map<std::uint32_t, std::size_t> next;
            for (const HaloMessage& message : all[rank]) {
                if (message.is_sent) continue;
                const auto& from = sent[{message.member, rank}];
                const std::size_t number = next[message.member]++;
                ASSERT_LT(number, from.size());
                ASSERT_EQ(from[number].size(), message.block.bytes());
                message.block.unpack(bytes_of(rank) + message.offset_bytes, from[number].data());
            }
        }
    }

    void check() {
        for (std::uint32_t rank = 0; rank < members_; ++rank) {
            for_each_point(rank, [&](std::size_t index, bool is_inside, std::uint32_t outside,
                                     std::int64_t number) {
                const bool is_filled = is_inside || outside <= shape_.reach;
                ASSERT_EQ(arrays_[rank][index], is_filled ? number : nothing)
                    << "point " << index << " of member " << rank;
            });
        }
    }

private:
    char* bytes_of(std::uint32_t rank) { return reinterpret_cast<char*>(arrays_[rank].data()); }

    void fill(std::uint32_t rank) {
        std::size_t points = 1;
        for (const GridAxis& axis : shape_.axes) points *= axis.points + 2 * axis.halo;
        arrays_[rank].assign(points, nothing);
        for_each_point(rank,
                       [&](std::size_t index, bool is_inside, std::uint32_t, std::int64_t number) {
                           if (is_inside) arrays_[rank][index] = number;
                       });
    }

    // Calls call(index, whether it is no halo, in how many dimensions it is, number of the point or
    // nothing beyond the edge).
    template <typename Call>
    void for_each_point(std::uint32_t rank, const Call& call) {
        std::vector<std::uint32_t> place(shape_.axes.size());
        for (std::size_t d = shape_.axes.size(); d-- > 0; rank /= shape_.axes[d].members)
            place[d] = rank % shape_.axes[d].members;
        std::size_t all = 1;
        for (const GridAxis& axis : shape_.axes) all *= axis.points + 2 * axis.halo;
        for (std::size_t index = 0; index < all; ++index) {
            std::size_t rest = index;
            std::uint32_t outside = 0;
            std::int64_t number = 0, unit = 1;
            bool is_beyond = false;
            for (std::size_t d = shape_.axes.size(); d-- > 0;) {
                const GridAxis& axis = shape_.axes[d];
                const auto width = axis.points + 2 * axis.halo;
                const auto size = static_cast<std::int64_t>(axis.points * axis.members);
                const auto at =
                    static_cast<std::int64_t>(rest % width) - static_cast<std::int64_t>(axis.halo);
                rest /= width;
                if (at < 0 || at >= static_cast<std::int64_t>(axis.points)) ++outside;
                std::int64_t global = at + static_cast<std::int64_t>(place[d] * axis.points);
                is_beyond = is_beyond || ((global < 0 || global >= size) && !axis.is_periodic);
                global = (global + size) % size;
                number += global * unit;
                unit *= size;
            }
            call(index, outside == 0, outside, is_beyond ? nothing : number);
        }
    }

    GridShape shape_;
    std::uint32_t members_ = 1;
    std::vector<std::vector<std::int64_t>> arrays_;
};

void run(std::vector<GridAxis> axes, std::uint32_t reach) {
    World world({std::move(axes), sizeof(std::int64_t), reach});
    world.exchange();
    world.check();
}

TEST(GridHaloTest, one_dimension) {
    run({{4, false, 3, 1}}, 1);
    run({{4, true, 3, 3}}, 1);
    run({{1, true, 3, 2}}, 1);
    run({{2, true, 3, 2}}, 1);
}

TEST(GridHaloTest, two_dimensions_with_and_without_corners) {
    for (const std::uint32_t reach : {1U, 2U}) {
        run({{2, true, 3, 1}, {3, false, 4, 2}}, reach);
        run({{2, true, 3, 1}, {2, true, 4, 2}}, reach);
        run({{1, true, 3, 1}, {2, false, 4, 0}}, reach);
    }
}

TEST(GridHaloTest, three_dimensions_by_faces_edges_and_corners) {
    for (const std::uint32_t reach : {1U, 2U, 3U})
        run({{2, true, 3, 1}, {3, false, 2, 2}, {2, true, 4, 1}}, reach);
}

TEST(GridHaloTest, five_dimensions) {
    run({{1, true, 2, 1}, {2, true, 2, 1}, {2, false, 2, 1}, {1, false, 2, 1}, {2, true, 2, 1}}, 5);
}

TEST(GridHaloTest, wrong_grids_are_refused) {
    const auto code = [](const GridShape& grid, std::uint32_t members) {
        const auto halo = halo_of(grid, 0, members);
        return halo.is_ok() ? base::Code::ok : halo.failure().code();
    };
    EXPECT_EQ(code({{{4, false, 3, 1}}, 8, 1}, 5), base::Code::argument);
    EXPECT_EQ(code({{{4, false, 3, 4}}, 8, 1}, 4), base::Code::argument);
    EXPECT_EQ(code({{{4, false, 0, 0}}, 8, 1}, 4), base::Code::argument);
    EXPECT_EQ(code({{{4, false, 3, 1}}, 0, 1}, 4), base::Code::argument);
    EXPECT_EQ(code({{{1, false, std::uint64_t{1} << 49, 1}}, 8, 1}, 1), base::Code::argument);
    EXPECT_EQ(code({{}, 8, 1}, 1), base::Code::limit);
    for (const unsigned points_log2 : {50U, 60U, 63U}) {
        const GridShape grid{{{1, false, std::uint64_t{1} << points_log2, 1}}, 8, 1};
        EXPECT_EQ(halo_of(grid, 0, 1).failure().message(), "the array has 2^50 bytes or more");
    }
    EXPECT_EQ(code({std::vector<GridAxis>(9, {1, true, 1, 1}), 8, 1}, 1), base::Code::limit);
    EXPECT_EQ(code({std::vector<GridAxis>(8, {1, true, 1, 1}), 8, 8}, 1), base::Code::ok);
}

}  // namespace
}  // namespace acp::exchange
