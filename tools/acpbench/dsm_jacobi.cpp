// SPDX-License-Identifier: BSD-3-Clause
// Jacobi's method in three dimensions: each point becomes the mean of its six neighbours. A rank
// has the planes of a slab and reads one plane of each neighbour.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "os/clock.hpp"

#include "dsm_program.hpp"
#include "grid_rows.hpp"

namespace acp::bench {

namespace {

struct CubeShape {
    std::size_t side;
    int steps;

    [[nodiscard]] std::size_t plane() const { return side * side; }

    [[nodiscard]] std::size_t points() const { return plane() * side; }
};

// Planes first .. last-1, and no outer one.
void relax_planes(
    const double* from, double* to, const CubeShape& cube, std::size_t first, std::size_t last) {
    const std::size_t side = cube.side;
    const std::size_t plane = cube.plane();
    for (std::size_t z = first; z < last; ++z) {
        for (std::size_t y = 1; y + 1 < side; ++y) {
            const double* const row = from + z * plane + y * side;
            double* const out = to + z * plane + y * side;
            for (std::size_t x = 1; x + 1 < side; ++x) {
                out[x] = (row[x - 1] + row[x + 1] + *(row + x - side) + row[x + side] +
                          *(row + x - plane) + row[x + plane]) *
                         (1.0 / 6);
            }
        }
    }
}

void heat_plane(double* array, const CubeShape& cube) {
    for (std::size_t i = 0; i < cube.plane(); ++i) array[i] = 1 + static_cast<double>(i % 7) / 7;
}

class JacobiProgram final : public DsmProgram {
public:
    explicit JacobiProgram(const ProgramPlace& place)
        : place_(place),
          cube_(place.is_quick ? CubeShape{32, 4} : CubeShape{128, 20}),
          first_(1 + place.cut(cube_.side - 2, place.own())),
          last_(1 + place.cut(cube_.side - 2, place.own() + 1)),
          one_(cube_.points()),
          other_(cube_.points()) {}

    void prepare() override {
        const std::size_t first = place_.rank == 0 ? 0 : first_;
        const std::size_t last = place_.rank + 1 == place_.ranks ? cube_.side : last_;
        for (double* const array : {one_.data(), other_.data()}) {
            std::memset(array + first * cube_.plane(), 0,
                        (last - first) * cube_.plane() * sizeof(double));
            if (place_.rank == 0) heat_plane(array, cube_);
        }
        program_barrier();
    }

    void run() override {
        double* from = one_.data();
        double* to = other_.data();
        for (int step = 0; step < cube_.steps; ++step) {
            relax_planes(from, to, cube_, first_, last_);
            std::swap(from, to);
            program_barrier();
        }
    }

    double run_alone() override {
        if (!private_) private_.emplace(2 * cube_.points());
        double* from = private_->data();
        double* to = from + cube_.points();
        std::memset(from, 0, 2 * cube_.points() * sizeof(double));
        heat_plane(from, cube_);
        heat_plane(to, cube_);
        const std::uint64_t start = os::now_ns();
        for (int step = 0; step < cube_.steps; ++step) {
            relax_planes(from, to, cube_, 1, cube_.side - 1);
            std::swap(from, to);
        }
        return static_cast<double>(os::now_ns() - start);
    }

    // The number of steps is even: the result is where the input was.
    bool is_right() override {
        const std::size_t first = first_ * cube_.plane();
        return std::memcmp(one_.data() + first, private_->data() + first,
                           (last_ - first_) * cube_.plane() * sizeof(double)) == 0;
    }

private:
    ProgramPlace place_;
    CubeShape cube_;
    std::size_t first_;
    std::size_t last_;
    SharedArray<double> one_;
    SharedArray<double> other_;
    std::optional<PrivateGrid> private_;
};

}  // namespace

std::unique_ptr<DsmProgram> make_jacobi_3d(const ProgramPlace& place) {
    return std::make_unique<JacobiProgram>(place);
}

}  // namespace acp::bench
