// SPDX-License-Identifier: BSD-3-Clause
// Experiment `atomic`: acp_add8 and acp_cas8 on another rank's word beside the CPU's own
// instruction on the same word: by one rank alone, and by all ranks at once, who then contend in
// the same time slices. All ranks.
#include <atomic>
#include <cstddef>
#include <functional>

#include "os/clock.hpp"

#include "experiment.hpp"
#include "job.hpp"
#include "opaque.hpp"
#include "output.hpp"
#include "slices.hpp"
#include "verdict.hpp"

namespace acp::bench {

namespace {

enum class Kind : std::uint64_t { add, compare_swap };

constexpr std::uint32_t order_contend = 1;
constexpr std::uint64_t operations_per_look = 64;  // operations between two readings of the clock

struct Words {
    std::atomic<std::uint64_t>* word;  // nullptr when it is on another node
    std::uint64_t* old;                // where the old value goes: own starter memory
    acp_ga_t word_ga;
    acp_ga_t old_ga;
};

ACP_OPAQUE void by_library(Kind kind, const Words& words, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        if (kind == Kind::add) {
            acp_complete(acp_add8(words.old_ga, words.word_ga, 1, ACP_HANDLE_NULL));
        } else {
            const std::uint64_t expected = *words.old;
            acp_complete(
                acp_cas8(words.old_ga, words.word_ga, expected, expected + 1, ACP_HANDLE_NULL));
        }
        asm volatile("" ::: "memory");
    }
}

// relaxed would give the same instruction; nothing is handed over by this word.
ACP_OPAQUE void by_instruction(Kind kind, const Words& words, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        if (kind == Kind::add) {
            *words.old = words.word->fetch_add(1, std::memory_order_acq_rel);
        } else {
            std::uint64_t expected = *words.old;
            words.word->compare_exchange_strong(expected, expected + 1, std::memory_order_acq_rel);
            *words.old = expected;
        }
        asm volatile("" ::: "memory");
    }
}

Words words_of(const Job& job, std::atomic<std::uint64_t>* word, acp_ga_t word_ga) {
    auto* old = reinterpret_cast<std::uint64_t*>(job.starter(job.rank()));
    return {word, old, word_ga, job.starter_ga(job.rank())};
}

Words contended_words(const Job& job) {
    std::atomic<std::uint64_t>* word = job.starter(0) == nullptr ? nullptr : &job.control().word;
    return words_of(job, word, acp_query_starter_ga(0) + offsetof(Control, word));
}

// Works until the clock says so, and at least a little; the operations done.
std::uint64_t work_until(Kind kind, const Words& words, bool is_library, std::uint64_t end_ns) {
    std::uint64_t done = 0;
    do {
        (is_library ? by_library : by_instruction)(kind, words, operations_per_look);
        done += operations_per_look;
    } while (os::now_ns() < end_ns);
    return done;
}

// A rank's part of a phase of contention.
void contend(Job& job, const Order& order) {
    const Words words = contended_words(job);
    sync_all();
    const std::uint64_t start = os::now_ns();
    const std::uint64_t done = work_until(static_cast<Kind>(order.arguments[0]), words,
                                          order.arguments[1] != 0, start + order.arguments[2]);
    RankResult mine{};
    mine.values[0] = done;
    mine.values[1] = os::now_ns() - start;
    job.tell(mine);
}

// Operations per ns of all ranks together.
double rate_of_phase(Job& job, Kind kind, bool is_library, double duration_ns) {
    Order order{order_contend, 0, {}};
    order.arguments[0] = static_cast<std::uint64_t>(kind);
    order.arguments[1] = is_library ? 1 : 0;
    order.arguments[2] = static_cast<std::uint64_t>(duration_ns);
    job.give(order);
    contend(job, order);
    job.join();
    double rate = 0;
    for (int rank = 0; rank < job.ranks(); ++rank) {
        const RankResult& its = job.result(rank);
        rate += static_cast<double>(its.values[0]) / static_cast<double>(its.values[1]);
    }
    return rate;
}

