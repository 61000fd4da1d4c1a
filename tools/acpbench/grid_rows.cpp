// SPDX-License-Identifier: BSD-3-Clause
// The loops, and the puts of outer rows.
#include "grid_rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "job.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr double relaxation = 1.25;

}  // namespace

GridRows rows_of_rank(std::size_t width, std::size_t height, int rank, int ranks) {
    const auto own = static_cast<std::size_t>(rank);
    const auto all = static_cast<std::size_t>(ranks);
    const std::size_t inner = height - 2;
    return {width, 1 + inner * own / all, 1 + inner * (own + 1) / all, 0};
}

void laplace_loops(const double* from, double* to, const GridRows& rows, int /*step*/) {
    const std::size_t width = rows.width;
    for (std::size_t y = rows.first; y < rows.last; ++y) {
        const double* const row = from + y * width;
        double* const out = to + y * width;
        for (std::size_t x = 1; x + 1 < width; ++x)
            out[x] = 0.25 * (row[x - 1] + row[x + 1] + row[x - width] + row[x + width]);
    }
}

void sor_loops(const double* /*from*/, double* to, const GridRows& rows, int step) {
    const std::size_t width = rows.width;
    for (std::size_t y = rows.first; y < rows.last; ++y) {
        double* const row = to + y * width;
        const std::size_t colour = (rows.base + y + static_cast<std::size_t>(step)) % 2;
        for (std::size_t x = 1 + colour; x + 1 < width; x += 2) {
            const double mean =
                0.25 * (row[x - 1] + row[x + 1] + *(row + x - width) + row[x + width]);
            row[x] += relaxation * (mean - row[x]);
        }
    }
}

void heat_edge(double* array, std::size_t width) {
    for (std::size_t x = 0; x < width; ++x) array[x] = 1 + static_cast<double>(x % 7) / 7;
}

void PrivateGrid::Free::operator()(void* memory) const noexcept {
    std::free(memory);
}

// Fresh memory of calloc is not touched before it is written where there is much of it.
PrivateGrid::PrivateGrid(std::size_t count) {
    const std::size_t bytes =
        (count * sizeof(double) + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
    memory_.reset(std::calloc(1, bytes + huge_page_bytes));
    if (memory_ == nullptr) give_up("no private memory for " + std::to_string(count) + " doubles");
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    data_ = reinterpret_cast<double*>((address + huge_page_bytes - 1) & ~(huge_page_bytes - 1));
    advise_huge_pages(data_, bytes, false);
}

RowsByHand::RowsByHand(const GridRows& rows, int arrays, RowLoops loops, int rank, int ranks)
    : whole_(rows),
      own_{rows.width, 1, rows.count() + 1, rows.first - 1},
      loops_(loops),
      upper_(rank - 1),
      lower_(rank + 1 < ranks ? rank + 1 : -1),
      rows_of_ranks_(static_cast<std::size_t>(ranks)) {
    for (int i = 0; i < arrays; ++i) add_array(rank, ranks);
    reset();
    const std::uint64_t count = own_.last + 1;
    must(acp_allgather_team(acp_world_team(), &count, sizeof count, rows_of_ranks_.data()) == 0);
}

RowsByHand::~RowsByHand() {
    for (const Array& array : arrays_) acp_free(array.own);
}

void RowsByHand::add_array(int rank, int ranks) {
    Array array;
    array.own = acp_malloc((own_.last + 1) * own_.width * sizeof(double), rank);
    must(array.own != ACP_GA_NULL);
    array.values = static_cast<double*>(acp_query_address(array.own));
    array.of_ranks.resize(static_cast<std::size_t>(ranks));
    must(acp_allgather_team(acp_world_team(), &array.own, sizeof array.own,
                            array.of_ranks.data()) == 0);
    arrays_.push_back(std::move(array));
}

void RowsByHand::reset() {
    for (const Array& array : arrays_) {
        std::fill(array.values, array.values + (own_.last + 1) * own_.width, 0.0);
        if (whole_.first == 1) heat_edge(array.values, own_.width);
    }
    steps_done_ = 0;
}

const RowsByHand::Array& RowsByHand::array_at(int step) const {
    return arrays_[static_cast<std::size_t>(step) % arrays_.size()];
}

void RowsByHand::run(int steps) {
    for (int i = 0; i < steps; ++i, ++steps_done_) {
        const Array& from = array_at(steps_done_);
        const Array& to = array_at(steps_done_ + 1);
        const auto compute = [&](std::size_t first, std::size_t last) {
            loops_(from.values, to.values, own_.part(first, last), steps_done_);
        };
        compute(own_.first, own_.first + 1);
        if (own_.count() > 1) compute(own_.last - 1, own_.last);
        const acp_handle_t up = put(to, own_.first, upper_);
        const acp_handle_t down = put(to, own_.last - 1, lower_);
        if (own_.count() > 2) compute(own_.first + 1, own_.last - 1);
        must(acp_wait(up, -1) == 0 && acp_wait(down, -1) == 0);
        must(acp_sync() == 0);
    }
}

bool RowsByHand::has(const double* grid) const {
    return std::memcmp(array_at(steps_done_).values + own_.width,
                       grid + whole_.first * whole_.width,
                       whole_.count() * whole_.width * sizeof(double)) == 0;
}

// Puts a row into the outer row of a neighbour: below the last one of the upper one, above the
// first one of the lower one.
acp_handle_t RowsByHand::put(const Array& array, std::size_t row, int neighbour) const {
    if (neighbour < 0) return ACP_HANDLE_NULL;
    const auto rank = static_cast<std::size_t>(neighbour);
    const std::size_t there = neighbour == upper_ ? rows_of_ranks_[rank] - 1 : 0;
    const std::size_t row_bytes = own_.width * sizeof(double);
    return acp_put(array.of_ranks[rank] + there * row_bytes, array.values + row * own_.width,
                   row_bytes, ACP_HANDLE_NULL);
}

}  // namespace acp::bench
