// SPDX-License-Identifier: BSD-3-Clause
// Grids of doubles whose rows are divided among ranks, the loops of LAPLACE and SOR on them, and
// such a program written by hand: outer rows are put to the neighbours while the rows between them
// are computed. Knows no shared pages and no time. Each rank's main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <acp.h>

namespace acp::bench {

// Rows of an array that one rank computes.
struct GridRows {
    std::size_t width = 0;
    std::size_t first = 0;
    std::size_t last = 0;  // behind the last one
    std::size_t base = 0;  // which row of the whole grid the array's row 0 is

    [[nodiscard]] std::size_t count() const { return last - first; }

    [[nodiscard]] GridRows part(std::size_t from, std::size_t to) const {
        return {width, from, to, base};
    }
};

// The rows of a rank in the whole grid, whose outer rows and columns no rank computes.
//   height  more than ranks + 1, so that each rank has a row
[[nodiscard]] GridRows rows_of_rank(std::size_t width, std::size_t height, int rank, int ranks);

// Computes rows in a step: from what all rows have before it.
using RowLoops = void (*)(const double* from, double* to, const GridRows& rows, int step);

// LAPLACE: each point becomes the mean of its four neighbours. `from` and `to` are two arrays.
void laplace_loops(const double* from, double* to, const GridRows& rows, int step);

// SOR: half of the points, red ones in even steps and black ones in odd ones. `from` and `to` are
// one array.
void sor_loops(const double* from, double* to, const GridRows& rows, int step);

// The first row's values, which stay.
void heat_edge(double* array, std::size_t width);

// Zero doubles in private memory, in pages of the size that shared pages have. Memory is used where
// it is written.
class PrivateGrid {
public:
    explicit PrivateGrid(std::size_t count);

    [[nodiscard]] double* data() { return data_; }

private:
    struct Free {
        void operator()(void* memory) const noexcept;
    };

    std::unique_ptr<void, Free> memory_;
    double* data_ = nullptr;
};

// One or two arrays of the own rows and of a row of each neighbour.
class RowsByHand {
public:
    // Collective.
    //   rows    of the whole grid
    //   arrays  2, or 1 for loops that change one array
    RowsByHand(const GridRows& rows, int arrays, RowLoops loops, int rank, int ranks);
    RowsByHand(const RowsByHand&) = delete;
    RowsByHand& operator=(const RowsByHand&) = delete;
    ~RowsByHand();

    // All values become those at the beginning.
    void reset();

    // Collective: steps with acp_sync after each.
    void run(int steps);

    [[nodiscard]] int steps_done() const { return steps_done_; }

    // Whether this rank's rows have the bits of those of the whole grid.
    [[nodiscard]] bool has(const double* grid) const;

private:
    struct Array {
        acp_ga_t own = ACP_GA_NULL;
        double* values = nullptr;
        std::vector<acp_ga_t> of_ranks;
    };

    void add_array(int rank, int ranks);
    [[nodiscard]] const Array& array_at(int step) const;
    [[nodiscard]] acp_handle_t put(const Array& array, std::size_t row, int neighbour) const;

    GridRows whole_;  // this rank's rows in the whole grid
    GridRows own_;    // this rank's rows in its own arrays
    RowLoops loops_;
    int upper_;  // -1: there is none
    int lower_;
    std::vector<Array> arrays_;
    std::vector<std::uint64_t> rows_of_ranks_;  // the number of rows of each rank's array
    int steps_done_ = 0;
};

}  // namespace acp::bench
