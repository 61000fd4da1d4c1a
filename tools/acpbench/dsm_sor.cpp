// SPDX-License-Identifier: BSD-3-Clause
// SOR: half of the points of the own rows in each step, then a barrier.
#include <cstring>
#include <optional>

#include "os/clock.hpp"

#include "dsm_program.hpp"
#include "grid_rows.hpp"
#include "rank_threads.hpp"

namespace acp::bench {

namespace {

struct SorShape {
    std::size_t height;
    std::size_t width;
    int steps;
};

SorShape aligned_shape(const ProgramPlace& place) {
    return place.is_quick ? SorShape{130, 512, 6} : SorShape{1024, 2048, 50};
}

// As many points; a row is not a whole number of pages.
SorShape unaligned_shape(const ProgramPlace& place) {
    return place.is_quick ? SorShape{128, 514, 6} : SorShape{1022, 2050, 50};
}

// One process's grid, which other ranks than rank 0 make for their check alone.
class SorAlone {
public:
    explicit SorAlone(const SorShape& shape) : shape_(shape) {}

    double run() {
        if (!grid_) grid_.emplace(shape_.height * shape_.width);
        double* const values = grid_->data();
        std::memset(values, 0, shape_.height * shape_.width * sizeof(double));
        heat_edge(values, shape_.width);
        const std::uint64_t start = os::now_ns();
        const GridRows rows = rows_of_rank(shape_.width, shape_.height, 0, 1);
        for (int step = 0; step < shape_.steps; ++step) sor_loops(values, values, rows, step);
        return static_cast<double>(os::now_ns() - start);
    }

    [[nodiscard]] const double* result() { return grid_->data(); }

private:
    SorShape shape_;
    std::optional<PrivateGrid> grid_;
};

class SorProgram final : public DsmProgram {
public:
    SorProgram(const ProgramPlace& place, const SorShape& shape, int threads, bool has_hints)
        : place_(place),
          shape_(shape),
          threads_(threads),
          has_hints_(has_hints),
          rows_(rows_of_rank(shape.width, shape.height, place.rank, place.ranks)),
          grid_(shape.height * shape.width),
          alone_(shape) {}

    // The outer rows belong to the first and to the last rank.
    void prepare() override {
        const std::size_t first = place_.rank == 0 ? 0 : rows_.first;
        const std::size_t last = place_.rank + 1 == place_.ranks ? shape_.height : rows_.last;
        std::memset(grid_.data() + first * shape_.width, 0,
                    (last - first) * shape_.width * sizeof(double));
        if (place_.rank == 0) heat_edge(grid_.data(), shape_.width);
        program_barrier();
    }

    void run() override {
        for (int step = 0; step < shape_.steps; ++step) {
            if (has_hints_) {
                run_with_hints(step);
                continue;
            }
            by_threads(rows_.first, rows_.last, threads_, [&](std::size_t first, std::size_t last) {
                sor_loops(grid_.data(), grid_.data(), rows_.part(first, last), step);
            });
            program_barrier();
        }
    }

    double run_alone() override { return alone_.run(); }

    bool is_right() override {
        const std::size_t first = rows_.first * shape_.width;
        return std::memcmp(grid_.data() + first, alone_.result() + first,
                           rows_.count() * shape_.width * sizeof(double)) == 0;
    }

private:
    // The outer rows first: they travel to their homes while the rank computes the others.
    void run_with_hints(int step) {
        double* const values = grid_.data();
        const auto compute = [&](std::size_t first, std::size_t last) {
            if (first < last) sor_loops(values, values, rows_.part(first, last), step);
        };
        compute(rows_.first, rows_.first + 1);
        if (rows_.count() > 1) compute(rows_.last - 1, rows_.last);
        for (const std::size_t row : {rows_.first, rows_.last - 1}) {
            must(acp_flush_dsm(values + row * shape_.width, shape_.width * sizeof(double)) == 0);
        }
        compute(rows_.first + 1, rows_.last - 1);
        program_barrier();
    }

    ProgramPlace place_;
    SorShape shape_;
    int threads_;
    bool has_hints_;
    GridRows rows_;
    SharedArray<double> grid_;
    SorAlone alone_;
};

class SorByHand final : public DsmProgram {
public:
    SorByHand(const ProgramPlace& place, const SorShape& shape)
        : shape_(shape),
          by_hand_(rows_of_rank(shape.width, shape.height, place.rank, place.ranks),
                   1,
                   sor_loops,
                   place.rank,
                   place.ranks),
          alone_(shape) {}

    void prepare() override {
        by_hand_.reset();
        program_barrier();
    }

    void run() override { by_hand_.run(shape_.steps); }

    double run_alone() override { return alone_.run(); }

    bool is_right() override { return by_hand_.has(alone_.result()); }

private:
    SorShape shape_;
    RowsByHand by_hand_;
    SorAlone alone_;
};

}  // namespace

std::unique_ptr<DsmProgram> make_sor_aligned(const ProgramPlace& place) {
    return std::make_unique<SorProgram>(place, aligned_shape(place), 1, false);
}

std::unique_ptr<DsmProgram> make_sor_unaligned(const ProgramPlace& place) {
    return std::make_unique<SorProgram>(place, unaligned_shape(place), 1, false);
}

std::unique_ptr<DsmProgram> make_sor_hinted(const ProgramPlace& place) {
    return std::make_unique<SorProgram>(place, unaligned_shape(place), 1, true);
}

std::unique_ptr<DsmProgram> make_sor_threaded(const ProgramPlace& place) {
    return std::make_unique<SorProgram>(place, aligned_shape(place), 2, false);
}

std::unique_ptr<DsmProgram> make_sor_by_hand(const ProgramPlace& place) {
    return std::make_unique<SorByHand>(place, aligned_shape(place));
}

}  // namespace acp::bench
