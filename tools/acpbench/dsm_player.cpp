// SPDX-License-Identifier: BSD-3-Clause
// The allocations and loops.
#include "dsm_player.hpp"

#include <cstddef>
#include <utility>

#include "os/clock.hpp"

namespace acp::bench {

namespace {

constexpr std::size_t loop_width = 1024;
constexpr std::size_t loop_values = loop_width * loop_width;
constexpr std::size_t unused_page_values = dsm_page_bytes / sizeof(double);

char* allocate_at(std::uint64_t pages, int rank) {
    void* const memory =
        acp_alloc_home_dsm(pages * dsm_page_bytes, ACP_HOME_RANK, static_cast<std::uint64_t>(rank));
    must(memory != nullptr);
    return static_cast<char*>(memory);
}

double* allocate_loop_array() {
    auto* const array = static_cast<double*>(acp_alloc_dsm(loop_values * sizeof(double)));
    must(array != nullptr);
    return array;
}

// Time of `count` calls, for each one.
template <typename Call>
double time_each(std::uint64_t count, const Call& call) {
    const std::uint64_t start = os::now_ns();
    for (std::uint64_t i = 0; i < count; ++i) call();
    return static_cast<double>(os::now_ns() - start) / static_cast<double>(count);
}

// Rows whose neighbours are the rank's own: no rank reads what another one writes.
void run_loops(double*& from, double*& to, const GridRows& rows, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
        laplace_loops(from, to, rows.part(rows.first + 1, rows.last - 1), static_cast<int>(i));
        std::swap(from, to);
    }
}

}  // namespace

DsmPlayer::DsmPlayer(const Job& job)
    : job_(job),
      is_partner_(job.rank() == job.partner()),
      is_first_of_node_(job.node_of(job.rank()) == static_cast<std::uint64_t>(job.rank())),
      rows_(rows_of_rank(loop_width, loop_width, job.rank(), job.ranks())),
      private_(2 * loop_values + unused_page_values),
      private_from_(private_.data()),
      private_to_(private_from_ + loop_values + unused_page_values) {
    const auto ranks = static_cast<std::uint64_t>(job.ranks());
    const std::uint64_t pages = 2 * dsm_pages + ranks * 2 * noticed_pages + 8;
    must(acp_init_dsm(pages * dsm_page_bytes + 2 * loop_values * sizeof(double)) == 0);
    const int partner = job.ranks() > 1 ? job.partner() : 0;
    partners_ = allocate_at(dsm_pages, partner);
    written_ = allocate_at(dsm_pages, partner);
    noticed_ = static_cast<char*>(
        acp_alloc_home_dsm(ranks * 2 * noticed_pages * dsm_page_bytes, ACP_HOME_FIRST_WRITER, 0));
    must(noticed_ != nullptr);
    shared_from_ = allocate_loop_array();
    shared_to_ = allocate_loop_array();
    must(acp_set_update_dsm(partners_, dsm_pages * dsm_page_bytes, ACP_UPDATE_NEVER) == 0);
    must(acp_set_update_dsm(noticed_, ranks * 2 * noticed_pages * dsm_page_bytes,
                            ACP_UPDATE_NEVER) == 0);
    share_noticed_pages();
}

DsmPlayer::~DsmPlayer() {
    must(acp_finalize_dsm() == 0);
}

// The homes of pages are tracked, and so send notices, once another node has fetched them.
void DsmPlayer::share_noticed_pages() {
    measure_noticed(1);
    const std::uint64_t all = static_cast<std::uint64_t>(job_.ranks()) * 2 * noticed_pages;
    must(acp_prefetch_dsm(noticed_, all * dsm_page_bytes) == 0);
    must(acp_barrier_dsm() == 0);
    measure_noticed(2);
}

void DsmPlayer::write(std::uint64_t value, std::uint64_t stride) const {
    for (std::uint64_t page = 0; page < dsm_pages; page += stride) *word_of(page) = value;
}

// In the partner's own starter memory lies the word that release() changes.
void DsmPlayer::compute_until_released() const {
    auto* const control =
        static_cast<Control*>(acp_query_address(acp_query_starter_ga(job_.rank())));
    std::uint64_t sum = 1;
    while (control->word.load(std::memory_order_acquire) == 0) {
        for (int i = 0; i < 1000; ++i) sum = sum * 6364136223846793005U + 1442695040888963407U;
        asm volatile("" : "+r"(sum));  // the loop is not optimised away
    }
    control->word.store(0, std::memory_order_relaxed);
}

void DsmPlayer::release() const {
    auto* const control = static_cast<Control*>(acp_query_address(acp_query_starter_ga(0)));
    control->go.store(1, std::memory_order_relaxed);
    acp_complete(acp_copy(acp_query_starter_ga(job_.partner()) + offsetof(Control, word),
                          acp_query_starter_ga(0) + offsetof(Control, go), sizeof(std::uint64_t),
                          ACP_HANDLE_NULL));
}

void DsmPlayer::measure_noticed(std::uint64_t count) {
    double ns = 0;
    char* const own =
        noticed_ + static_cast<std::uint64_t>(job_.rank()) * 2 * noticed_pages * dsm_page_bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
        for (std::uint64_t page = 0; is_first_of_node_ && page < noticed_pages; ++page)
            ++own[2 * page * dsm_page_bytes];
        ns += time_each(1, [] { must(acp_barrier_dsm() == 0); });
    }
    took_ns_ = ns / static_cast<double>(count);
}

void DsmPlayer::follow(const Order& order) {
    const std::uint64_t count = order.arguments[0];
    switch (order.what) {
        case write_pages:
            if (is_partner_) write(order.arguments[0], order.arguments[1]);
            must(acp_barrier_dsm() == 0);
            if (is_partner_ && order.arguments[2] != 0) compute_until_released();
            break;
        case barriers:
            took_ns_ = time_each(count, [] { must(acp_barrier_dsm() == 0); });
            break;
        case syncs:
            took_ns_ = time_each(count, [] { must(acp_sync() == 0); });
            break;
        case noticed:
            measure_noticed(count);
            break;
        case loops_shared:
            took_ns_ = time_each(1, [&] { run_loops(shared_from_, shared_to_, rows_, count); });
            break;
        case loops_private:
            took_ns_ = time_each(1, [&] { run_loops(private_from_, private_to_, rows_, count); });
            break;
        default:
            break;
    }
}

}  // namespace acp::bench
