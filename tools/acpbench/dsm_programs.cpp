// SPDX-License-Identifier: BSD-3-Clause
// Experiment `dsm-programs`: programs on shared pages, each on all ranks and, as the yardstick, on
// rank 0's private memory alone. The programs of a group are compared with each other: their runs
// alternate with each other and with the yardstick. Every result is compared with that of one
// process.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "cpu_share.hpp"
#include "dsm_program.hpp"
#include "experiment.hpp"
#include "output.hpp"
#include "rank_threads.hpp"

namespace acp::bench {

namespace {

constexpr std::size_t programs_bytes = std::size_t{64} << 20;

struct ProgramVariant {
    const char* name = nullptr;
    ProgramMaker make = nullptr;
    bool needs_openmp = false;
    // of the time of the group's first program; 0: nothing was set out
    double at_most = 0;
    double settled_at_most = 0;  // target for the part of a run after its third barrier
};

struct ProgramGroup {
    std::span<const ProgramVariant> variants;
    const char* by_hand = "";  // the variant that does without shared pages
};

constexpr ProgramVariant sor_variants[] = {
    {"SOR, aligned rows", make_sor_aligned},
    {"SOR, border page of two writers", make_sor_unaligned, false, 1.05},
    {"SOR, border page, flush hints", make_sor_hinted},
    {"SOR, OpenMP", make_sor_threaded, true},
    {"SOR, puts by hand", make_sor_by_hand}};
constexpr ProgramVariant jacobi_variants[] = {{"Jacobi 3-D", make_jacobi_3d}};
constexpr ProgramVariant lu_variants[] = {
    {"LU, homes at the writers", make_lu},
    {"LU, all homes at rank 0", make_lu_wrong_homes, false, 2, 1.1}};
constexpr ProgramVariant matrix_variants[] = {
    {"matrix product, by faults", make_matrix},
    {"matrix product, prefetched", make_matrix_prefetched},
    {"matrix product, OpenMP", make_matrix_threaded, true},
    {"matrix product, gets by hand", make_matrix_by_hand}};
constexpr ProgramVariant join_variants[] = {{"hash join", make_hash_join}};
constexpr ProgramVariant sort_variants[] = {{"sort by samples", make_sort}};
constexpr ProgramVariant counter_variants[] = {{"counters under a lock", make_counters},
                                               {"counters bound to a lock", make_bound_counters}};

constexpr ProgramGroup program_groups[] = {{sor_variants, "SOR, puts by hand"},
                                           {jacobi_variants},
                                           {lu_variants},
                                           {matrix_variants, "matrix product, gets by hand"},
                                           {join_variants},
                                           {sort_variants},
                                           {counter_variants}};

// A group's programs on one rank. All ranks make the same calls in the same order.
class GroupPlayer {
public:
    enum What : std::uint32_t {
        open = 1,  // group
        check,     // argument: the variant; each rank sends to rank 0 whether its part is right
        run,       // argument: the variant; each rank sends its times to rank 0
        end
    };

    explicit GroupPlayer(const Job& job, bool is_quick)
        : job_(job), place_{job.rank(), job.ranks(), is_quick} {
        must(acp_init_dsm(programs_bytes) == 0);
    }

    GroupPlayer(const GroupPlayer&) = delete;
    GroupPlayer& operator=(const GroupPlayer&) = delete;

    ~GroupPlayer() {
        programs_.clear();
        must(acp_finalize_dsm() == 0);
    }

    void follow(const Order& order) {
        if (order.what == open) {
            make(program_groups[order.arguments[0]]);
        } else if (order.what == run) {
            time_run(*programs_[order.arguments[0]]);
        } else if (order.what == check) {
            check_result(*programs_[order.arguments[0]]);
        }
    }

    [[nodiscard]] std::size_t count() const { return programs_.size(); }

    [[nodiscard]] const ProgramVariant& variant(std::size_t i) const { return *variants_[i]; }

    [[nodiscard]] DsmProgram& program(std::size_t i) const { return *programs_[i]; }

private:
    void make(const ProgramGroup& group) {
        programs_.clear();
        variants_.clear();
        for (const ProgramVariant& variant : group.variants) {
            if (variant.needs_openmp && !can_run_threads(place_.ranks, 2, place_.is_quick))
                continue;
            variants_.push_back(&variant);
            programs_.push_back(variant.make(place_));
        }
    }

    void check_result(DsmProgram& program) const {
        (void)program.run_alone();
        RankResult mine{};
        mine.values[0] = program.is_right() ? 1 : 0;
        job_.tell(mine);
    }

    void time_run(DsmProgram& program) const {
        program.prepare();
        const std::uint64_t start = os::now_ns();
        program.run();
        RankResult mine{};
        mine.values[0] = os::now_ns() - start;
        mine.values[1] = static_cast<std::uint64_t>(program.settled_ns());
        job_.tell(mine);
    }

    const Job& job_;
    ProgramPlace place_;
    std::vector<const ProgramVariant*> variants_;
    std::vector<std::unique_ptr<DsmProgram>> programs_;
};

// The times of a variant in all rounds, in us.
struct VariantTimes {
    std::vector<double> all;
    std::vector<double> settled;
    std::vector<double> alone;
};

double median_ratio(const std::vector<double>& of, const std::vector<double>& to) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < of.size(); ++i) ratios.push_back(of[i] / to[i]);
    return median_of(std::move(ratios));
}

// Rank 0: measures one group.
class GroupMeter {
public:
    GroupMeter(Job& job, GroupPlayer& player) : job_(job), player_(player) {}

