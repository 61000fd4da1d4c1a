// SPDX-License-Identifier: BSD-3-Clause
// The product of two matrices: a rank has rows of all three, and reads all of the second one. By
// hand it gets the rows of the other ranks.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "os/clock.hpp"

#include "dsm_program.hpp"
#include "grid_rows.hpp"
#include "rank_threads.hpp"

namespace acp::bench {

namespace {

std::size_t matrix_side(const ProgramPlace& place) {
    return place.is_quick ? 64 : 512;
}

void fill_matrix(double* values, std::size_t begin, std::size_t end, std::uint64_t seed) {
    for (std::size_t i = begin; i < end; ++i)
        values[i] = static_cast<double>(random_at(seed + i) >> 40) / 4096;
}

constexpr std::uint64_t left_seed = 0;
constexpr std::uint64_t right_seed = std::uint64_t{1} << 32;

// Rows first .. last-1 of the product, which lie in the arrays as in the whole matrices.
void multiply_rows(const double* left,
                   const double* right,
                   double* product,
                   std::size_t side,
                   std::size_t first,
                   std::size_t last) {
    for (std::size_t y = first; y < last; ++y) {
        double* const out = product + y * side;
        std::fill(out, out + side, 0.0);
        for (std::size_t k = 0; k < side; ++k) {
            const double factor = left[y * side + k];
            const double* const row = right + k * side;
            for (std::size_t x = 0; x < side; ++x) out[x] += factor * row[x];
        }
    }
}

// Three matrices in private memory.
class MatrixAlone {
public:
    explicit MatrixAlone(std::size_t side) : side_(side) {}

    double run() {
        const std::size_t count = side_ * side_;
        if (!values_) values_.emplace(3 * count);
        fill_matrix(values_->data(), 0, count, left_seed);
        fill_matrix(values_->data() + count, 0, count, right_seed);
        const std::uint64_t start = os::now_ns();
        multiply_rows(values_->data(), values_->data() + count, product(), side_, 0, side_);
        return static_cast<double>(os::now_ns() - start);
    }

    [[nodiscard]] double* product() { return values_->data() + 2 * side_ * side_; }

private:
    std::size_t side_;
    std::optional<PrivateGrid> values_;
};

class MatrixProgram final : public DsmProgram {
public:
    MatrixProgram(const ProgramPlace& place, bool is_prefetching, int threads)
        : is_prefetching_(is_prefetching),
          threads_(threads),
          side_(matrix_side(place)),
          first_(place.cut(side_, place.own())),
          last_(place.cut(side_, place.own() + 1)),
          left_(side_ * side_),
          right_(side_ * side_),
          product_(side_ * side_),
          alone_(side_) {
        for (const double* matrix : {left_.data(), right_.data(), product_.data()})
            must(acp_set_update_dsm(matrix, left_.bytes(), ACP_UPDATE_NEVER) == 0);
    }

    void prepare() override {
        fill_matrix(left_.data(), first_ * side_, last_ * side_, left_seed);
        fill_matrix(right_.data(), first_ * side_, last_ * side_, right_seed);
        program_barrier();
    }

    void run() override {
        if (is_prefetching_) must(acp_prefetch_dsm(right_.data(), right_.bytes()) == 0);
        by_threads(first_, last_, threads_, [&](std::size_t first, std::size_t last) {
            multiply_rows(left_.data(), right_.data(), product_.data(), side_, first, last);
        });
        program_barrier();
    }

    double run_alone() override { return alone_.run(); }

    bool is_right() override {
        return std::memcmp(product_.data() + first_ * side_, alone_.product() + first_ * side_,
                           (last_ - first_) * side_ * sizeof(double)) == 0;
    }

private:
    bool is_prefetching_;
    int threads_;
    std::size_t side_;
    std::size_t first_;
    std::size_t last_;
    SharedArray<double> left_;
    SharedArray<double> right_;
    SharedArray<double> product_;
    MatrixAlone alone_;
};

// Each rank's rows of the second matrix lie in its heap.
class MatrixByHand final : public DsmProgram {
public:
    explicit MatrixByHand(const ProgramPlace& place)
        : place_(place),
          side_(matrix_side(place)),
          first_(place.cut(side_, place.own())),
          last_(place.cut(side_, place.own() + 1)),
          values_(3 * side_ * side_),
          own_(acp_malloc((last_ - first_) * side_ * sizeof(double), place.rank)),
          of_ranks_(place.all()),
          alone_(side_) {
        must(own_ != ACP_GA_NULL);
        must(acp_allgather_team(acp_world_team(), &own_, sizeof own_, of_ranks_.data()) == 0);
    }

    MatrixByHand(const MatrixByHand&) = delete;
    MatrixByHand& operator=(const MatrixByHand&) = delete;

    ~MatrixByHand() override { acp_free(own_); }

    void prepare() override {
        fill_matrix(left(), first_ * side_, last_ * side_, left_seed);
        auto* const own = static_cast<double*>(acp_query_address(own_));
        fill_matrix(own, 0, (last_ - first_) * side_, right_seed + first_ * side_);
        sync_all();
    }

    void run() override {
        std::vector<acp_handle_t> gets;
        for (std::size_t i = 0; i < place_.all(); ++i) {
            const std::size_t begin = place_.cut(side_, i);
            const std::size_t end = place_.cut(side_, i + 1);
            gets.push_back(acp_get(right() + begin * side_, of_ranks_[i],
                                   (end - begin) * side_ * sizeof(double), ACP_HANDLE_NULL));
        }
        for (const acp_handle_t get : gets) must(acp_wait(get, -1) == 0);
        multiply_rows(left(), right(), product(), side_, first_, last_);
        sync_all();
    }

    double run_alone() override { return alone_.run(); }

    bool is_right() override {
        return std::memcmp(product() + first_ * side_, alone_.product() + first_ * side_,
                           (last_ - first_) * side_ * sizeof(double)) == 0;
    }

private:
    [[nodiscard]] double* left() { return values_.data(); }

    [[nodiscard]] double* right() { return values_.data() + side_ * side_; }

    [[nodiscard]] double* product() { return values_.data() + 2 * side_ * side_; }

    ProgramPlace place_;
    std::size_t side_;
    std::size_t first_;
    std::size_t last_;
    PrivateGrid values_;
    acp_ga_t own_;
    std::vector<acp_ga_t> of_ranks_;
    MatrixAlone alone_;
};

}  // namespace

std::unique_ptr<DsmProgram> make_matrix(const ProgramPlace& place) {
    return std::make_unique<MatrixProgram>(place, false, 1);
}

std::unique_ptr<DsmProgram> make_matrix_prefetched(const ProgramPlace& place) {
    return std::make_unique<MatrixProgram>(place, true, 1);
}

std::unique_ptr<DsmProgram> make_matrix_threaded(const ProgramPlace& place) {
    return std::make_unique<MatrixProgram>(place, true, 2);
}

std::unique_ptr<DsmProgram> make_matrix_by_hand(const ProgramPlace& place) {
    return std::make_unique<MatrixByHand>(place);
}

}  // namespace acp::bench
