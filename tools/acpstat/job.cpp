// SPDX-License-Identifier: BSD-3-Clause
// Walking through /proc. A memory file's link there reads "/memfd:NAME (deleted)".
#include "job.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "dsm/page_counters.hpp"
#include "gateway/stats_publisher.hpp"
#include "os/clock.hpp"
#include "os/file_descriptor.hpp"
#include "os/standard_streams.hpp"

#include "pages/page.hpp"

namespace acp::stat {

namespace {

namespace fs = std::filesystem;

constexpr int read_tries = 20;

int number_of(const std::string& name) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && end == name.data() + name.size() ? number : -1;
}

// Where the process keeps the two files; "" when it does not.
struct Files {
    std::string counters;
    std::string segment;
};

Files files_of(const fs::path& process) {
    Files files;
    // set if the process is another user's or has just ended: it has no files then
    std::error_code error;
    for (fs::directory_iterator it(process / "fd", error), end; !error && it != end;
         it.increment(error)) {
        const std::string target = fs::read_symlink(it->path(), error).string();
        if (error) break;
        if (target.starts_with("/memfd:acp-gateway ")) files.counters = it->path().string();
        if (target.starts_with("/memfd:acp-node ")) files.segment = it->path().string();
    }
    return files;
}

// The parent of a process; 0 when it is gone.
int parent_of(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::istringstream rest(text.substr(name_end + 1));
    std::string state;
    int parent = 0;
    rest >> state >> parent;
    return parent;
}

bool is_below(int pid, int ancestor) {
    for (int depth = 0; pid > 1 && depth < 64; ++depth, pid = parent_of(pid)) {
        if (pid == ancestor) return true;
    }
    return false;
}

// Whether the kernel does not show this user the files of a process.
bool is_hidden(int pid) {
    std::error_code error;
    const fs::directory_iterator files(fs::path("/proc") / std::to_string(pid) / "fd", error);
    return error == std::errc::permission_denied;
}

// The name of a process, cut by the kernel to 15 characters; "" when it is gone.
std::string command_of(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

int launcher_of(int pid) {
    for (int depth = 0; pid > 1 && depth < 64; ++depth, pid = parent_of(pid)) {
        if (command_of(pid) == "acprun") return pid;
    }
    return 0;
}

// Fills in the names by which a user recognizes a job: its programs and the pid of its acprun.
void name_for_people(Gateway& gateway) {
    std::vector<std::string>& programs = gateway.programs;
    for (std::uint32_t slot = 0; slot < gateway.segment.shape().local_procs; ++slot) {
        const std::uint32_t pid = gateway.segment.slot(slot).pid.load(std::memory_order_relaxed);
        const std::string name = pid != 0 ? command_of(static_cast<int>(pid)) : std::string();
        const bool is_new = std::find(programs.begin(), programs.end(), name) == programs.end();
        if (!name.empty() && is_new) programs.push_back(name);
    }
    gateway.launcher_pid = launcher_of(gateway.pid);
}

// Maps the node's segment; false when it is not one of this build.
bool open_segment(const Files& files, Gateway& gateway) {
    auto file = os::open_for_reading(files.segment);
    if (!file.is_ok()) return false;
    auto segment = node::Segment::look(std::move(file).value());
    if (!segment.is_ok()) return false;
    gateway.segment = std::move(segment).value();
    const node::Shape& shape = gateway.segment.shape();
    gateway.job_id = shape.job_id;
    gateway.first_process = shape.first_process;
    return true;
}

// Fills what is fixed; false when it is not a job of this build.
bool open_gateway(const Files& files, Gateway& gateway) {
    auto counters = os::open_for_reading(files.counters);
    if (!counters.is_ok() || !open_segment(files, gateway)) return false;
    auto block =
        os::Mapping::map_shared_read_only(counters.value().get(), sizeof(gateway::StatsBlock));
    if (!block.is_ok()) return false;
    gateway.counters = std::move(block).value();
    return refresh(gateway);
}

// The only node of a job that acprun started, as any of its processes has it open; false for others.
bool open_lone_node(const Files& files, Gateway& gateway) {
    if (!open_segment(files, gateway)) return false;
    const node::Shape& shape = gateway.segment.shape();
    if (shape.nodes != 1 || shape.job_id == 0) return false;
    gateway.has_counters = false;
    gateway.values.nodes = 1;
    gateway.values.local_procs = shape.local_procs;
    return true;
}

std::string list_of(const std::vector<Gateway>& all) {
    std::set<std::uint64_t> jobs;
    std::string text;
    for (const Gateway& gateway : all) {
        if (jobs.insert(gateway.job_id).second) text += "\n  " + name_of_job(gateway.job_id);
    }
    return text;
}

// Whether one of these paths leads to the same memory file.
bool is_known(const std::string& file, const std::vector<std::string>& files) {
    return std::any_of(files.begin(), files.end(), [&file](const std::string& other) {
        std::error_code error;  // set if a process has ended: its files are no others'
        return fs::equivalent(file, other, error);
    });
}

// A process that a rank forks inherits the counters of the rank's gateway, which only the rank
// runs. Process numbers wrap, so that the forked process may have been found first.
void keep_forker(std::vector<Gateway>& found, Gateway gateway) {
    for (Gateway& other : found) {
        const bool is_same_node =
            other.job_id == gateway.job_id && other.first_process == gateway.first_process;
        if (is_same_node && is_below(other.pid, gateway.pid)) {
            other = std::move(gateway);
            return;
        }
    }
}

}  // namespace

std::vector<node::Doing> doings_of(const Gateway& gateway) {
    std::vector<node::Doing> doings;
    if (!gateway.segment.is_open() || gateway.values.is_of_rank != 0) return doings;
    const std::uint64_t now_ns = os::now_ns();
    for (std::uint32_t slot = 0; slot < gateway.segment.shape().local_procs; ++slot) {
        doings.push_back(node::look_at(gateway.segment, slot, now_ns));
    }
    return doings;
}

std::vector<SharedPagesOf> shared_pages_of(const Gateway& gateway) {
    std::vector<SharedPagesOf> all;
    if (!gateway.segment.is_open() || gateway.values.is_of_rank != 0) return all;
    const auto value = [](const dsm::PageCounter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    const node::Shape& shape = gateway.segment.shape();
    for (std::uint32_t slot = 0; slot < shape.local_procs; ++slot) {
        const dsm::PageCounters& its = dsm::page_counters(gateway.segment, slot);
        if (value(its.pages) == 0) continue;
        all.push_back({gateway.segment.rank_of(shape.first_process + slot),
                       {{"bytes", value(its.pages) * pages::page_bytes},
                        {"bytes_allocated", value(its.calls.pages_allocated) * pages::page_bytes},
                        {"allocations", value(its.calls.allocations)},
                        {"barriers", value(its.calls.barriers)},
                        {"faults", value(its.faults.faults)},
                        {"fault_ns", value(its.faults.ns)},
                        {"pages_fetched", value(its.fetches.pages)},
                        {"pages_prefetched", value(its.prefetched)},
                        {"pages_updated", value(its.updated)},
                        {"pages_sent", value(its.flushes.pages)},
                        {"bytes_sent", value(its.flushes.bytes)},
                        {"pages_ahead", value(its.faults.ahead)},
                        {"pages_ahead_unused", value(its.calls.unused)},
                        {"pages_dropped", value(its.calls.dropped)},
                        {"pages_evicted", value(its.evictions.pages)},
                        {"pages_evicted_sent", value(its.evictions.sent.pages)},
                        {"bytes_evicted_sent", value(its.evictions.sent.bytes)},
                        {"homes_gained", value(its.calls.gained)},
                        {"races", value(its.checks.races)},
                        {"pages_unchecked", value(its.checks.unchecked)}}});
    }
    return all;
}

bool refresh(Gateway& gateway) {
    if (!gateway.has_counters) return true;
    const auto& block = *reinterpret_cast<const gateway::StatsBlock*>(gateway.counters.data());
    for (int i = 0; i < read_tries; ++i) {
        if (gateway::read_stats(block, gateway.values)) return true;
    }
    return false;
}

std::string name_of_job(std::uint64_t job_id) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(job_id));
    return text;
}

