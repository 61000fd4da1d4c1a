// SPDX-License-Identifier: BSD-3-Clause
// Experiment `copy --fine`: small copies in nanoseconds beside memcpy in the same loop
// (overlapping, one at a time, to random ranks), and bandwidth beside memcpy with the data in and
// out of the cache. Rank 0 measures, the others lend their memory. All ranks.
#include <algorithm>
#include <random>

#include "os/cpu.hpp"
#include "os/serialise.hpp"

#include "copy.hpp"
#include "experiment.hpp"
#include "opaque.hpp"
#include "output.hpp"
#include "slices.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t small_sizes[] = {4, 8, 64, 1024};
constexpr std::size_t random_count = 1024;  // targets drawn beforehand; a power of two
// bytes of each rank's starter memory that the random targets cover
constexpr std::size_t random_area = 4096;
constexpr std::uint64_t cold_bytes_most = 256 << 20;  // each of source and target

ACP_OPAQUE void serial_copy(acp_ga_t target,
                            acp_ga_t source,
                            std::size_t bytes,
                            std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        os::serialise();
        acp_complete(acp_copy(target, source, bytes, ACP_HANDLE_NULL));
    }
}

ACP_OPAQUE void serial_memcpy(char* target,
                              const char* source,
                              std::size_t bytes,
                              std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        os::serialise();
        copy_by_memcpy(target, source, bytes, 1);
    }
}

struct RandomTargets {
    std::vector<acp_ga_t> gas;
    std::vector<char*> pointers;
};

ACP_OPAQUE void random_copy(const RandomTargets& targets,
                            acp_ga_t source,
                            std::size_t bytes,
                            std::uint64_t count) {
    const acp_ga_t* gas = targets.gas.data();
    for (std::uint64_t i = 0; i < count; ++i) {
        acp_complete(acp_copy(gas[i & (random_count - 1)], source, bytes, ACP_HANDLE_NULL));
    }
}

ACP_OPAQUE void random_memcpy(const RandomTargets& targets,
                              const char* source,
                              std::size_t bytes,
                              std::uint64_t count) {
    char* const* pointers = targets.pointers.data();
    for (std::uint64_t i = 0; i < count; ++i) {
        __builtin_memcpy(pointers[i & (random_count - 1)], source, bytes);
        asm volatile("" ::: "memory");
    }
}

RandomTargets draw_targets(const Job& job) {
    RandomTargets targets;
    std::mt19937 random(20260731);  // any seed: the same targets for test and yardstick
    const std::size_t area = std::min(random_area, job.starter_bytes() / 2);
    std::vector<char*> bases;
    bases.reserve(static_cast<std::size_t>(job.ranks()));
    for (int rank = 0; rank < job.ranks(); ++rank) bases.push_back(job.starter(rank));
    for (std::size_t i = 0; i < random_count; ++i) {
        const int rank = static_cast<int>(random() % static_cast<unsigned>(job.ranks()));
        const std::size_t offset = random() % (area / 64) * 64;
        targets.gas.push_back(job.starter_ga(rank) + offset);
        targets.pointers.push_back(bases[static_cast<std::size_t>(rank)] + offset);
    }
    return targets;
}

class Fine {
public:
    Fine(Job& job, const Options& options, const Regions& starter) : job_(job), starter_(starter) {
        plan_.slices = options.slices > 0 ? options.slices : options.is_quick ? 2 : 24;
        plan_.slice_ns = options.is_quick ? 2e6 : 12e6;
        plan_.round_ns = 30e3;
        plan_.case_ns_max = 2e9;
    }

    // Small copies from own to rank 1's starter memory.
    Row small(const std::string& name, std::uint64_t bytes, bool is_serial) {
        const int target = job_.ranks() > 1 ? 1 : 0;
        const acp_ga_t target_ga = starter_.target_ga(target);
        const acp_ga_t source_ga = starter_.source_ga(0);
        char* to = starter_.target(target);
        char* from = starter_.source(0);
        Pair pair;
        pair.test = [=](std::uint64_t count) {
            (is_serial ? serial_copy : copy_and_complete)(target_ga, source_ga, bytes, count);
        };
        // Test and yardstick have the same loop: one call per iteration, and the compiler does not
        // know `bytes`.
        pair.yardstick = [=](std::uint64_t count) {
            (is_serial ? serial_memcpy : copy_by_memcpy)(to, from, bytes, count);
        };
        return row(name, bytes, warm_up_and_compare(pair));
    }

