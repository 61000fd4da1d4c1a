// SPDX-License-Identifier: BSD-3-Clause
// Turns of the library and of bare datagrams. Rank 0's main thread, and the far rank's.
#include "net_rounds.hpp"

#include <algorithm>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "output.hpp"

namespace acp::bench {

namespace {

// Beside those of experiments, which count from 1.
constexpr std::uint32_t order_echo = 101;
constexpr std::uint32_t order_drain = 102;

constexpr std::uint64_t operations_per_round = 32;
constexpr std::uint64_t transfer_bytes_per_round = 2 << 20;
constexpr double bare_slice_ns_min = 5e6;

}  // namespace

NetRounds::NetRounds(Job& job, BareUdp& bare, int far, const Options& options)
    : job_(job),
      bare_(bare),
      far_(far),
      slices_(options.slices > 0 ? options.slices
              : options.is_quick ? 2
                                 : 20),
      slice_ns_(options.is_quick ? 2e6 : 10e6) {}

bool NetRounds::answer_bare(const Job& job, BareUdp& bare, const Order& order) {
    if (order.what != order_echo && order.what != order_drain) return false;
    if (order.arguments[0] != static_cast<std::uint64_t>(job.rank())) return true;
    if (order.what == order_echo) bare.echo();
    if (order.what == order_drain) bare.drain();
    return true;
}

Row NetRounds::new_row(const std::string& experiment,
                       const std::string& name,
                       std::uint64_t bytes) const {
    Row row;
    row.experiment = experiment;
    row.name = name;
    row.mode = mode_by_environment();
    row.ranks = job_.ranks();
    row.nodes = job_.nodes();
    row.bytes = bytes;
    return row;
}

std::vector<double> NetRounds::rounds(const Work& work, std::uint64_t operations) const {
    std::vector<double> each_ns;
    const std::uint64_t start = os::now_ns();
    std::uint64_t before = start;
    do {
        work(operations);
        const std::uint64_t now = os::now_ns();
        each_ns.push_back(static_cast<double>(now - before) / static_cast<double>(operations));
        before = now;
    } while (static_cast<double>(before - start) < slice_ns_);
    return each_ns;
}

std::vector<double> NetRounds::bare_slice(std::uint32_t what,
                                          const Work& work,
                                          std::uint64_t operations) {
    Order order{what, 0, {}};
    order.arguments[0] = static_cast<std::uint64_t>(far_);
    job_.give(order);
    bare_.settle();
    std::vector<double> each_ns = rounds(work, operations);
    bare_.end();
    job_.join();
    return each_ns;
}

std::vector<double> NetRounds::bare_round_trips() {
    return bare_slice(
        order_echo, [this](std::uint64_t count) { bare_.round_trips(count); },
        operations_per_round);
}

Row NetRounds::beside_round_trips(Row row, const Work& work) {
    row = beside(std::move(row), work, operations_per_round, [this] { return bare_round_trips(); });
    row.yardstick->name = "bare UDP round trip";
    return row;
}

Row NetRounds::beside_transfers(Row row, const Work& work) {
    const std::uint64_t bytes = row.bytes;
    const std::uint64_t operations =
        std::clamp<std::uint64_t>(transfer_bytes_per_round / bytes, 1, operations_per_round);
    row = beside(std::move(row), work, operations, [this, bytes, operations] {
        return bare_slice(
            order_drain, [this, bytes](std::uint64_t count) { bare_.transfers(bytes, count); },
            operations);
    });
    row.yardstick->name = "bare UDP, the same bytes";
    return row;
}

// Every second slice begins with the bare datagrams. A row's ratio is that of the medians: rounds
// of both cannot be paired, because between them the other rank changes what it does.
Row NetRounds::beside(Row row, const Work& work, std::uint64_t operations, const Bare& bare) {
    work(operations);  // connections are made, threads started
    std::vector<Slice> done;
    for (int i = 0; i < slices_; ++i) {
        Slice slice;
        slice.test_operations = operations;
        if (i % 2 != 0) slice.yardstick_ns = bare();
        warm_up(work, operations);
        slice.test_ns = rounds(work, operations);
        if (i % 2 == 0) slice.yardstick_ns = bare();
        const std::size_t count = std::min(slice.test_ns.size(), slice.yardstick_ns.size());
        slice.test_ns.resize(count);
        slice.yardstick_ns.resize(count);
        done.push_back(std::move(slice));
    }
    const Comparison comparison = compare(done, 0);
    fill(row, comparison);
    row.yardstick = Yardstick{"", comparison.yardstick_ns.median / 1e3, "us"};
    row.ratio = comparison.test_ns.median / comparison.yardstick_ns.median;
    row.bandwidth_mb_per_s = 0;
    return row;
}

// Runs the work untimed until both ranks have left the bare round trips. Where ranks share cores
// this takes longer: in the bare round trips a rank spins, the library detects that, and does not
// yield for a while.
void NetRounds::warm_up(const Work& work, std::uint64_t operations) const {
    const bool is_crowded = job_.ranks() > os::usable_cpus();
    const std::uint64_t end = os::now_ns() + (is_crowded ? 80'000'000 : 1'000'000);
    while (os::now_ns() < end) work(operations);
}

// The machine is faster or slower from one slice to the next: each is held against its own
// yardstick.
Row NetRounds::beside_stream(Row row, const Work& work, std::uint64_t operations) {
    work(operations);
    const double cipher = bare_.cipher_mb_per_s();
    std::vector<double> library_ns;
    std::vector<double> bare;
    std::vector<double> ratios;
    std::vector<double>
        shares;  // the rate as a share of that of bare datagrams and the cipher one after the other
    for (int i = 0; i < slices_; ++i) {
        std::vector<double> each_ns = rounds(work, operations);
        library_ns.insert(library_ns.end(), each_ns.begin(), each_ns.end());
        const double rate = megabytes_per_second(row.bytes, median_of(std::move(each_ns)));
        const double beside = bare_stream_mb_per_s();
        if (beside <= 0) continue;
        bare.push_back(beside);
        ratios.push_back(rate / beside);
        shares.push_back(cipher > 0 ? rate * (1 / beside + 1 / cipher) : rate / beside);
    }
    row.iterations = library_ns.size() * operations;
    row.latency_us = in_us(summarize(std::move(library_ns)));
    row.bandwidth_mb_per_s = megabytes_per_second(row.bytes, row.latency_us.median * 1e3);
    if (bare.empty()) return row;  // where cores are short nothing of it may arrive in time
    row.yardstick = Yardstick{"bare GSO+GRO stream", median_of(std::move(bare)), "MB/s"};
    row.ratio = median_of(std::move(ratios));
    if (cipher > 0) {
        row.extra.emplace_back("cipher_MB/s", cipher);
        row.extra.emplace_back("of_bare_and_cipher", median_of(std::move(shares)));
    }
    row.extra.emplace_back("datagram_bytes", static_cast<double>(bare_.datagram_bytes()));
    return row;
}

double NetRounds::bare_stream_mb_per_s() {
    Order order{order_drain, 0, {}};
    order.arguments[0] = static_cast<std::uint64_t>(far_);
    job_.give(order);
    const double rate = bare_.stream_mb_per_s(std::max(slice_ns_, bare_slice_ns_min));
    bare_.end();
    job_.join();
    return rate;
}

}  // namespace acp::bench