base::Result<std::vector<Gateway>> find_gateways() {
    std::vector<Gateway> found;
    std::set<std::uint64_t> lone_jobs;
    std::vector<std::string> counters;  // the file of each gateway in `found`
    std::error_code error;
    for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
        const int pid = number_of(it->path().filename().string());
        if (pid <= 0) continue;
        const Files files = files_of(it->path());
        if (files.segment.empty()) continue;
        Gateway gateway;
        gateway.pid = pid;
        const bool is_one =
            files.counters.empty() ? open_lone_node(files, gateway) : open_gateway(files, gateway);
        if (!is_one) continue;
        // The agent and all ranks have the one segment of a lone node open: one of them stands for it.
        if (!gateway.has_counters && !lone_jobs.insert(gateway.job_id).second) continue;
        name_for_people(gateway);
        if (gateway.has_counters && is_known(files.counters, counters)) {
            keep_forker(found, std::move(gateway));
            continue;
        }
        if (gateway.has_counters) counters.push_back(files.counters);
        found.push_back(std::move(gateway));
    }
    if (error) return base::Status(base::Code::system, "reading /proc: " + error.message());
    std::sort(found.begin(), found.end(), [](const Gateway& a, const Gateway& b) {
        return std::tuple(a.job_id, a.values.node, a.pid) <
               std::tuple(b.job_id, b.values.node, b.pid);
    });
    return found;
}

base::Result<std::vector<Gateway>> select(std::vector<Gateway> all, const std::string& wish) {
    const int pid = number_of(wish);
    std::set<std::uint64_t> jobs;
    for (const Gateway& gateway : all) {
        const bool fits = name_of_job(gateway.job_id).starts_with(wish) ||
                          (pid > 0 && (is_below(gateway.pid, pid) || is_below(pid, gateway.pid)));
        if (fits) jobs.insert(gateway.job_id);
    }
    // Whole jobs: a process leads to the gateway of its own node alone.
    std::vector<Gateway> chosen;
    for (Gateway& gateway : all) {
        if (jobs.contains(gateway.job_id)) chosen.push_back(std::move(gateway));
    }
    if (jobs.size() == 1) return chosen;
    if (jobs.size() > 1) {
        return base::Status(base::Code::argument,
                            "\"" + wish + "\" fits several jobs:" + list_of(chosen));
    }
    if (pid > 0 && is_hidden(pid)) {
        return base::Status(base::Code::argument,
                            "process " + wish +
                                " belongs to another user, or is protected, and this user may not "
                                "look into it; run acpstat as its user, or as root");
    }
    const std::string others = list_of(all);
    return base::Status(base::Code::argument, "no running job is called \"" + wish + "\"" +
                                                  (others.empty() ? "" : "; there are:" + others));
}

}  // namespace acp::stat