    std::vector<Row> measure(std::size_t group, int rounds) {
        play({GroupPlayer::open, 0, {group}});
        cpu_shares_.clear();
        std::vector<VariantTimes> times(player_.count());
        // The first round makes pages present, and is not counted.
        for (int round = -1; round < rounds; ++round) {
            for (std::size_t i = 0; i < player_.count(); ++i) {
                VariantTimes now;
                measure_variant(i, now);
                if (round < 0) continue;
                times[i].all.push_back(now.all.front());
                times[i].settled.push_back(now.settled.front());
                times[i].alone.push_back(now.alone.front());
            }
        }
        for (std::size_t i = 0; i < times.size(); ++i) check_variant(i);
        std::vector<Row> rows;
        for (std::size_t i = 0; i < times.size(); ++i) add_rows(rows, times, i);
        add_shares_of_by_hand(rows, program_groups[group].by_hand, times);
        return rows;
    }

private:
    void play(const Order& order) {
        job_.give(order);
        player_.follow(order);
        job_.join();
    }

    void measure_variant(std::size_t i, VariantTimes& times) {
        DsmProgram& program = player_.program(i);
        const CpuShare cpu;
        times.alone.push_back(program.run_alone() / 1e3);
        cpu_shares_.push_back(static_cast<double>(cpu.in_thousandths()) / 1000);
        play({GroupPlayer::run, 0, {i}});
        double longest = 0;
        double settled = 0;
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            longest = std::max(longest, static_cast<double>(job_.result(rank).values[0]));
            settled = std::max(settled, static_cast<double>(job_.result(rank).values[1]));
        }
        times.all.push_back(longest / 1e3);
        times.settled.push_back(settled / 1e3);
    }

    // The results of the last runs of all ranks.
    void check_variant(std::size_t i) {
        play({GroupPlayer::check, 0, {i}});
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            if (job_.result(rank).values[0] == 1) continue;
            give_up(std::string("dsm-programs: ") + player_.variant(i).name +
                    ": the part of rank " + std::to_string(rank) +
                    " is not what one process computes");
        }
    }

    [[nodiscard]] Row row_of(std::string name, const std::vector<double>& us) const {
        Row row;
        row.experiment = "dsm-programs";
        row.name = std::move(name);
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.iterations = us.size();
        row.latency_us = summarize(us);
        row.extra.emplace_back("cpu_share", median_of(cpu_shares_));
        return row;
    }

    // Beside one process; and beside the group's first program where something was set out.
    void add_rows(std::vector<Row>& rows,
                  const std::vector<VariantTimes>& times,
                  std::size_t i) const {
        const ProgramVariant& variant = player_.variant(i);
        Row row = row_of(variant.name, times[i].all);
        row.yardstick = Yardstick{"one process", median_of(times[i].alone), "us"};
        row.ratio = median_ratio(times[i].all, times[i].alone);
        row.extra.emplace_back("speedup", 1 / *row.ratio);
        rows.push_back(std::move(row));
        const auto add_beside_first = [&](const std::string& name, const std::vector<double>& us,
                                          const std::vector<double>& first_us, double at_most) {
            Row beside = row_of(name, us);
            beside.yardstick = Yardstick{player_.variant(0).name, median_of(first_us), "us"};
            beside.ratio = median_ratio(us, first_us);
            if (job_.ranks() <= os::usable_cpus()) beside.extra.emplace_back("at_most", at_most);
            rows.push_back(std::move(beside));
        };
        const std::string name = std::string(variant.name) + ", beside";
        if (variant.at_most > 0)
            add_beside_first(name, times[i].all, times[0].all, variant.at_most);
        if (variant.settled_at_most > 0) {
            add_beside_first(name + " after 3 barriers", times[i].settled, times[0].settled,
                             variant.settled_at_most);
        }
    }

    void add_shares_of_by_hand(std::vector<Row>& rows,
                               std::string_view by_hand,
                               const std::vector<VariantTimes>& times) const {
        for (std::size_t hand = 0; hand < times.size(); ++hand) {
            if (player_.variant(hand).name != by_hand) continue;
            for (std::size_t i = 0; i < times.size(); ++i) {
                const auto is_it = [&](const Row& row) {
                    return row.name == player_.variant(i).name;
                };
                std::find_if(rows.begin(), rows.end(), is_it)
                    ->extra.emplace_back("of_by_hand", median_ratio(times[hand].all, times[i].all));
            }
        }
    }

    Job& job_;
    GroupPlayer& player_;
    std::vector<double> cpu_shares_;  // the part of a CPU that rank 0 gets while it computes alone
};

}  // namespace

int run_dsm_programs(const Call& call) {
    const Options& options = call.options;
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    if (job.ranks() > 32) give_up("dsm-programs: at most 32 ranks have a part of each problem");
    auto player = std::make_unique<GroupPlayer>(job, options.is_quick);
    if (!job.conducts()) {
        job.follow([&](const Order& order) {
            if (order.what == GroupPlayer::end) {
                player.reset();
            } else {
                player->follow(order);
            }
        });
        return 0;
    }
    const int rounds = options.slices > 0 ? options.slices : options.is_quick ? 2 : 9;
    std::vector<Row> rows;
    {
        Progress progress("dsm-programs", static_cast<int>(std::size(program_groups)));
        GroupMeter meter(job, *player);
        for (std::size_t group = 0; group < std::size(program_groups); ++group) {
            std::vector<Row> its = meter.measure(group, rounds);
            progress.step(its.front().name);
            std::move(its.begin(), its.end(), std::back_inserter(rows));
        }
    }
    job.give(Order{GroupPlayer::end, 0, {}});
    player.reset();
    return finish(options, rows);
}

}  // namespace acp::bench
