// SPDX-License-Identifier: BSD-3-Clause
// acpsim soak and acpsim incast: one long run and one crowded one. Main thread only.
#include <chrono>
#include <cstdio>

#include "base/format.hpp"
#include "sim/incast.hpp"
#include "sim/world.hpp"

#include "bar.hpp"
#include "commands.hpp"

namespace acp::sim_tool {

namespace {

constexpr double fairness_least = 0.9;

}  // namespace

int run_soak(const Options& options) {
    const double seconds = options.hours * 3600;
    const auto rounds =
        static_cast<std::uint32_t>(seconds / (static_cast<double>(sim::soak_round_ns) / 1e9)) + 1;
    name_crash(options.seed, "small");
    const auto start = std::chrono::steady_clock::now();
    sim::Verdict verdict;
    {
        Bar bar("acpsim soak", !options.is_quiet);
        verdict = sim::run_soak(
            options.seed, rounds, [&bar, rounds](std::uint32_t done, const sim::Verdict& so_far) {
                bar.show(done, rounds, std::to_string(so_far.network.sent) + " datagrams");
            });
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::printf(
        "%.2f virtual hours in %.1f s: %llu commands, %s copied, %llu datagrams, %llu "
        "retransmitted, "
        "%llu key changes, %llu peers folded, %llu severed\n",
        static_cast<double>(verdict.virtual_ns) / 3.6e12, elapsed.count(),
        static_cast<unsigned long long>(verdict.work.ended_well),
        base::human_size(verdict.work.bytes).c_str(),
        static_cast<unsigned long long>(verdict.network.sent),
        static_cast<unsigned long long>(verdict.retransmitted),
        static_cast<unsigned long long>(verdict.key_changes),
        static_cast<unsigned long long>(verdict.folded),
        static_cast<unsigned long long>(verdict.severed));
    if (verdict.is_ok()) return 0;
    std::printf("VIOLATION at %s\n  again: acpsim soak --hours %g --seed %llu\n",
                verdict.violation.c_str(), options.hours,
                static_cast<unsigned long long>(options.seed));
    return 1;
}

int run_incast(const Options& options) {
    sim::IncastOptions incast;
    incast.seed = options.seed;
    incast.senders = options.senders;
    incast.duration_ns = options.milliseconds * sim::ms;
    incast.receive_bytes = options.receive_bytes;
    incast.datagram_bytes_max = options.datagram_bytes;
    incast.pause_ns = options.pause_us * sim::us;
    name_crash(options.seed, "small");
    const sim::IncastResult result = sim::run_incast(incast);
    std::uint64_t total = 0;
    for (const std::uint64_t bytes : result.bytes) total += bytes;
    base::Table table({{"sender", base::Table::Align::right},
                       {"copied", base::Table::Align::right},
                       {"share", base::Table::Align::right}});
    for (std::size_t i = 0; i < result.bytes.size(); ++i) {
        char share[32];
        std::snprintf(share, sizeof share, "%.2f %%",
                      100 * static_cast<double>(result.bytes[i]) /
                          static_cast<double>(total == 0 ? 1 : total));
        table.add_row({std::to_string(i + 1), base::human_size(result.bytes[i]), share});
    }
    std::fputs(table.text().c_str(), stdout);
    std::printf(
        "%u to 1, %llu ms, socket of %s: Jain %.3f, %.0f %% of the link; dropped by the socket "
        "%llu (%llu in "
        "the warm-up), by the switch %llu\n",
        options.senders, static_cast<unsigned long long>(options.milliseconds),
        base::human_size(options.receive_bytes).c_str(), result.fairness,
        100 * result.share_of_link, static_cast<unsigned long long>(result.socket_full),
        static_cast<unsigned long long>(result.socket_full_warm_up),
        static_cast<unsigned long long>(result.queue_full));
    if (!result.violation.empty()) std::printf("VIOLATION at %s\n", result.violation.c_str());
    const bool is_good =
        result.violation.empty() && result.socket_full == 0 && result.fairness >= fairness_least;
    return is_good ? 0 : 1;
}

}  // namespace acp::sim_tool