    Row random(std::uint64_t bytes) {
        const RandomTargets targets = draw_targets(job_);
        const acp_ga_t source_ga = starter_.source_ga(0);
        const char* from = starter_.source(0);
        Pair pair;
        pair.test = [&](std::uint64_t count) { random_copy(targets, source_ga, bytes, count); };
        pair.yardstick = [&](std::uint64_t count) { random_memcpy(targets, from, bytes, count); };
        return row("random ranks", bytes, warm_up_and_compare(pair));
    }

    // Copies the same bytes repeatedly, so that the CPU's cache holds them.
    Row hot(std::uint64_t bytes, const Direction& direction) {
        const acp_ga_t target_ga = starter_.target_ga(direction.target);
        const acp_ga_t source_ga = starter_.source_ga(direction.source);
        char* to = starter_.target(direction.target);
        char* from = starter_.source(direction.source);
        Pair pair;
        pair.test = [=](std::uint64_t count) {
            copy_and_complete(target_ga, source_ga, bytes, count);
        };
        pair.yardstick = [=](std::uint64_t count) { copy_by_memcpy(to, from, bytes, count); };
        Plan plan = plan_;
        plan.round_ns = 200e3;
        return row(std::string("hot ") + direction.name, bytes,
                   measure_and_compare(job_, pair, plan));
    }

    // Ever new bytes of a memory larger than the cache: both sides share one cursor, so that
    // neither finds what the other has just fetched.
    Row cold(std::uint64_t bytes, const Regions& memory) {
        std::uint64_t cursor = 0;
        auto next = [&cursor, &memory, bytes] {
            cursor += (bytes + 4095) / 4096 * 4096;
            if (cursor + bytes > memory.bytes()) cursor = 0;
            return cursor;
        };
        Pair pair;
        pair.test = [&](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t at = next();
                copy_and_complete(memory.target_ga(0) + at, memory.source_ga(0) + at, bytes, 1);
            }
        };
        pair.yardstick = [&](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t at = next();
                copy_by_memcpy(memory.target(0) + at, memory.source(0) + at, bytes, 1);
            }
        };
        Plan plan = plan_;
        plan.round_ns = 2e6;
        plan.slice_ns = 2 * plan_.slice_ns;
        return row("cold local-to-local", bytes, measure_and_compare(job_, pair, plan));
    }

private:
    // The first calls fault in pages and allocate the thread's own data. If these slow calls set
    // the size of a round, it would be a single copy, shorter than the clock's step.
    Comparison warm_up_and_compare(const Pair& pair) {
        pair.test(random_count);
        pair.yardstick(random_count);
        return measure_and_compare(job_, pair, plan_);
    }

    Row row(const std::string& name, std::uint64_t bytes, const Comparison& comparison) const {
        Row row;
        row.experiment = "copy-fine";
        row.name = name;
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = bytes;
        fill(row, comparison);
        fill_yardstick(row, comparison, "memcpy");
        if (bytes < 4096) row.extra.emplace_back("over_memcpy_ns", comparison.difference_ns);
        return row;
    }

    Job& job_;
    const Regions& starter_;
    Plan plan_;
};

std::uint64_t cold_region_bytes(const Options& options) {
    if (options.is_quick) return 32 << 20;
    const std::uint64_t cache = os::last_level_cache_bytes();
    return std::clamp<std::uint64_t>(2 * cache, 64 << 20, cold_bytes_most);
}

}  // namespace

int run_copy_fine(const Call& call) {
    Job job(call.argc, call.argv, 2, "acprun -n 2 --starter-size 16M acpbench copy --fine");
    job.need_one_node("copy --fine");
    const Regions starter(job, Regions::Kind::starter, call.options.bytes_max);
    // Only rank 0 uses these; the others register a page so that all take the same steps.
    const Regions cold(job, Regions::Kind::registered,
                       job.conducts() ? cold_region_bytes(call.options) : 4096);
    if (!job.conducts()) {
        job.follow([](const Order&) {});
        return 0;
    }
    Fine fine(job, call.options, starter);
    Progress progress("copy --fine", 21);
    std::vector<Row> rows;
    auto add = [&](Row row) {
        progress.step(row.name);
        rows.push_back(std::move(row));
    };
    for (const std::uint64_t bytes : small_sizes) add(fine.small("overlapping", bytes, false));
    add(fine.small("one at a time", 8, true));
    add(fine.random(8));
    const Direction remote{"remote-to-local", 0, 1};
    const Direction local{"local-to-local", 0, 0};
    for (std::uint64_t bytes = 4096; bytes <= call.options.bytes_max; bytes *= 4) {
        if (bytes <= starter.bytes()) {
            add(fine.hot(bytes, remote));
            add(fine.hot(bytes, local));
        }
        add(fine.cold(bytes, cold));
    }
    return finish(call.options, rows);
}

}  // namespace acp::bench