const char* name_of(Kind kind) {
    return kind == Kind::add ? "add8" : "cas8";
}

Row alone(Job& job, Kind kind, const Options& options) {
    // A word of rank 1 that no other rank accesses.
    char* mapped = job.starter(1);
    auto* word =
        mapped == nullptr ? nullptr : reinterpret_cast<std::atomic<std::uint64_t>*>(mapped + 128);
    const Words words = words_of(job, word, job.starter_ga(1) + 128);
    Pair pair;
    pair.test = [&](std::uint64_t count) { by_library(kind, words, count); };
    if (word != nullptr) {
        pair.yardstick = [&](std::uint64_t count) { by_instruction(kind, words, count); };
    }
    Plan plan;
    plan.slices = options.slices > 0 ? options.slices : options.is_quick ? 2 : 20;
    Row row;
    row.experiment = "atomic";
    row.name = std::string(name_of(kind)) + " alone";
    row.mode = mode_by_environment();
    row.ranks = job.ranks();
    row.nodes = job.nodes();
    const Comparison comparison = measure_and_compare(job, pair, plan);
    fill(row, comparison);
    if (!pair.yardstick) return row;
    fill_yardstick(row, comparison, "the CPU's instruction");
    row.extra.emplace_back("over_instruction_ns", comparison.difference_ns);
    return row;
}

Row contended(Job& job, Kind kind, const Options& options) {
    const int slices = options.slices > 0 ? options.slices : options.is_quick ? 2 : 20;
    const double duration_ns = options.is_quick ? 2e6 : 12e6;
    std::vector<Slice> done;
    for (int i = 0; i < slices; ++i) {
        Slice slice;
        slice.round_trip_ns = job.round_trip_ns(50e3);
        if (!job.is_one_node()) {  // the instruction does not reach the others' word
            const double rate = rate_of_phase(job, kind, true, duration_ns);
            slice.test_operations = static_cast<std::uint64_t>(rate * duration_ns);
            slice.test_ns.push_back(1 / rate);
            done.push_back(std::move(slice));
            continue;
        }
        const bool is_library_first = i % 2 == 0;
        const double first = rate_of_phase(job, kind, is_library_first, duration_ns);
        const double second = rate_of_phase(job, kind, !is_library_first, duration_ns);
        const double library = is_library_first ? first : second;
        const double bare = is_library_first ? second : first;
        slice.test_operations = static_cast<std::uint64_t>(library * duration_ns);
        slice.test_ns.push_back(1 / library);
        slice.yardstick_ns.push_back(1 / bare);
        done.push_back(std::move(slice));
    }
    const Comparison comparison = compare(done, far_boundary_ns(job.round_trips()));
    Row row;
    row.experiment = "atomic";
    row.name = std::string(name_of(kind)) + " contended";
    row.mode = mode_by_environment();
    row.ranks = job.ranks();
    row.nodes = job.nodes();
    fill(row, comparison);
    if (job.is_one_node()) {
        row.yardstick = Yardstick{"the CPU's instruction, contended",
                                  1e3 / comparison.yardstick_ns.median, "M/s"};
        // the ratio of the rates is the inverse of that of the times
        row.ratio = 1 / comparison.ratio;
    }
    row.extra.emplace_back("M/s", 1e3 / comparison.test_ns.median);
    return row;
}

}  // namespace

int run_atomic(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    if (!job.conducts()) {
        job.follow([&](const Order& order) { contend(job, order); });
        return 0;
    }
    Progress progress("atomic", 4);
    std::vector<Row> rows;
    for (const Kind kind : {Kind::add, Kind::compare_swap}) {
        rows.push_back(measure_credibly([&] { return alone(job, kind, call.options); }));
        progress.step(rows.back().name);
        rows.push_back(contended(job, kind, call.options));
        progress.step(rows.back().name);
    }
    return finish(call.options, rows);
}

}  // namespace acp::bench
