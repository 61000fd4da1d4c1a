// SPDX-License-Identifier: BSD-3-Clause
// LU decomposition without pivoting, a barrier after each column. Rows are dealt to the ranks in
// turn, so that all have work until the end; in each step all ranks read one row that no rank has
// read before.
#include <cstring>
#include <optional>

#include "os/clock.hpp"

#include "dsm_program.hpp"
#include "grid_rows.hpp"

namespace acp::bench {

namespace {

constexpr int barriers_to_settle = 3;

// Its diagonal dominates: no pivot is needed.
double lu_input(std::size_t row, std::size_t column, std::size_t side) {
    const auto random = static_cast<double>(random_at(row * side + column) >> 11);
    const double value = random / static_cast<double>(std::uint64_t{1} << 53);
    return row == column ? static_cast<double>(side) + value : value;
}

void fill_row(double* row, std::size_t number, std::size_t side) {
    for (std::size_t column = 0; column < side; ++column)
        row[column] = lu_input(number, column, side);
}

// Subtracts from a row what makes its element in the pivot's column zero, and keeps the factor
// there.
void eliminate(double* row, const double* pivot, std::size_t column, std::size_t side) {
    const double factor = row[column] / pivot[column];
    row[column] = factor;
    for (std::size_t i = column + 1; i < side; ++i) row[i] -= factor * pivot[i];
}

class LuProgram final : public DsmProgram {
public:
    LuProgram(const ProgramPlace& place, bool are_homes_wrong)
        : place_(place),
          are_homes_wrong_(are_homes_wrong),
          side_(place.is_quick ? 64 : 512),
          matrix_(side_ * side_, are_homes_wrong ? ACP_HOME_MIGRATING : ACP_HOME_FIRST_WRITER) {}

    void prepare() override {
        for (std::size_t row = place_.own(); row < side_; row += place_.all())
            fill_row(row_at(row), row, side_);
        program_barrier();
        if (are_homes_wrong_) must(acp_set_home_dsm(matrix_.data(), matrix_.bytes(), 0) == 0);
    }

    void run() override {
        std::uint64_t settled = os::now_ns();
        for (std::size_t column = 0; column + 1 < side_; ++column) {
            const double* const pivot = row_at(column);
            for (std::size_t row = first_own_behind(column); row < side_; row += place_.all())
                eliminate(row_at(row), pivot, column, side_);
            program_barrier();
            if (column + 1 == barriers_to_settle) settled = os::now_ns();
        }
        settled_ns_ = static_cast<double>(os::now_ns() - settled);
    }

    [[nodiscard]] double settled_ns() const override { return settled_ns_; }

    double run_alone() override {
        if (!private_) private_.emplace(side_ * side_);
        double* const all = private_->data();
        for (std::size_t row = 0; row < side_; ++row) fill_row(all + row * side_, row, side_);
        const std::uint64_t start = os::now_ns();
        for (std::size_t column = 0; column + 1 < side_; ++column) {
            for (std::size_t row = column + 1; row < side_; ++row)
                eliminate(all + row * side_, all + column * side_, column, side_);
        }
        return static_cast<double>(os::now_ns() - start);
    }

    bool is_right() override {
        bool is_right = true;
        for (std::size_t row = place_.own(); row < side_; row += place_.all()) {
            is_right = is_right && std::memcmp(row_at(row), private_->data() + row * side_,
                                               side_ * sizeof(double)) == 0;
        }
        return is_right;
    }

private:
    [[nodiscard]] double* row_at(std::size_t row) const { return matrix_.data() + row * side_; }

    [[nodiscard]] std::size_t first_own_behind(std::size_t row) const {
        const std::size_t next = row + 1;
        return next + (place_.own() + place_.all() - next % place_.all()) % place_.all();
    }

    ProgramPlace place_;
    bool are_homes_wrong_;
    std::size_t side_;
    SharedArray<double> matrix_;
    std::optional<PrivateGrid> private_;
    double settled_ns_ = 0;
};

}  // namespace

std::unique_ptr<DsmProgram> make_lu(const ProgramPlace& place) {
    return std::make_unique<LuProgram>(place, false);
}

std::unique_ptr<DsmProgram> make_lu_wrong_homes(const ProgramPlace& place) {
    return std::make_unique<LuProgram>(place, true);
}

}  // namespace acp::bench
