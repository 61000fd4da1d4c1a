// SPDX-License-Identifier: BSD-3-Clause
// Experiment `copy`: paper 000's evaluation. Rank 0 of three copies 4 B .. 4 MiB in four
// directions, 1000 times or 40 MiB, completing each copy; then the same streamed, with one
// completion at the end. Which implementation runs is what the ACP_* variables choose. All ranks.
#include "copy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/format.hpp"

#include "experiment.hpp"
#include "output.hpp"
#include "paper.hpp"
#include "slices.hpp"
#include "verdict.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t transfers_max = 1000;
constexpr std::uint64_t bytes_per_round_max = 40 << 20;
// above, a two-sided path is compared with memcpy
constexpr std::uint64_t round_trip_yardstick_max = 1024;

struct Case {
    const Direction& direction;
    std::uint64_t bytes;
    bool is_streamed;
};

class Copy {
public:
    Copy(Job& job, const Options& options, const Regions& starter, const Regions& registered)
        : job_(job),
          options_(options),
          kinds_{&starter, &registered},
          mode_(mode_by_environment()),
          scratch_(registered.target(0)),
          bounce_(2 * std::max(starter.bytes(), registered.bytes())) {
        plan_.slices = options.slices > 0 ? options.slices : options.is_quick ? 1 : 2;
        plan_.slice_ns = options.is_quick ? 1e6 : 6e6;
        plan_.rounds_min = options.is_quick ? 1 : 6;
        plan_.case_ns_max = 120e6;
    }

    std::vector<Row> run() {
        Progress progress("copy " + mode_, steps(),
                          options_.tells_steps ? Progress::Kind::lines : Progress::Kind::bar);
        std::vector<Row> rows;
        for (const Regions* regions : kinds_) {
            for (const Direction& direction : directions) {
                if (!has_path(*regions, direction)) continue;
                measure_sizes(*regions, direction, rows, progress);
                check(*regions, direction);
            }
        }
        return rows;
    }

private:
    void measure_sizes(const Regions& regions,
                       const Direction& direction,
                       std::vector<Row>& rows,
                       Progress& progress) {
        for (const std::uint64_t bytes : sizes(regions)) {
            for (const bool is_streamed : {false, true}) {
                if (is_streamed && options_.are_streams_left_out) continue;
                rows.push_back(measure_credibly(
                    [&] {
                        return measure_case(regions, {direction, bytes, is_streamed});
                    },
                    options_.is_quick ? 1 : tries_max));
                progress.step(rows.back().name + " " + base::human_size(bytes));
            }
        }
    }

    // false where the chosen implementation does not reach that memory (ACP_INTRANODE=direct).
    static bool has_path(const Regions& regions, const Direction& direction) {
        const std::string_view path =
            acp_path(regions.target_ga(direction.target), regions.source_ga(direction.source)).name;
        return path != "none";
    }

    [[nodiscard]] std::vector<std::uint64_t> sizes(const Regions& regions) const {
        std::vector<std::uint64_t> result = options_.sizes;
        if (result.empty()) {
            for (std::uint64_t bytes = options_.bytes_min; bytes <= options_.bytes_max; bytes *= 2)
                result.push_back(bytes);
        }
        std::erase_if(result, [&](std::uint64_t bytes) { return bytes > regions.bytes(); });
        return result;
    }

    [[nodiscard]] int steps() const {
        std::size_t cases = 0;
        for (const Regions* regions : kinds_) {
            for (const Direction& direction : directions) {
                if (has_path(*regions, direction))
                    cases += (options_.are_streams_left_out ? 1 : 2) * sizes(*regions).size();
            }
        }
        return static_cast<int>(cases);
    }

