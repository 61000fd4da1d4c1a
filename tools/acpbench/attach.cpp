// SPDX-License-Identifier: BSD-3-Clause
// Experiment `attach`: copies to and from registered memory of another process beside the kernel's
// own call on the very same bytes, on ordinary and on huge pages; and sixteen small copies issued
// at once. All ranks.
#include <algorithm>
#include <cstring>

#include "base/format.hpp"
#include "os/cross_memory.hpp"
#include "os/mapping.hpp"

#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"
#include "slices.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t huge_page = 2 << 20;
constexpr std::uint64_t queued = 16;
constexpr std::uint64_t queued_stride = 4096;  // each in a page of its own

// Registered memory on one kind of page; rank 0 also knows rank 1's.
class PagedMemory {
public:
    PagedMemory(Job& job, std::uint64_t bytes, bool are_huge) {
        const std::uint64_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
        base::Result<os::Mapping> mapping = os::Mapping::map_anonymous(whole + huge_page);
        if (!mapping.is_ok()) give_up(std::string(mapping.failure().message()));
        mapping_ = std::move(mapping).value();
        const auto start = reinterpret_cast<std::uintptr_t>(mapping_.data());
        own_ = mapping_.data() + (huge_page - start % huge_page) % huge_page;
        advise_huge_pages(own_, whole, are_huge);
        const double before = huge_kib();
        std::memset(own_, job.rank() + 1, whole);
        huge_share_ = (huge_kib() - before) * 1024 / static_cast<double>(whole);
        key_ = acp_register_memory(own_, whole, 0);
        if (key_ == ACP_ATKEY_NULL)
            give_up(std::string("cannot register memory: ") + acp_error_message());
        ga_ = acp_query_ga(key_, own_);
        RankResult mine{};
        mine.values[0] = ga_;
        mine.values[1] = reinterpret_cast<std::uint64_t>(own_);
        mine.values[2] = static_cast<std::uint64_t>(own_process_id());
        const RankResult other = job.exchange(mine)[1];
        other_ga_ = other.values[0];
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
        other_ = reinterpret_cast<char*>(other.values[1]);
        other_pid_ = static_cast<int>(other.values[2]);
    }

    ~PagedMemory() { acp_unregister_memory(key_); }

    PagedMemory(const PagedMemory&) = delete;
    PagedMemory& operator=(const PagedMemory&) = delete;

    [[nodiscard]] acp_ga_t ga() const { return ga_; }

    [[nodiscard]] acp_ga_t other_ga() const { return other_ga_; }

    [[nodiscard]] double huge_share() const { return huge_share_; }

    void kernel(bool is_get, std::uint64_t bytes) const {
        const os::Piece here{own_, bytes};
        const os::Piece there{other_, bytes};
        const std::int64_t moved = is_get ? os::read_process(other_pid_, {&here, 1}, {&there, 1})
                                          : os::write_process(other_pid_, {&here, 1}, {&there, 1});
        if (moved != static_cast<std::int64_t>(bytes))
            give_up("the kernel does not copy between processes here");
    }

private:
    os::Mapping mapping_;
    char* own_ = nullptr;
    char* other_ = nullptr;
    int other_pid_ = 0;
    acp_atkey_t key_ = ACP_ATKEY_NULL;
    acp_ga_t ga_ = ACP_GA_NULL;
    acp_ga_t other_ga_ = ACP_GA_NULL;
    double huge_share_ = 0;
};

Plan plan_of(const Options& options) {
    Plan plan;
    plan.slices = options.slices > 0 ? options.slices : options.is_quick ? 1 : 8;
    plan.slice_ns = options.is_quick ? 2e6 : 12e6;
    plan.round_ns = 100e3;
    return plan;
}

Row row_of(const Job& job,
           const std::string& name,
           std::uint64_t bytes,
           const Comparison& comparison,
           const std::string& yardstick) {
    Row row;
    row.experiment = "attach";
    row.name = name;
    row.mode = mode_by_environment();
    row.ranks = job.ranks();
    row.nodes = job.nodes();
    row.bytes = bytes;
    fill(row, comparison);
    fill_yardstick(row, comparison, yardstick);
    return row;
}

