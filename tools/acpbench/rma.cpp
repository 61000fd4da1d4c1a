// SPDX-License-Identifier: BSD-3-Clause
// Experiment `rma`: writes and reads between memory that two ranks have locked (acp_lock_pm), with
// no intermediate copy, as paper 001 measured its own. Of each size it times many, several in
// flight: the writes beside the bare path without the library, and the reads beside the writes.
// Then it times single reads of a page. Rank 0 writes and reads, one other rank's memory is written
// and read, and all others sleep.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "os/clock.hpp"

#include <acp.h>

#include "bare_udp.hpp"
#include "copy.hpp"
#include "experiment.hpp"
#include "net_rounds.hpp"
#include "output.hpp"
#include "paper.hpp"
#include "slices.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t rma_bytes_most = 1 << 20;
constexpr std::array<std::uint64_t, 7> rma_sizes{8,       64,       1 << 10,       4 << 10,
                                                 8 << 10, 64 << 10, rma_bytes_most};
constexpr std::uint64_t page_bytes = 4 << 10;
constexpr std::uint64_t stream_bytes_min = 64 << 10;  // shorter writes do not fill datagrams
constexpr std::uint64_t operations_most = 1'000'000;  // the most operations of each kind and size
constexpr std::uint64_t all_bytes_near = std::uint64_t{8} << 30;
constexpr std::uint64_t all_bytes_far = std::uint64_t{1} << 30;

// The regions of both ranks, locked.
class LockedRegions {
public:
    LockedRegions(const Job& job, const Regions& memory) : memory_(memory), pm_(acp_open_pm(0)) {
        if (pm_ == ACP_PM_NULL) give_up(acp_error_message());
        RankResult mine{};
        acp_ga_t first = ACP_GA_NULL;
        if (acp_lock_pm(pm_, memory.source(job.rank()), 2 * memory.bytes(), &first) != 0)
            give_up(acp_error_message());
        own_ = mine.values[0] = first;
        other_ = job.exchange(mine)[static_cast<std::size_t>(job.partner())].values[0];
    }

    LockedRegions(const LockedRegions&) = delete;
    LockedRegions& operator=(const LockedRegions&) = delete;

    ~LockedRegions() {
        (void)acp_unlock_pm(pm_, own_);
        (void)acp_close_pm(pm_);
    }

    // From the own source region to the other rank's target region.
    [[nodiscard]] acp_handle_t write(std::uint64_t bytes) const {
        return acp_write_pm(pm_, other_ + memory_.bytes(), own_, bytes);
    }

    // From the other rank's source region to the own target region.
    [[nodiscard]] acp_handle_t read(std::uint64_t bytes) const {
        return acp_read_pm(pm_, own_ + memory_.bytes(), other_, bytes);
    }

private:
    const Regions& memory_;
    acp_pm_t pm_;
    acp_ga_t own_ = ACP_GA_NULL;
    acp_ga_t other_ = ACP_GA_NULL;
};

// Issues `count` operations, of which at most copies_under_way are in flight.
template <typename Issue>
void issue_deep(std::uint64_t count, const Issue& issue) {
    std::array<acp_handle_t, copies_under_way> handles{};
    const auto end = [&](std::uint64_t i) { acp_complete(handles[i % copies_under_way]); };
    for (std::uint64_t i = 0; i < count; ++i) {
        if (i >= copies_under_way) end(i);
        handles[i % copies_under_way] = issue();
        if (handles[i % copies_under_way] == ACP_HANDLE_NULL) give_up(acp_error_message());
    }
    for (std::uint64_t i = 0; i < std::min(count, copies_under_way); ++i) end(i);
}

// Runs `count` operations and returns the mean time of one.
template <typename Work>
double each_ns(std::uint64_t count, const Work& work) {
    const std::uint64_t start = os::now_ns();
    work(count);
    return static_cast<double>(os::now_ns() - start) / static_cast<double>(count);
}

class Rma {
public:
    //   bare  datagrams between rank 0 and its partner; nullptr on one node
    Rma(Job& job,
        const Options& options,
        const Regions& memory,
        const LockedRegions& locked,
        BareUdp* bare)
        : job_(job),
          options_(options),
          memory_(memory),
          locked_(locked),
          partner_(job.partner()),
          is_near_(bare == nullptr) {
        if (bare != nullptr) streams_.emplace(job, *bare, partner_, options);
    }

    std::vector<Row> run() {
        std::vector<std::uint64_t> sizes = options_.sizes;
        if (sizes.empty()) sizes.assign(rma_sizes.begin(), rma_sizes.end());
        if (sizes.back() > rma_bytes_most) give_up("writes and reads are measured up to 1 MiB");
        Progress progress("rma", static_cast<int>(sizes.size()) + 1);
        std::vector<Row> writes;
        std::vector<Row> reads;
        for (const std::uint64_t bytes : sizes) {
            measure_size(bytes, writes, reads);
            progress.step(std::to_string(bytes) + " bytes");
        }
        std::vector<Row> rows = std::move(writes);
        rows.insert(rows.end(), reads.begin(), reads.end());
        rows.push_back(measure_pull());
        progress.step("one page");
        return rows;
    }

private:
    [[nodiscard]] std::uint64_t rounds() const {
        return options_.slices > 0 ? static_cast<std::uint64_t>(options_.slices)
               : options_.is_quick ? 3
                                   : 40;
    }

    // All rounds together make operations_most, fewer where the bytes would be too many.
    [[nodiscard]] std::uint64_t operations_in_round(std::uint64_t bytes) const {
        const std::uint64_t most =
            std::min(operations_most, (is_near_ ? all_bytes_near : all_bytes_far) / bytes);
        return std::max<std::uint64_t>(most / (options_.is_quick ? 1000 : 1) / rounds(), 1);
    }