    Row measure_case(const Regions& regions, const Case& it) {
        const acp_ga_t target = regions.target_ga(it.direction.target);
        const acp_ga_t source = regions.source_ga(it.direction.source);
        Pair pair;
        pair.test = [&](std::uint64_t count) {
            (it.is_streamed ? copy_streamed : copy_and_complete)(target, source, it.bytes, count);
        };
        const std::uint64_t most =
            options_.is_quick ? bytes_per_round_max / 16 : bytes_per_round_max;
        pair.test_operations = std::clamp<std::uint64_t>(most / it.bytes, 1, transfers_max);
        pair.yardstick_operations = pair.test_operations;
        std::string yardstick;
        choose_yardstick(regions, it, pair, yardstick);

        Row row;
        row.experiment = "copy";
        row.name = std::string(it.direction.name) + " " + regions.name() +
                   (it.is_streamed ? " streamed" : "");
        row.mode = mode_;
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = it.bytes;
        const Comparison comparison = measure_and_compare(job_, pair, plan_);
        fill(row, comparison);
        if (pair.yardstick) {
            fill_yardstick(row, comparison, yardstick);
        } else {
            fill_round_trip(row, comparison);
        }
        if (!it.is_streamed) row.paper = paper_000_at(it.direction.name, mode_, it.bytes);
        return row;
    }

    // memcpy where bytes are moved by loads and stores, the kernel's copy where by attach, and
    // where the owner takes part a round trip between cores for small copies.
    void choose_yardstick(const Regions& regions, const Case& it, Pair& pair, std::string& name) {
        const bool is_local = it.direction.target == 0 && it.direction.source == 0;
        const std::string path =
            acp_path(regions.target_ga(it.direction.target), regions.source_ga(it.direction.source))
                .name;
        if (path == "attach" && !is_local) {
            name = it.direction.target == 0   ? "process_vm_readv"
                   : it.direction.source == 0 ? "process_vm_writev"
                                              : "process_vm_readv+writev";
            pair.yardstick = [this, &regions, it](std::uint64_t count) {
                KernelCopy(regions, it.direction, bounce_.data()).run(it.bytes, count);
            };
            return;
        }
        if (path == "remote") return;  // experiment `net` has the network's own speed beside it
        const bool is_two_sided = path != "direct" && path != "attach" && !is_local;
        if (is_two_sided && it.bytes <= round_trip_yardstick_max) return;
        name = "memcpy";
        char* target = regions.target(it.direction.target);
        char* source = regions.source(it.direction.source);
        if (target == nullptr ||
            source == nullptr) {  // bytes of our own, not those that are checked
            target = bounce_.data() + regions.bytes();
            source = bounce_.data();
        }
        pair.yardstick = [target, source, it](std::uint64_t count) {
            copy_by_memcpy(target, source, it.bytes, count);
        };
    }

    // Ends the process unless the target of this direction holds the bytes of its source.
    void check(const Regions& regions, const Direction& direction) {
        const std::vector<std::uint64_t> measured = sizes(regions);
        if (measured.empty()) return;
        const std::size_t largest = measured.back();
        copy_and_complete(kinds_[1]->target_ga(0), regions.target_ga(direction.target), largest, 1);
        if (!Regions::is_pattern(direction.source, scratch_, largest)) {
            give_up(std::string("wrong bytes after copies ") + direction.name + " in " +
                    regions.name() + " memory");
        }
    }

    Job& job_;
    const Options& options_;
    const Regions* kinds_[2];
    std::string mode_;
    char* scratch_;  // the target region of rank 0's registered memory
    std::vector<char> bounce_;
    Plan plan_;
};

