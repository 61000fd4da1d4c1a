// SPDX-License-Identifier: BSD-3-Clause
// Experiment `heap`: blocks of random sizes on the own rank, on another rank of the node, and on a
// rank of another node: allocated, then freed in random order, as paper 002 measured it. Beside
// malloc and free of the C library, or a get of 8 bytes from the same rank. Rank 0 allocates, the
// others sleep.
#include <algorithm>
#include <cstdlib>
#include <malloc.h>
#include <numeric>
#include <random>
#include <string>

#include "base/format.hpp"
#include "os/clock.hpp"

#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"
#include "paper.hpp"

namespace acp::bench {

namespace {

constexpr std::size_t paper_blocks = 1024;
constexpr std::size_t paper_bytes_max = 32'768;
constexpr std::size_t crowd_bytes_max = 2'048;  // where there are a million of them

// Has the C library keep what is freed, as acp_free does, and not return it to the kernel at each
// free.
void keep_memory_in_c_library() {
    constexpr int bytes_kept = 1 << 30;
    // NOLINTBEGIN(concurrency-mt-unsafe): no other thread allocates yet
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, bytes_kept);
    (void)mallopt(M_TOP_PAD, 1 << 20);
    // NOLINTEND(concurrency-mt-unsafe)
}

// ns for each block: allocated in order, freed in another one.
struct Times {
    double allocate_ns = 0;
    double free_ns = 0;
};

class Heaps {
public:
    Heaps(const Job& job, const Options& options) : job_(job), is_quick_(options.is_quick) {
        slices_ = options.slices != 0 ? options.slices : is_quick_ ? 2 : 9;
    }

