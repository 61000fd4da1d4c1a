// SPDX-License-Identifier: BSD-3-Clause
// How long an 8-byte put, get and fetch_add over the mailboxes take, as multiples of what lies beneath: a cache
// line that goes to the other core and back. Two ranks, threads on a core each, both polling; the batches
// of line and mailbox alternate, so that a noisy machine disturbs both alike.
//   mailbox_latency [mpsc|pairs|bitmap|udp]...
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/config.hpp"
#include "local/registry.hpp"
#include "mailbox/forwarder.hpp"
#include "node/mailbox_layout.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "claims/library_claims.hpp"

namespace {

using namespace acp;

constexpr int batches_shared = 200;
constexpr int batches_udp = 15;
constexpr int operations = 200;  // per batch

enum Phase : std::uint32_t { line_phase, mailbox_phase, end_phase };

// In the starter memory of rank 0.
struct Board {
    alignas(64) std::atomic<std::uint32_t> phase;
    alignas(64) std::atomic<std::uint64_t> line;
    alignas(64) std::atomic<std::uint64_t> key;
};

struct Rank {
    Rank(const node::Segment& segment, std::uint32_t slot) : hazards(segment, slot), memory(64) {
        check(space.open(segment, slot, {}, nullptr));
        space.publish_shared();
        auto opened = mailbox::Port::open(segment, slot);
        if (!opened.is_ok()) check(std::move(opened).failure());
        port = std::move(opened).value();
        registry = std::make_unique<local::Registry>(space, hazards);
        forwarder = std::make_unique<mailbox::Forwarder>(space, hazards, *port, 1);
        auto added = registry->add(memory.data(), memory.size() * sizeof(std::uint64_t), 0);
        if (!added.is_ok()) check(std::move(added).failure());
        key = added.value();
    }

    static void check(const base::Status& status) {
        if (!status.is_ok()) {
            std::fprintf(stderr, "mailbox_latency: %s\n", std::string(status.message()).c_str());
            std::exit(1);
        }
    }

    local::Space space;
    local::Hazards hazards;
    std::vector<std::uint64_t> memory;
    std::unique_ptr<mailbox::Port> port;
    std::unique_ptr<local::Registry> registry;
    std::unique_ptr<mailbox::Forwarder> forwarder;
    local::Key key = 0;
};

void answer(const node::Segment& segment, Board& board) {
    (void)os::pin_to_cpu(1);
    Rank rank(segment, 1);
    board.key.store(rank.key);
    std::uint64_t seen = board.line.load();
    for (std::uint32_t phase = line_phase; phase != end_phase; phase = board.phase.load()) {
        if (phase == mailbox_phase) {
            rank.forwarder->poll();
            continue;
        }
        const std::uint64_t now = board.line.load(std::memory_order_acquire);
        if (now != seen) {
            seen = now + 1;
            board.line.store(seen, std::memory_order_release);
        }
    }
}

double line_batch(Board& board) {
    board.phase.store(line_phase);
    const std::uint64_t start = os::ticks();
    for (int i = 0; i < operations; ++i) {
        const std::uint64_t asked = board.line.load(std::memory_order_relaxed) + 1;
        board.line.store(asked, std::memory_order_release);
        while (board.line.load(std::memory_order_acquire) == asked) {
        }
    }
    return static_cast<double>(os::ticks() - start) / os::ticks_per_ns() / operations;
}

double mailbox_batch(Board& board, Rank& rank, const memory::Command& command) {
    board.phase.store(mailbox_phase);
    std::uint64_t start = 0;
    for (int i = -10; i < operations;
         ++i) {  // the first few wait for the other side's change of phase
        if (i == 0) start = os::ticks();
        if (!rank.forwarder->submit(1, command)) std::exit(1);
        while (rank.forwarder->poll(), rank.forwarder->outstanding() != 0) {
        }
        const std::span<const mailbox::ForwardedEnd> ended = rank.forwarder->ended();
        if (ended.size() != 1 || ended[0].code != base::Code::ok) {
            std::fprintf(stderr, "mailbox_latency: %s\n",
                         ended.empty() ? "?" : ended[0].message.c_str());
            std::exit(1);
        }
        rank.forwarder->forget_ended();
    }
    return static_cast<double>(os::ticks() - start) / os::ticks_per_ns() / operations;
}

// Quartiles of a sample.
std::array<double, 3> quartiles(std::vector<double> sample) {
    std::sort(sample.begin(), sample.end());
    return {sample[sample.size() / 4], sample[sample.size() / 2], sample[sample.size() * 3 / 4]};
}

void measure(std::string_view kind) {
    node::Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = 2;
    shape.starter_bytes = 4096;
    const bool is_udp = kind == "udp";
    shape.intranode =
        static_cast<std::uint32_t>(is_udp ? base::IntraNode::udp : base::IntraNode::mailbox);
    shape.mailbox_kind = static_cast<std::uint32_t>(kind == "pairs"    ? base::MailboxKind::pairs
                                                    : kind == "bitmap" ? base::MailboxKind::bitmap
                                                                       : base::MailboxKind::mpsc);
    shape.datagram_bytes = is_udp ? node::udp_datagram_bytes : node::auto_datagram_bytes;
    auto made = node::Segment::create(shape, acp::claims::library_claims());
    if (!made.is_ok()) Rank::check(std::move(made).failure());
    const node::Segment segment = std::move(made).value();
    auto& board = *reinterpret_cast<Board*>(segment.starter(0));
    std::thread other([&] { answer(segment, board); });
    (void)os::pin_to_cpu(0);
    Rank rank(segment, 0);
    while (board.key.load() == 0) os::yield_cpu();
    const std::uint64_t theirs = board.key.load();
    const std::uint64_t mine = rank.key;
    using memory::Operation;
    const std::array<memory::Command, 3> commands{
        memory::Command{Operation::copy, 0, theirs, mine, 8, 0, 0},
        memory::Command{Operation::copy, 0, mine, theirs, 8, 0, 0},
        memory::Command{Operation::add, 8, mine, theirs, 8, 1, 0}};
    const int batches = is_udp ? batches_udp : batches_shared;
    std::vector<double> lines;
    std::array<std::vector<double>, 3> times;
    for (int batch = 0; batch < batches; ++batch) {
        lines.push_back(line_batch(board));
        for (std::size_t which = 0; which < commands.size(); ++which) {
            times[which].push_back(mailbox_batch(board, rank, commands[which]));
        }
    }
    board.phase.store(end_phase);
    other.join();
    const double line = quartiles(lines)[1];
    std::printf("%-7s line %4.0f ns;", std::string(kind).c_str(), line);
    constexpr std::array names{"put", "get", "fetch_add"};
    for (std::size_t which = 0; which < commands.size(); ++which) {
        const auto [low, middle, high] = quartiles(times[which]);
        std::printf("  %s %5.0f ns = %.2f lines (%.2f-%.2f)", names[which], middle, middle / line,
                    low / line, high / line);
    }
    std::printf("   [%d batches of %d, median and quartiles]\n", batches, operations);
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string_view> kinds(argv + 1, argv + argc);
    if (kinds.empty()) kinds = {"mpsc", "pairs", "bitmap", "udp"};
    for (const std::string_view kind : kinds) {
        std::thread(measure, kind).join();  // pins itself: a fresh thread each time
    }
    return 0;
}