std::vector<std::uint64_t> sizes_in(const std::vector<Row>& rows) {
    std::vector<std::uint64_t> sizes;
    sizes.reserve(rows.size());
    for (const Row& row : rows) sizes.push_back(row.bytes);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

// Time, bandwidth and ratio of a size in one direction: always three cells, dashes where it was not
// measured, so that the directions after it stay under their heads.
void add_cells(std::vector<std::string>& cells,
               const std::vector<Row>& rows,
               const std::string& name,
               std::uint64_t bytes) {
    const auto is_it = [&](const Row& row) { return row.bytes == bytes && row.name == name; };
    const auto row = std::find_if(rows.begin(), rows.end(), is_it);
    if (row == rows.end()) {
        cells.insert(cells.end(), 3, "-");
        return;
    }
    cells.push_back(show_us(row->latency_us.median));
    cells.push_back(std::to_string(std::llround(row->bandwidth_mb_per_s)));
    cells.push_back(show_ratio(*row));
}

std::string yardsticks_of(const std::vector<Row>& rows, const std::string& suffix) {
    std::string names;
    for (const Row& row : rows) {
        if (!row.yardstick || !row.name.ends_with(suffix)) continue;
        if (names.find(row.yardstick->name) != std::string::npos) continue;
        names.append(names.empty() ? "" : ", ").append(row.yardstick->name);
    }
    return names;
}

// One line per size, three columns per direction.
void print_matrix(const std::vector<Row>& rows, const std::string& suffix) {
    using Align = base::Table::Align;
    std::vector<base::Table::Column> columns{{"bytes", Align::right}};
    for (const Direction& direction : directions) {
        columns.push_back({direction.name, Align::right});
        columns.push_back({"MB/s", Align::right});
        columns.push_back({"ratio", Align::right});
    }
    base::Table table(std::move(columns));
    for (const std::uint64_t bytes : sizes_in(rows)) {
        std::vector<std::string> cells{base::human_size(bytes)};
        const auto is_measured = [&](const Row& row) {
            return row.bytes == bytes && row.name.ends_with(suffix);
        };
        if (std::none_of(rows.begin(), rows.end(), is_measured)) continue;
        for (const Direction& direction : directions)
            add_cells(cells, rows, direction.name + suffix, bytes);
        table.add_row(std::move(cells));
    }
    std::printf("\n%s memory; ratio: time below 4 KiB, bandwidth from 4 KiB on, over %s\n%s",
                suffix.c_str() + 1, yardsticks_of(rows, suffix).c_str(), table.text(2).c_str());
}

void print_distances(const std::vector<Row>& rows) {
    int count[4] = {};
    for (const Row& row : rows) ++count[static_cast<int>(row.distance)];
    std::printf("\ncores during the run:");
    for (const Distance distance :
         {Distance::near, Distance::far, Distance::shared, Distance::unknown}) {
        const int cases = count[static_cast<int>(distance)];
        if (cases > 0) std::printf(" %s in %d cases", name_of(distance), cases);
    }
    std::printf("\n");
}

}  // namespace

int run_copy(const Call& call) {
    if (call.options.are_all_modes) return run_copy_modes(call);
    if (call.options.is_fine) return run_copy_fine(call);
    Job job(call.argc, call.argv, 3, std::string(call.usage));
    const Regions starter(job, Regions::Kind::starter, call.options.bytes_max);
    const Regions registered(job, Regions::Kind::registered, call.options.bytes_max);
    if (!job.conducts()) {
        job.follow([](const Order&) {});
        return 0;
    }
    if (starter.bytes() < call.options.bytes_max) {
        std::fprintf(stderr,
                     "acpbench: starter memory holds two regions of %s: larger copies are measured "
                     "in registered memory "
                     "only; for all sizes type:\n  %s\n",
                     base::human_size(starter.bytes()).c_str(), std::string(call.usage).c_str());
    }
    const std::vector<Row> rows = Copy(job, call.options, starter, registered).run();
    std::printf("copy, mode %s, %d ranks\n", mode_by_environment().c_str(), job.ranks());
    for (const char* suffix :
         {" starter", " registered", " starter streamed", " registered streamed"}) {
        const bool is_measured = std::any_of(rows.begin(), rows.end(), [suffix](const Row& row) {
            return row.name.ends_with(suffix);
        });
        if (is_measured) print_matrix(rows, suffix);
    }
    print_distances(rows);
    return finish(call.options, rows, false);
}

}  // namespace acp::bench
