// SPDX-License-Identifier: BSD-3-Clause
// acpsim run: many seeds on several threads, a bar, a table; acpsim replay: one seed. Main thread
// and its workers, which share nothing but the next seed and the totals under a lock.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/format.hpp"
#include "sim/world.hpp"

#include "bar.hpp"
#include "commands.hpp"

namespace acp::sim_tool {

namespace {

struct Totals {
    std::uint64_t seeds = 0;
    std::uint64_t events = 0;
    double virtual_s = 0;
    std::uint64_t severed = 0;
    std::uint64_t retransmitted = 0;
    std::uint64_t key_changes = 0;
    std::uint64_t folded = 0;
    sim::RefereeCounts work;
    sim::NetworkCounts network;
    std::map<std::uint64_t, std::string> violations;  // the description of each seed's violation

    void add(std::uint64_t seed, const sim::RunVerdict& verdict) {
        ++seeds;
        events += verdict.events;
        virtual_s += static_cast<double>(verdict.virtual_ns) / 1e9;
        severed += verdict.severed;
        retransmitted += verdict.retransmitted;
        key_changes += verdict.key_changes;
        folded += verdict.folded;
        work.ended_well += verdict.work.ended_well;
        work.ended_badly += verdict.work.ended_badly;
        work.bytes += verdict.work.bytes;
        network.sent += verdict.network.sent;
        network.lost += verdict.network.lost;
        network.doubled += verdict.network.doubled;
        network.corrupted += verdict.network.corrupted;
        network.overtaken += verdict.network.overtaken;
        network.cut += verdict.network.cut;
        network.queue_full += verdict.network.queue_full;
        network.socket_full += verdict.network.socket_full;
        if (!verdict.is_ok()) violations[seed] = verdict.violation;
    }
};

// Of a processor, by each worker: a seed takes milliseconds, a large one seconds, however busy the
// machine is.
constexpr std::clock_t hang_limit = 60 * std::clock_t{CLOCKS_PER_SEC};

sim::Scale scale_of(const Options& options) {
    return options.scale == "full" ? sim::Scale::full : sim::Scale::small;
}

class Runner {
public:
    explicit Runner(const Options& options) : options_(options), next_(options.first_seed) {}

    Totals run(std::uint32_t jobs) {
        under_way_.resize(jobs);
        std::vector<std::thread> workers;
        for (std::uint32_t i = 0; i < jobs; ++i) {
            workers.emplace_back([this, i] { work(i); });
        }
        show(jobs);
        for (std::thread& worker : workers) worker.join();
        return totals_;
    }

private:
    struct UnderWay {
        std::uint64_t seed = 0;
        std::clock_t since = std::numeric_limits<std::clock_t>::max();  // CPU time of the process
    };

    void work(std::uint32_t worker) {
        for (;;) {
            const std::uint64_t seed = next_.fetch_add(1, std::memory_order_relaxed);
            if (seed > options_.last_seed || is_stopped_.load(std::memory_order_relaxed)) break;
            name_crash(seed, options_.scale);
            note(worker, {seed, std::clock()});
            const sim::Scale scale = scale_of(options_);
            const sim::RunVerdict verdict =
                options_.is_once ? sim::run_seed(seed, scale) : sim::run_seed_twice(seed, scale);
            if (!verdict.is_ok() && !options_.goes_on) {
                is_stopped_.store(true, std::memory_order_relaxed);
            }
            const std::lock_guard lock(mutex_);
            totals_.add(seed, verdict);
        }
        note(worker, {});
        const std::lock_guard lock(mutex_);
        ++finished_;
        changed_.notify_all();
    }

    void note(std::uint32_t worker, const UnderWay& what) {
        const std::lock_guard lock(mutex_);
        under_way_[worker] = what;
    }

    // A seed that takes for ever is a violation too; nothing can stop it but the end of the
    // process.
    void look_for_hangs() {
        const std::clock_t now = std::clock();
        const auto limit = hang_limit * static_cast<std::clock_t>(under_way_.size());
        for (const UnderWay& what : under_way_) {
            if (what.since > now || now - what.since < limit) continue;
            std::printf("seed %llu: hangs\n  replay: %s\n",
                        static_cast<unsigned long long>(what.seed),
                        replay_command(what.seed, options_.scale).c_str());
            std::fflush(stdout);
            std::_Exit(1);
        }
    }