Row single(Job& job,
           const PagedMemory& memory,
           const std::string& pages,
           std::uint64_t bytes,
           bool is_get,
           const Plan& plan) {
    const acp_ga_t target = is_get ? memory.ga() : memory.other_ga();
    const acp_ga_t source = is_get ? memory.other_ga() : memory.ga();
    Pair pair;
    pair.test = [=](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i)
            acp_complete(acp_copy(target, source, bytes, ACP_HANDLE_NULL));
    };
    pair.yardstick = [&memory, is_get, bytes](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) memory.kernel(is_get, bytes);
    };
    const std::string name = (is_get ? "get, " : "put, ") + pages;
    return row_of(job, name, bytes, measure_and_compare(job, pair, plan),
                  is_get ? "process_vm_readv" : "process_vm_writev");
}

// Time per copy when sixteen are issued before the first is waited for.
Row many(Job& job, const PagedMemory& memory, bool is_get, const Plan& plan) {
    constexpr std::uint64_t bytes = 8;
    Pair pair;
    pair.test = [&memory, is_get](std::uint64_t count) {
        acp_handle_t last = ACP_HANDLE_NULL;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t at = i % queued * queued_stride;
            last = is_get
                       ? acp_copy(memory.ga() + at, memory.other_ga() + at, bytes, ACP_HANDLE_NULL)
                       : acp_copy(memory.other_ga() + at, memory.ga() + at, bytes, ACP_HANDLE_NULL);
            if (i % queued == queued - 1) acp_complete(last);
        }
        acp_complete(last);
    };
    pair.yardstick = [&memory, is_get](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) memory.kernel(is_get, bytes);
    };
    pair.test_operations = queued * 8;
    Row row = row_of(job, std::string(is_get ? "get" : "put") + ", 16 at once", bytes,
                     measure_and_compare(job, pair, plan),
                     is_get ? "process_vm_readv each" : "process_vm_writev each");
    row.extra.emplace_back("ns_per_command", row.latency_us.median * 1e3);
    return row;
}

}  // namespace

int run_attach(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    job.need_one_node("attach");
    const std::uint64_t most =
        std::max<std::uint64_t>(call.options.bytes_max, queued * queued_stride);
    const PagedMemory ordinary(job, most, false);
    const PagedMemory huge(job, most, true);
    if (!job.conducts()) {
        job.follow([](const Order&) {});
        return 0;
    }
    const std::string path = acp_path(ordinary.ga(), ordinary.other_ga()).name;
    if (path != "attach") {
        give_up("copies between registered memories take the path \"" + path +
                "\" here, not attach; acpinfo says why. Type:\n  ACP_INTRANODE=attach " +
                std::string(call.usage));
    }
    if (huge.huge_share() < 0.9) {
        std::fprintf(stderr,
                     "acpbench: this machine gave huge pages for %.0f %% of the memory only\n",
                     100 * huge.huge_share());
    }
    const Plan plan = plan_of(call.options);
    std::vector<Row> rows;
    Progress progress("attach", 82);
    for (const PagedMemory* memory : {&ordinary, &huge}) {
        const std::string pages = memory == &ordinary ? "4 KiB pages" : "huge pages";
        for (const bool is_get : {true, false}) {
            for (std::uint64_t bytes = std::max<std::uint64_t>(8, call.options.bytes_min);
                 bytes <= call.options.bytes_max; bytes *= 2) {
                rows.push_back(single(job, *memory, pages, bytes, is_get, plan));
                progress.step(rows.back().name + " " + base::human_size(bytes));
            }
        }
    }
    for (const bool is_get : {true, false}) rows.push_back(many(job, ordinary, is_get, plan));
    return finish(call.options, rows);
}

}  // namespace acp::bench
