// SPDX-License-Identifier: BSD-3-Clause
// acpsim soak, incast, share and chains: a long run, a crowded one, one beside TCP and one under
// burst loss. Main thread only.
#include <chrono>
#include <cstdio>

#include "base/format.hpp"
#include "sim/chain.hpp"
#include "sim/incast.hpp"
#include "sim/share.hpp"
#include "sim/world.hpp"

#include "bar.hpp"
#include "commands.hpp"

namespace acp::sim_tool {

namespace {

constexpr double fairness_least = 0.9;
constexpr double share_alone_least = 0.8;
constexpr double heavy_loss = 0.2;
// the longest time that a chain may take above heavy_loss
constexpr sim::Time worst_heavy = 1 * sim::s;
// the longest time that a chain may take at less loss
constexpr sim::Time worst_light = 100 * sim::ms;

}  // namespace

int run_soak(const Options& options) {
    const double seconds = options.hours * 3600;
    const auto rounds =
        static_cast<std::uint32_t>(seconds / (static_cast<double>(sim::soak_round_ns) / 1e9)) + 1;
    name_crash(options.seed, "small");
    const auto start = std::chrono::steady_clock::now();
    sim::RunVerdict verdict;
    {
        Bar bar("acpsim soak", !options.is_quiet);
        verdict = sim::run_soak(options.seed, rounds,
                                [&bar, rounds](std::uint32_t done, const sim::RunVerdict& so_far) {
                                    bar.show(done, rounds,
                                             std::to_string(so_far.network.sent) + " datagrams");
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
    incast.silent_nodes = options.silent_nodes;
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
    // A single sender must reach share_alone_least of the link.
    const bool is_slow = options.senders == 1 && result.share_of_link < share_alone_least;
    if (is_slow) {
        std::printf("seed %llu: the share of one sender is too small\n",
                    static_cast<unsigned long long>(options.seed));
    }
    const bool is_good = result.violation.empty() && result.socket_full == 0 &&
                         result.fairness >= fairness_least && !is_slow;
    return is_good ? 0 : 1;
}

int run_share(const Options& options) {
    name_crash(0, "small");
    const auto control = options.control == "cubic"     ? base::CongestionAlgorithm::cubic
                         : options.control == "newreno" ? base::CongestionAlgorithm::new_reno
                                                        : base::CongestionAlgorithm::delay;
    base::Table table({{"path", base::Table::Align::left},
                       {"what", base::Table::Align::left},
                       {"seen", base::Table::Align::right},
                       {"least", base::Table::Align::right},
                       {"most", base::Table::Align::right}});
    bool is_good = true;
    const auto text = [](double value) {
        char written[32];
        std::snprintf(written, sizeof written, "%.3f", value);
        return std::string(written);
    };
    for (const sim::ShareRow& row : sim::run_share(control)) {
        is_good = is_good && row.is_good();
        table.add_row({row.path, row.what + (row.is_good() ? "" : " MISSED"), text(row.seen),
                       text(row.least), text(row.most)});
    }
    std::fputs(table.text().c_str(), stdout);
    if (!is_good) std::printf("seed 0: a row is outside its bounds\n");
    return is_good ? 0 : 1;
}

int run_chains(const Options& options) {
    sim::ChainOptions chain;
    chain.seed = options.seed;
    chain.loss = options.loss;
    chain.chains = options.chains;
    name_crash(options.seed, "small");
    const sim::ChainResult result = sim::run_chains(chain);
    const auto seed = static_cast<unsigned long long>(options.seed);
    if (!result.violation.empty()) std::printf("seed %llu: %s\n", seed, result.violation.c_str());
    if (result.took.empty()) return 1;
    const auto at = [&](double share) {
        const auto last = static_cast<double>(result.took.size() - 1);
        return static_cast<double>(result.took[static_cast<std::size_t>(share * last)]) / 1e6;
    };
    std::printf(
        "%zu chains of %u copies, %.0f %% lost: median %.2f ms, 99 %% %.2f ms, worst %.2f ms\n",
        result.took.size(), chain.copies, 100 * chain.loss, at(0.5), at(0.99), at(1));
    const sim::Time most = chain.loss > heavy_loss ? worst_heavy : worst_light;
    const bool is_late = result.took.back() > most;
    if (is_late) {
        std::printf("seed %llu: a chain took longer than %g ms\n", seed,
                    static_cast<double>(most) / 1e6);
    }
    return result.violation.empty() && !is_late ? 0 : 1;
}

}  // namespace acp::sim_tool
