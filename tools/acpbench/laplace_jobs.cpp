// SPDX-License-Identifier: BSD-3-Clause
// Starts the jobs one after the other and merges their rows.
#include "laplace_jobs.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "job/identity.hpp"
#include "os/cpu.hpp"
#include "os/process.hpp"

#include "job.hpp"
#include "number.hpp"
#include "output.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

// The ways whose speedups stand in the table, by their names and as its titles.
constexpr std::pair<const char*, const char*> table_ways[] = {
    {"shared pages", "by faults"},
    {"shared pages, learned", "learned"},
    {"shared pages, prefetched", "prefetched"},
    {"shared pages, flush hints", "flush hints"},
    {"puts by hand", "by hand"},
    {"without communication", "without communication"},
};

struct JobShape {
    int ranks;
    int nodes;
};

std::vector<JobShape> shapes_of(const Options& options) {
    if (options.job_ranks > 0) return {{options.job_ranks, options.job_nodes}};
    return {{1, 1}, {2, 1}, {4, 1}, {2, 2}, {4, 2}, {4, 4}};
}

std::string name_of_shape(const JobShape& shape) {
    return std::to_string(shape.ranks) + (shape.ranks == 1 ? " rank" : " ranks") + " on " +
           std::to_string(shape.nodes) + (shape.nodes == 1 ? " node" : " nodes");
}

std::vector<Row> run_shape(const JobShape& shape, const Options& options) {
    const std::string part = (std::filesystem::temp_directory_path() /
                              ("acpbench-laplace-" + std::to_string(own_process_id()) + ".json"))
                                 .string();
    std::vector<std::string> argv = {acprun_path(),
                                     "-n",
                                     std::to_string(shape.ranks),
                                     "--nodes",
                                     std::to_string(shape.nodes),
                                     own_path(),
                                     "laplace",
                                     "--json",
                                     part};
    if (options.is_quick) argv.emplace_back("--quick");
    if (options.slices > 0) argv.insert(argv.end(), {"--slices", std::to_string(options.slices)});
    const int code = Child(argv, {"ACP_TERMINAL=0"}).wait();
    if (code != 0)
        give_up("the job of " + name_of_shape(shape) + " ended with " + std::to_string(code));
    base::Result<ResultFile> result = read_results(part);
    std::filesystem::remove(part);
    if (!result.is_ok()) give_up(std::string(result.failure().message()));
    return std::move(result).value().rows;
}

double speedup_of(const std::vector<Row>& rows, const JobShape& shape, const char* name) {
    for (const Row& row : rows) {
        if (row.ranks == shape.ranks && row.nodes == shape.nodes && row.name == name)
            return extra_of(row, "speedup");
    }
    return 0;
}

std::vector<JobShape> shapes_in(const std::vector<Row>& rows) {
    std::vector<JobShape> shapes;
    for (const Row& row : rows) {
        const auto is_it = [&](const JobShape& shape) {
            return shape.ranks == row.ranks && shape.nodes == row.nodes;
        };
        if (std::none_of(shapes.begin(), shapes.end(), is_it))
            shapes.push_back({row.ranks, row.nodes});
    }
    return shapes;
}

}  // namespace

// The variables of a launcher that do not fit are an error of acp_init.
bool is_in_job() {
    const auto identity = job::identity_of(os::environment());
    return !identity.is_ok() || identity.value().is_launched();
}

LaplaceSize laplace_size(const Options& options) {
    return options.is_quick ? LaplaceSize{256, 10, true} : LaplaceSize{2048, 50, false};
}

std::string laplace_table(const std::vector<Row>& rows) {
    if (rows.empty()) return {};
    using Align = base::Table::Align;
    std::vector<base::Table::Column> columns = {{"speedup", Align::left}};
    for (const auto& [name, title] : table_ways) columns.push_back({title, Align::right});
    columns.push_back({"paper 001", Align::right});
    base::Table table(std::move(columns));
    for (const JobShape& shape : shapes_in(rows)) {
        std::vector<std::string> cells = {name_of_shape(shape)};
        for (const auto& [name, title] : table_ways) {
            const double speedup = speedup_of(rows, shape, name);
            cells.push_back(speedup > 0 ? number(speedup, 2) : "");
        }
        for (const Row& row : rows) {
            const bool is_it = row.ranks == shape.ranks && row.nodes == shape.nodes && row.paper;
            if (is_it && cells.size() == std::size(table_ways) + 1)
                cells.push_back(number(row.paper->value, 2));
        }
        table.add_row(std::move(cells));
    }
    return table.text();
}

void note_crowd(std::vector<Row>& rows) {
    const int cpus = os::usable_cpus();
    const int ranks = rows.front().ranks;
    if (ranks <= cpus) return;
    const double each = static_cast<double>(ranks) / cpus;
    for (Row& row : rows) {
        if (extra_of(row, "ranks_per_cpu") == 0) row.extra.emplace_back("ranks_per_cpu", each);
    }
    std::printf(
        "%d ranks share %d CPUs, %s on each: the times show that the job ends and its bits are "
        "right, and no speedup of a machine that has a CPU for each rank\n",
        ranks, cpus, number(each, ranks % cpus == 0 ? 0 : 1).c_str());
}

int run_laplace_jobs(const Options& options) {
    std::vector<Row> rows;
    {
        const std::vector<JobShape> shapes = shapes_of(options);
        Progress progress("laplace", static_cast<int>(shapes.size()));
        for (const JobShape& shape : shapes) {
            std::vector<Row> its = run_shape(shape, options);
            std::move(its.begin(), its.end(), std::back_inserter(rows));
            progress.step(name_of_shape(shape));
        }
    }
    if (options.job_ranks > 0) note_crowd(rows);
    std::printf(
        "LAPLACE of paper 001, its speedup over one process on private memory; nodes are emulated "
        "on %d CPUs\n%s\n",
        os::usable_cpus(), laplace_table(rows).c_str());
    return finish(options, rows);
}

}  // namespace acp::bench
