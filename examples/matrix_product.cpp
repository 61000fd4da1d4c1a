// SPDX-License-Identifier: BSD-3-Clause
// The product of two matrices of integers in shared pages. Each rank writes some rows of both
// matrices, and computes as many rows of the product. It reads its own rows of the first one and
// all of the second one, which it fetches ahead; without that, accesses fetch it page by page.
//
//   acprun -n 4 ./matrix_product
//
// prints
//
//   4 ranks: the product of two 256 x 256 matrices is right in all 65536 elements
//
// 1 to 256 ranks. Exits with 1 when an element is wrong.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>

#include <acp.h>
#include <acp/dsm.hpp>

namespace {

constexpr std::size_t side = 256;

using Matrix = acp::dsm::array<std::int64_t>;

// Element (y, x) of the product is then the sum of (y + k) * (k - x) over all k.
void write_rows(Matrix& left, Matrix& right, std::size_t first, std::size_t last) {
    for (std::size_t y = first; y < last; ++y) {
        for (std::size_t x = 0; x < side; ++x) {
            left[y * side + x] = static_cast<std::int64_t>(y + x);
            right[y * side + x] = static_cast<std::int64_t>(y) - static_cast<std::int64_t>(x);
        }
    }
}

void multiply_rows(
    const Matrix& left, const Matrix& right, Matrix& product, std::size_t first, std::size_t last) {
    for (std::size_t y = first; y < last; ++y) {
        for (std::size_t k = 0; k < side; ++k) {
            const std::int64_t factor = left[y * side + k];
            for (std::size_t x = 0; x < side; ++x)
                product[y * side + x] += factor * right[k * side + x];
        }
    }
}

// Sums of k and of k * k over all k below side.
std::size_t count_right(const Matrix& product) {
    const auto n = static_cast<std::int64_t>(side);
    const std::int64_t sum = n * (n - 1) / 2;
    const std::int64_t squares = (n - 1) * n * (2 * n - 1) / 6;
    std::size_t count = 0;
    for (std::int64_t y = 0; y < n; ++y) {
        for (std::int64_t x = 0; x < n; ++x) {
            const std::int64_t expected = squares + (y - x) * sum - n * y * x;
            if (product[static_cast<std::size_t>(y * n + x)] == expected) ++count;
        }
    }
    return count;
}

// Returns whether the product is right; on other ranks than rank 0: true.
bool run() {
    const auto rank = static_cast<std::size_t>(acp_rank());
    const auto procs = static_cast<std::size_t>(acp_procs());
    const std::size_t first = side * rank / procs;
    const std::size_t last = side * (rank + 1) / procs;

    const acp::dsm::pages shared(3 * side * side * sizeof(std::int64_t));
    Matrix left(side * side);
    Matrix right(side * side);
    Matrix product(side * side);
    write_rows(left, right, first, last);
    acp::dsm::barrier();
    acp::dsm::prefetch(right.data(), right.size());
    multiply_rows(left, right, product, first, last);
    acp::dsm::barrier();
    if (rank != 0) return true;
    const std::size_t count = count_right(product);
    std::printf("%zu ranks: the product of two %zu x %zu matrices is right in %s%zu elements\n",
                procs, side, side, count == side * side ? "all " : "only ", count);
    return count == side * side;
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "matrix_product: cannot join the job: %s\n", acp_error_message());
        return 1;
    }
    try {
        const bool is_right = run();
        return acp_finalize() == 0 && is_right ? 0 : 1;
    } catch (const std::exception& failure) {
        acp_abort(failure.what());
    }
}