    std::vector<Row> run() {
        std::vector<Row> rows;
        const std::vector<int> owners = chosen_owners();
        Progress progress("heap", static_cast<int>(owners.size()) * 5);
        for (const int owner : owners) {
            const bool is_here = job_.node_of(owner) == job_.node_of(0);
            for (const std::size_t count : counts_for(is_here)) {
                make_blocks(count);
                if (is_here) {
                    beside_c_library(rows, owner);
                } else {
                    beside_gets(rows, owner);
                }
                progress.step(place_of(owner));
            }
            if (!is_here) continue;
            for (const std::size_t bytes : {std::size_t{64}, std::size_t{65'536}}) {
                make_blocks(paper_blocks);
                sizes_.assign(paper_blocks, bytes);
                beside_c_library(rows, owner, " of " + base::human_size(bytes));
            }
            progress.step(place_of(owner));
        }
        return rows;
    }

private:
    // Rank 0, another rank of its node, and one of another node.
    [[nodiscard]] std::vector<int> chosen_owners() const {
        std::vector<int> owners = {0};
        const auto add_first = [&](bool is_same_node) {
            for (int rank = 1; rank < job_.ranks(); ++rank) {
                if ((job_.node_of(rank) == job_.node_of(0)) != is_same_node) continue;
                owners.push_back(rank);
                return;
            }
        };
        add_first(true);
        add_first(false);
        return owners;
    }

    [[nodiscard]] std::vector<std::size_t> counts_for(bool is_here) const {
        if (!is_here || is_quick_) return {paper_blocks};
        return {paper_blocks, 10'000, 100'000, 1'000'000};
    }

    [[nodiscard]] std::string place_of(int owner) const {
        if (owner == 0) return "own heap";
        return job_.node_of(owner) == job_.node_of(0) ? "another rank's heap"
                                                      : "another node's heap";
    }

    void make_blocks(std::size_t count) {
        const std::size_t most = count > 100'000 ? crowd_bytes_max : paper_bytes_max;
        std::mt19937_64 random(count);
        std::uniform_int_distribution<std::size_t> any_size(1, most);
        sizes_.resize(count);
        for (std::size_t& size : sizes_) size = any_size(random);
        order_.resize(count);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::shuffle(order_.begin(), order_.end(), random);
        // Each half is allocated in another order than it is freed, and so that the clock sees no
        // misses of the lists that are kept here.
        allocation_order_ = order_;
        const auto half = allocation_order_.begin() + static_cast<std::ptrdiff_t>(count / 2);
        std::sort(allocation_order_.begin(), half);
        std::sort(half, allocation_order_.end());
        addresses_.assign(count, ACP_GA_NULL);
        pointers_.assign(count, nullptr);
    }

    // Block i of a rank's heap.
    struct OfAcp {
        Heaps& heaps;
        int owner;

        void allocate(std::size_t i) const {
            heaps.addresses_[i] = acp_malloc(heaps.sizes_[i], owner);
            if (heaps.addresses_[i] == ACP_GA_NULL) give_up(acp_error_message());
        }

        void free(std::size_t i) const { (void)acp_free(heaps.addresses_[i]); }
    };

    struct OfCLibrary {
        Heaps& heaps;

        void allocate(std::size_t i) const { heaps.pointers_[i] = std::malloc(heaps.sizes_[i]); }

        void free(std::size_t i) const { std::free(heaps.pointers_[i]); }
    };

    // Half of the blocks live when the clock starts and when it stops, so that the heap is neither
    // new nor empty.
    template <typename One>
    [[nodiscard]] Times measure(const One& one) const {
        const std::size_t half = sizes_.size() / 2;
        std::uint64_t allocate_ns = 0;
        std::uint64_t free_ns = 0;
        const auto allocate = [&](std::size_t first, std::size_t end) {
            const std::uint64_t start = os::now_ns();
            for (std::size_t i = first; i < end; ++i) one.allocate(allocation_order_[i]);
            allocate_ns += os::now_ns() - start;
        };
        const auto free = [&](std::size_t first, std::size_t end) {
            const std::uint64_t start = os::now_ns();
            for (std::size_t i = first; i < end; ++i) one.free(order_[i]);
            free_ns += os::now_ns() - start;
        };
        const std::size_t rounds = std::max<std::size_t>(1, (is_quick_ ? 2'000 : 200'000) / half);
        for (std::size_t i = 0; i < sizes_.size(); ++i) one.allocate(i);
        for (std::size_t round = 0; round < rounds; ++round) {
            const std::size_t first = round % 2 * half;
            free(first, first + half);
            allocate(first, first + half);
        }
        const auto count = static_cast<double>(half * rounds);
        const Times times = {static_cast<double>(allocate_ns) / count,
                             static_cast<double>(free_ns) / count};
        free(0, sizes_.size());
        return times;
    }

    //   of  what the rows' names say of the blocks besides
    void beside_c_library(std::vector<Row>& rows, int owner, const std::string& of = "") {
        std::vector<double> malloc_ns;
        std::vector<double> free_ns;
        std::vector<double> their_malloc_ns;
        std::vector<double> their_free_ns;
        for (int i = 0; i < slices_; ++i) {
            const Times ours = measure(OfAcp{*this, owner});
            const Times theirs = measure(OfCLibrary{*this});
            malloc_ns.push_back(ours.allocate_ns);
            free_ns.push_back(ours.free_ns);
            their_malloc_ns.push_back(theirs.allocate_ns);
            their_free_ns.push_back(theirs.free_ns);
        }
        rows.push_back(row_of("malloc, ", owner, malloc_ns, "malloc of the C library",
                              median_of(their_malloc_ns)));
        rows.push_back(
            row_of("free, ", owner, free_ns, "free of the C library", median_of(their_free_ns)));
        for (Row* row : {&rows.end()[-2], &rows.back()}) {
            row->name += of;
            if (!of.empty()) row->paper.reset();
        }
    }

    void beside_gets(std::vector<Row>& rows, int owner) {
        std::vector<double> malloc_ns;
        std::vector<double> free_ns;
        std::vector<double> many_malloc_ns;
        std::vector<double> many_free_ns;
        std::vector<double> get_ns;
        const OfAcp one{*this, owner};
        const auto count = static_cast<double>(paper_blocks);
        for (int i = 0; i < slices_; ++i) {
            const std::uint64_t start = os::now_ns();
            for (std::size_t k = 0; k < paper_blocks; ++k) {
                std::uint64_t word = 0;
                acp_complete(acp_get(&word, job_.starter_ga(owner), sizeof word, ACP_HANDLE_NULL));
            }
            get_ns.push_back(static_cast<double>(os::now_ns() - start) / count);
            const std::uint64_t from = os::now_ns();
            for (std::size_t k = 0; k < paper_blocks; ++k) one.allocate(k);
            const std::uint64_t allocated = os::now_ns();
            for (const std::size_t k : order_) one.free(k);
            const std::uint64_t freed = os::now_ns();
            if (acp_malloc_many(sizes_.size(), sizes_.data(), owner, addresses_.data()) != 0)
                give_up(acp_error_message());
            const std::uint64_t all_allocated = os::now_ns();
            (void)acp_free_many(addresses_.size(), addresses_.data());
            const std::uint64_t all_freed = os::now_ns();
            malloc_ns.push_back(static_cast<double>(allocated - from) / count);
            free_ns.push_back(static_cast<double>(freed - allocated) / count);
            many_malloc_ns.push_back(static_cast<double>(all_allocated - freed) / count);
            many_free_ns.push_back(static_cast<double>(all_freed - all_allocated) / count);
        }
        const std::string get = "acp_get of 8 bytes";
        const double get_time_ns = median_of(get_ns);
        rows.push_back(row_of("malloc, ", owner, malloc_ns, get, get_time_ns));
        rows.push_back(row_of("free, ", owner, free_ns, get, get_time_ns));
        rows.push_back(row_of("malloc_many, ", owner, many_malloc_ns, get, get_time_ns));
        rows.push_back(row_of("free_many, ", owner, many_free_ns, get, get_time_ns));
    }

    [[nodiscard]] Row row_of(const std::string& call,
                             int owner,
                             std::vector<double> each_ns,
                             const std::string& yardstick,
                             double yardstick_ns) const {
        for (double& ns : each_ns) ns /= 1e3;
        Row row;
        row.experiment = "heap";
        row.name = call + place_of(owner) + ", " + std::to_string(sizes_.size()) + " blocks";
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.iterations = sizes_.size() * each_ns.size();
        row.latency_us = summarize(std::move(each_ns));
        row.yardstick = Yardstick{yardstick, yardstick_ns / 1e3, "us"};
        row.ratio = row.latency_us.median / row.yardstick->value;
        const bool is_remote = job_.node_of(owner) != job_.node_of(0);
        if (sizes_.size() == paper_blocks && (is_remote || owner == job_.rank()))
            row.paper = paper_002_at(call.substr(0, call.find(',')), is_remote);
        return row;
    }

    const Job& job_;
    bool is_quick_;
    int slices_;
    std::vector<std::size_t> sizes_;
    std::vector<std::size_t> order_;             // in which blocks are freed
    std::vector<std::size_t> allocation_order_;  // in which those of a half are allocated
    std::vector<acp_ga_t> addresses_;
    std::vector<void*> pointers_;
};

}  // namespace

int run_heap(const Call& call) {
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    if (!job.conducts()) {
        job.follow([](const Order&) {});
        return 0;
    }
    keep_memory_in_c_library();
    return finish(call.options, Heaps(job, call.options).run());
}

}  // namespace acp::bench