    void show(std::uint32_t jobs) {
        Bar bar("acpsim", !options_.is_quiet);
        const std::uint64_t all = options_.last_seed - options_.first_seed + 1;
        const auto start = std::chrono::steady_clock::now();
        std::unique_lock lock(mutex_);
        while (finished_ < jobs) {
            changed_.wait_for(lock, std::chrono::milliseconds(100));
            look_for_hangs();
            const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
            const double rate =
                static_cast<double>(totals_.seeds) / std::max(elapsed.count(), 1e-3);
            bar.show(totals_.seeds, all,
                     std::to_string(static_cast<std::uint64_t>(rate)) + " seeds/s, " +
                         std::to_string(totals_.violations.size()) + " violations");
        }
    }

    const Options& options_;
    std::atomic<std::uint64_t> next_;
    std::atomic<bool> is_stopped_{false};  // relaxed: when the others notice does not matter
    std::mutex mutex_;                     // guards the members below
    std::condition_variable changed_;
    std::vector<UnderWay> under_way_;
    std::uint32_t finished_ = 0;
    Totals totals_;
};

std::string text(std::uint64_t value) {
    return std::to_string(value);
}

void print_totals(const Totals& totals, double seconds) {
    base::Table table({{"", base::Table::Align::left}, {"", base::Table::Align::right}});
    char rate[64];
    std::snprintf(rate, sizeof rate, "%.0f",
                  static_cast<double>(totals.seeds) / std::max(seconds, 1e-3));
    char hours[64];
    std::snprintf(hours, sizeof hours, "%.1f", totals.virtual_s / 3600);
    table.add_row({"seeds", text(totals.seeds)});
    table.add_row({"seeds per second", rate});
    table.add_row({"virtual hours", hours});
    table.add_row({"events", text(totals.events)});
    table.add_row({"commands that succeeded", text(totals.work.ended_well)});
    table.add_row(
        {"commands that failed by a fault or a wrong address", text(totals.work.ended_badly)});
    table.add_row({"bytes copied", base::human_size(totals.work.bytes)});
    table.add_row({"datagrams sent", text(totals.network.sent)});
    table.add_row({"  lost", text(totals.network.lost)});
    table.add_row({"  cut off by a partition or hole", text(totals.network.cut)});
    table.add_row({"  dropped by a full queue", text(totals.network.queue_full)});
    table.add_row({"  dropped by a full socket", text(totals.network.socket_full)});
    table.add_row({"  doubled", text(totals.network.doubled)});
    table.add_row({"  overtaken", text(totals.network.overtaken)});
    table.add_row({"  damaged", text(totals.network.corrupted)});
    table.add_row({"retransmissions", text(totals.retransmitted)});
    table.add_row({"key changes", text(totals.key_changes)});
    table.add_row({"peers folded when idle", text(totals.folded)});
    table.add_row({"peers severed", text(totals.severed)});
    table.add_row({"violations", text(totals.violations.size())});
    std::fputs(table.text().c_str(), stdout);
}

}  // namespace

int run_seeds(const Options& options) {
    const std::uint32_t jobs =
        options.jobs != 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
    const auto start = std::chrono::steady_clock::now();
    const Totals totals = Runner(options).run(jobs);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    print_totals(totals, elapsed.count());
    constexpr std::size_t shown_max = 20;
    std::size_t shown = 0;
    for (const auto& [seed, violation] : totals.violations) {
        if (++shown > shown_max) break;
        std::printf("seed %llu: %s\n  replay: %s\n", static_cast<unsigned long long>(seed),
                    violation.c_str(), replay_command(seed, options.scale).c_str());
    }
    return totals.violations.empty() ? 0 : 1;
}

int replay_seed(const Options& options) {
    const sim::Scale scale = scale_of(options);
    name_crash(options.seed, options.scale);
    std::fputs(sim::describe(sim::make_plan(options.seed, scale)).c_str(), stdout);
    const sim::RunVerdict verdict =
        sim::run_seed(options.seed, scale, options.has_story ? stdout : nullptr);
    std::printf("%s\nhash %016llx, %llu events, %llu datagrams, %.6f virtual seconds\n",
                verdict.is_ok() ? "every rule held" : ("VIOLATION at " + verdict.violation).c_str(),
                static_cast<unsigned long long>(verdict.hash),
                static_cast<unsigned long long>(verdict.events),
                static_cast<unsigned long long>(verdict.network.sent),
                static_cast<double>(verdict.virtual_ns) / 1e9);
    return verdict.is_ok() ? 0 : 1;
}

}  // namespace acp::sim_tool
