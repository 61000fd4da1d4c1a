// SPDX-License-Identifier: BSD-3-Clause
// Experiments `start` and `memory`: jobs of a program that only joins and leaves, timed from launch
// to end, and weighed while all of its ranks are in; each beside the same processes without ACP.
// Run alone, without acprun.
#include <algorithm>
#include <memory>
#include <sstream>

#include "os/clock.hpp"

#include "child.hpp"
#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

using Arguments = std::vector<std::string>;

Arguments job_of(int ranks, std::string_view child) {
    return {acprun_path(), "-n", std::to_string(ranks), own_path(), std::string(child)};
}

Arguments bare(std::string_view child) {
    return {own_path(), std::string(child), "without"};
}

std::vector<int> counts(const Options& options, std::initializer_list<int> usual) {
    if (!options.rank_counts.empty()) return options.rank_counts;
    return options.is_quick ? std::vector<int>{1, 2} : std::vector<int>(usual);
}

void must_succeed(int code, int ranks) {
    if (code != 0)
        give_up("a job of " + std::to_string(ranks) + " ranks ended with " + std::to_string(code));
}

double start_job_ns(int ranks) {
    const std::uint64_t start = os::now_ns();
    must_succeed(Child(job_of(ranks, child_start), {}).wait(), ranks);
    return static_cast<double>(os::now_ns() - start);
}

std::vector<std::unique_ptr<Child>> start_bare(int processes, std::string_view child) {
    std::vector<std::unique_ptr<Child>> children;
    children.reserve(static_cast<std::size_t>(processes));
    for (int i = 0; i < processes; ++i)
        children.push_back(std::make_unique<Child>(bare(child), Arguments{}));
    return children;
}

double start_bare_ns(int processes) {
    const std::uint64_t start = os::now_ns();
    const std::vector<std::unique_ptr<Child>> children = start_bare(processes, child_start);
    for (const auto& child : children) must_succeed(child->wait(), processes);
    return static_cast<double>(os::now_ns() - start);
}

Row start_row(int ranks, int repetitions) {
    std::vector<double> ours;
    std::vector<double> theirs;
    std::vector<double> ratios;
    start_job_ns(ranks);  // not timed: it loads the programs and libraries into the page cache
    for (int i = 0; i < repetitions; ++i) {
        ours.push_back(start_job_ns(ranks) / 1e3);
        theirs.push_back(start_bare_ns(ranks) / 1e3);
        ratios.push_back(ours.back() / theirs.back());
    }
    Row row;
    row.experiment = "start";
    row.name = "launch to end";
    row.ranks = ranks;
    row.iterations = ours.size();
    row.latency_us = summarize(ours);
    row.yardstick = Yardstick{"the processes without ACP", median_of(theirs), "us"};
    row.ratio = median_of(ratios);
    return row;
}

// "resident 1234" of a child, from anywhere in the line: acprun may put the rank before it.
int resident_pid(const std::string& line) {
    const std::size_t at = line.find("resident ");
    return at == std::string::npos ? 0 : std::atoi(line.c_str() + at + 9);
}

std::vector<double> pss_of_job(int ranks, double& agent_kib) {
    Child job(job_of(ranks, child_resident), {});
    std::vector<int> pids;
    std::string line;
    while (static_cast<int>(pids.size()) < ranks && job.read_line(line)) {
        if (const int pid = resident_pid(line); pid > 0) pids.push_back(pid);
    }
    if (static_cast<int>(pids.size()) < ranks)
        give_up("only " + std::to_string(pids.size()) + " ranks joined");
    std::vector<double> kib;
    kib.reserve(pids.size());
    for (const int pid : pids) kib.push_back(pss_kib(pid));
    agent_kib = pss_kib(parent_of(pids.front()));
    must_succeed(job.wait(), ranks);
    return kib;
}

std::vector<double> pss_bare(int processes) {
    const std::vector<std::unique_ptr<Child>> children = start_bare(processes, child_resident);
    std::string line;
    for (const auto& child : children) {
        if (!child->read_line(line)) give_up("a process to compare with did not start");
    }
    std::vector<double> kib;
    kib.reserve(children.size());
    for (const auto& child : children) kib.push_back(pss_kib(child->pid()));
    for (const auto& child : children) must_succeed(child->wait(), processes);
    return kib;
}

Row memory_row(int ranks) {
    double agent_kib = 0;
    const Summary ours = summarize(pss_of_job(ranks, agent_kib));
    const Summary theirs = summarize(pss_bare(ranks));
    Row row;
    row.experiment = "memory";
    row.name = "Pss per rank";
    row.ranks = ranks;
    row.iterations = ours.count;
    row.yardstick = Yardstick{"without ACP", theirs.mean, "KiB"};
    row.ratio = theirs.mean > 0 ? ours.mean / theirs.mean : 0;
    row.extra = {{"pss_KiB", ours.mean},
                 {"difference_KiB", ours.mean - theirs.mean},
                 {"agent_KiB", agent_kib}};
    return row;
}

}  // namespace

int run_start(const Call& call) {
    const std::vector<int> all = counts(call.options, {1, 4, 16, 64});
    const int repetitions = call.options.slices > 0 ? call.options.slices
                            : call.options.is_quick ? 2
                                                    : 9;
    Progress progress("start", static_cast<int>(all.size()));
    std::vector<Row> rows;
    for (const int ranks : all) {
        rows.push_back(start_row(ranks, repetitions));
        progress.step(std::to_string(ranks) + " ranks");
    }
    return finish(call.options, rows);
}

int run_memory(const Call& call) {
    const std::vector<int> all = counts(call.options, {1, 2, 4, 8, 16, 32, 64});
    Progress progress("memory", static_cast<int>(all.size()));
    std::vector<Row> rows;
    for (const int ranks : all) {
        rows.push_back(memory_row(ranks));
        progress.step(std::to_string(ranks) + " ranks");
    }
    return finish(call.options, rows);
}

}  // namespace acp::bench