    void measure_size(std::uint64_t bytes, std::vector<Row>& writes, std::vector<Row>& reads) {
        const std::uint64_t count = operations_in_round(bytes);
        std::vector<double> write_ns;
        std::vector<double> read_ns;
        std::vector<double> bare_ns;
        for (std::uint64_t i = 0; i < rounds(); ++i) {
            write_ns.push_back(each_ns(count, [&](std::uint64_t operations) {
                issue_deep(operations, [&] { return locked_.write(bytes); });
            }));
            read_ns.push_back(each_ns(count, [&](std::uint64_t operations) {
                issue_deep(operations, [&] { return locked_.read(bytes); });
            }));
            bare_ns.push_back(
                each_ns(count, [&](std::uint64_t operations) { copy_barely(bytes, operations); }));
        }
        check(bytes);
        writes.push_back(row_of("write", bytes, count * rounds(), write_ns, bare_ns,
                                is_near_ ? "process_vm_writev" : "acp_copy, the same bytes"));
        reads.push_back(row_of("read", bytes, count * rounds(), read_ns, write_ns, "the writes"));
        if (streams_ && bytes >= stream_bytes_min) writes.push_back(measure_stream(bytes));
    }

    // Locked memory of another process of the node is written by the kernel.
    void copy_barely(std::uint64_t bytes, std::uint64_t count) const {
        if (is_near_) {
            KernelCopy(memory_, {"write", partner_, 0}, nullptr).run(bytes, count);
        } else {
            copy_deep(memory_.target_ga(partner_), memory_.source_ga(0), bytes, count);
        }
    }

    // Writes beside bare datagrams and the cipher.
    Row measure_stream(std::uint64_t bytes) {
        Row row = streams_->new_row("rma", "stream of writes", bytes);
        return streams_->beside_stream(
            std::move(row),
            [&](std::uint64_t operations) {
                issue_deep(operations, [&] { return locked_.write(bytes); });
            },
            copies_under_way);
    }

    // One read at a time, beside what the kernel needs for the same bytes, or a copy of 8 bytes
    // from the other node.
    Row measure_pull() {
        const std::uint64_t count =
            std::max<std::uint64_t>(operations_in_round(page_bytes) / (is_near_ ? 4 : 16), 1);
        const KernelCopy kernel(memory_, {"read", 0, partner_}, nullptr);
        std::vector<double> read_ns;
        std::vector<double> bare_ns;
        for (std::uint64_t i = 0; i < rounds(); ++i) {
            read_ns.push_back(each_ns(count, [&](std::uint64_t operations) {
                for (std::uint64_t k = 0; k < operations; ++k)
                    acp_complete(locked_.read(page_bytes));
            }));
            bare_ns.push_back(each_ns(count, [&](std::uint64_t operations) {
                if (is_near_) return kernel.run(page_bytes, operations);
                copy_and_complete(memory_.target_ga(0), memory_.source_ga(partner_), small_bytes,
                                  operations);
            }));
        }
        return row_of("read, one at a time", page_bytes, count * rounds(), read_ns, bare_ns,
                      is_near_ ? "process_vm_readv" : "acp_copy of 8 bytes");
    }

    // Ends the process unless reads have fetched the partner's bytes and writes have stored this
    // rank's. It reads once more, since the yardstick has overwritten the own target region.
    void check(std::uint64_t bytes) {
        acp_complete(locked_.read(bytes));
        if (!Regions::is_pattern(partner_, memory_.target(0), bytes))
            give_up("wrong bytes after reads");
        copy_and_complete(memory_.target_ga(0), memory_.target_ga(partner_), bytes, 1);
        if (!Regions::is_pattern(0, memory_.target(0), bytes)) give_up("wrong bytes after writes");
    }

    Row row_of(const std::string& name,
               std::uint64_t bytes,
               std::uint64_t operations,
               const std::vector<double>& ours_ns,
               const std::vector<double>& theirs_ns,
               const std::string& yardstick) {
        const double trip_ns = is_near_ ? job_.round_trip_ns(20e3) : 0;
        Comparison comparison;
        comparison.distance = classify(trip_ns, far_boundary_ns(job_.round_trips()));
        std::vector<double> ratios;
        for (std::size_t i = 0; i < ours_ns.size(); ++i)
            ratios.push_back(ours_ns[i] / theirs_ns[i]);
        comparison.ratio = median_of(std::move(ratios));
        comparison.operations = operations;
        comparison.test_ns = summarize(ours_ns);
        comparison.yardstick_ns = summarize(theirs_ns);
        Row row;
        row.experiment = "rma";
        row.name = name;
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = bytes;
        fill(row, comparison);
        fill_yardstick(row, comparison, yardstick);
        row.paper = paper_001_at(row.experiment, name, bytes);
        return row;
    }

    Job& job_;
    const Options& options_;
    const Regions& memory_;
    const LockedRegions& locked_;
    int partner_;
    bool is_near_;
    std::optional<NetRounds> streams_;  // between nodes
};

}  // namespace

int run_rma(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    const Regions memory(job, Regions::Kind::registered, rma_bytes_most);
    const LockedRegions locked(job, memory);
    std::optional<BareUdp> bare;
    if (!job.is_one_node()) bare.emplace(job);
    if (!job.conducts()) {
        job.follow([&](const Order& order) {
            if (bare) (void)NetRounds::answer_bare(job, *bare, order);
        });
        return 0;
    }
    if (bare) bare->connect(job.partner());
    return finish(call.options,
                  Rma(job, call.options, memory, locked, bare ? &*bare : nullptr).run());
}

}  // namespace acp::bench
