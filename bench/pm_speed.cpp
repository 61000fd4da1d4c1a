// SPDX-License-Identifier: BSD-3-Clause
// How long a PM message takes, half a round trip, beside two bare copies through memory that both
// ranks have mapped, in the same empty loop, or, between nodes, beside a put with a signal; and
// beside the scheme of paper 001 (paper_messages.hpp). Batches of all alternate, so that a noisy
// machine disturbs all alike. How many messages of 8 bytes all other ranks together bring to rank 0
// in a second, by both schemes, and, on one node, through bare lines with a flag each, as many for
// each rank as a ring of PM has. And how long it takes to lock memory that is locked already, and
// memory that is not.
//   acprun -n 2 [--nodes 2] pm_speed; acprun -n 9 pm_speed
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <vector>

#include <acp.h>

#include "paper_messages.hpp"

namespace {

constexpr int trips = 300;
constexpr std::uint64_t burst_messages = 2'000'000;
constexpr std::uint64_t burst_messages_far = 100'000;
constexpr std::uint64_t bytes_most = 4096;

struct alignas(64) BareSlot {
    std::atomic<std::uint64_t> flag;
    char payload[bytes_most];
};

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

void must(bool is_so) {
    if (is_so) return;
    std::fprintf(stderr, "pm_speed: %s\n", acp_error_message());
    std::exit(1);
}

acp_pm_t pm = ACP_PM_NULL;
std::array<char, bytes_most> content{};

void send(int to, std::size_t bytes) {
    void* buffer = nullptr;
    int has_room = 0;
    while (has_room == 0) has_room = acp_get_buffer_pm(pm, to, bytes, &buffer);
    must(has_room == 1);
    std::memcpy(buffer, content.data(), bytes);
    must(acp_send_pm(pm) == 0);
}

void receive() {
    const void* data = nullptr;
    std::size_t bytes = 0;
    int has_come = 0;
    while (has_come == 0) has_come = acp_receive_pm(pm, &data, &bytes, nullptr);
    must(has_come == 1);
    std::memcpy(content.data(), data, bytes);
    must(acp_release_pm(pm) == 0);
}

// By the scheme of the paper. The gateways of both nodes, or the other ranks, may need this CPU.
constexpr int polls_before_yield = 16;

void send(acp::bench::PaperMessages& by, int to, std::size_t bytes) {
    for (int polls = 1; !by.try_send(to, content.data(), bytes); ++polls)
        if (polls % polls_before_yield == 0) sched_yield();
}

void receive(acp::bench::PaperMessages& by) {
    for (int polls = 1; by.try_receive(content.data()) == 0; ++polls)
        if (polls % polls_before_yield == 0) sched_yield();
}

// By two copies: [0] is written by rank 0, [1] by rank 1.
struct Bare {
    BareSlot* slots = nullptr;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;

    void send(int own, std::size_t bytes) {
        std::memcpy(slots[own].payload, content.data(), bytes);
        slots[own].flag.store(++sent, std::memory_order_release);  // partner: receive()
    }

    void receive(int other, std::size_t bytes) {
        ++received;
        while (slots[other].flag.load(std::memory_order_acquire) != received) {
        }
        std::memcpy(content.data(), slots[other].payload, bytes);
    }
};

// A line of what the bare burst sends, and the lines of one sender, in memory of rank 0.
struct alignas(64) BareLine {
    std::atomic<std::uint64_t> flag;  // 0: it may be written
    std::uint64_t payload;
};

struct BareLane {
    static constexpr std::uint64_t lines_count = 512;

    alignas(64) std::atomic<std::uint64_t> credit;  // how many the receiver has taken
    BareLine lines[lines_count];

    // sent  before this one
    void send(std::uint64_t sent) {
        // acquire: the lines may be written; partner: receive()
        for (int looks = 1; sent - credit.load(std::memory_order_acquire) >= lines_count; ++looks)
            if (looks % looks_before_yield == 0) sched_yield();
        BareLine& line = lines[sent % lines_count];
        std::memcpy(&line.payload, content.data(), sizeof line.payload);
        line.flag.store(1, std::memory_order_release);  // partner: receive()
    }

    // taken  before this one. Whether there was one.
    bool receive(std::uint64_t taken) {
        BareLine& line = lines[taken % lines_count];
        if (line.flag.load(std::memory_order_acquire) == 0) return false;
        std::memcpy(content.data(), &line.payload, sizeof line.payload);
        line.flag.store(0, std::memory_order_relaxed);
        if ((taken + 1) % (lines_count / 4) == 0)
            credit.store(taken + 1, std::memory_order_release);  // partner: send()
        return true;
    }

    static constexpr int looks_before_yield = 64;
};

// By a put with a signal to the slot at the start of the other one's starter memory.
struct Put {
    BareSlot* own;
    acp_ga_t other;
    std::uint64_t received = 0;

    void send(std::size_t bytes) const {
        const acp_handle_t handle = acp_put_signal(
            other + offsetof(BareSlot, payload), content.data(), bytes, other, 1, ACP_HANDLE_NULL);
        must(handle != ACP_HANDLE_NULL);
        acp_complete(handle);
    }

    void receive(std::size_t bytes) {
        ++received;
        // The gateways of both nodes may need this CPU.
        while (own->flag.load(std::memory_order_acquire) != received) sched_yield();
        std::memcpy(content.data(), own->payload, bytes);
    }
};

template <typename Send, typename Receive>
double half_trip(int rank, const Send& send_one, const Receive& receive_one) {
    const auto begin = Clock::now();
    for (int i = 0; i < trips; ++i) {
        if (rank == 0) send_one();
        receive_one();
        if (rank != 0) send_one();
    }
    return ns_since(begin) / trips / 2;
}

bool is_one_node() {
    for (int rank = 0; rank < acp_procs(); ++rank)
        if (acp_query_address(acp_query_starter_ga(rank)) == nullptr) return false;
    return true;
}

// Beside another way.
template <typename Send, typename Receive>
void compare(acp::bench::PaperMessages& paper,
             int rank,
             std::size_t bytes,
             int rounds,
             const char* other_name,
             const Send& send_otherwise,
             const Receive& receive_otherwise) {
    std::vector<double> ours;
    std::vector<double> others;
    std::vector<double> ratios;
    std::vector<double> papers;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(half_trip(
            rank, [&] { send(1 - rank, bytes); }, [] { receive(); }));
        papers.push_back(half_trip(
            rank, [&] { send(paper, 1 - rank, bytes); }, [&] { receive(paper); }));
        others.push_back(half_trip(rank, send_otherwise, receive_otherwise));
        ratios.push_back(ours.back() / others.back());
    }
    if (rank != 0) return;
    std::printf(
        "%5zu B: %9.1f ns half a round trip, %s %9.1f, ratio %.2f; the paper's scheme %9.1f\n",
        bytes, median(ours), other_name, median(others), median(ratios), median(papers));
    std::fflush(stdout);
}

void compare_all(acp::bench::PaperMessages& paper, int rank) {
    constexpr int rounds_near = 100;
    constexpr int rounds_far = 10;
    Bare bare{static_cast<BareSlot*>(acp_query_address(acp_query_starter_ga(0)))};
    Put put{static_cast<BareSlot*>(acp_query_address(acp_query_starter_ga(rank))),
            acp_query_starter_ga(1 - rank)};
    for (const std::size_t bytes : {8U, 64U, 1024U, 4096U}) {
        if (is_one_node()) {
            compare(
                paper, rank, bytes, rounds_near, "two bare copies", [&] { bare.send(rank, bytes); },
                [&] { bare.receive(1 - rank, bytes); });
        } else {
            compare(
                paper, rank, bytes, rounds_far, "a put", [&] { put.send(bytes); },
                [&] { put.receive(bytes); });
        }
    }
}

// Of messages from each other rank to rank 0.
template <typename Send, typename Receive>
void burst(const char* name, std::uint64_t each, const Send& send_one, const Receive& receive_all) {
    must(acp_sync() == 0);
    if (acp_rank() != 0) {
        for (std::uint64_t i = 0; i < each; ++i) send_one(i);
    } else {
        const std::uint64_t all = each * static_cast<std::uint64_t>(acp_procs() - 1);
        const auto begin = Clock::now();
        receive_all(all);
        std::printf("burst of 8 B from %d ranks, %s: %.1f million a second\n", acp_procs() - 1,
                    name, static_cast<double>(all) / ns_since(begin) * 1e3);
        std::fflush(stdout);
    }
    must(acp_sync() == 0);
}

void burst_by_pm(std::uint64_t each) {
    burst(
        "one pool", each,
        [&](std::uint64_t sent) {
            send(0, 8);
            if (sent + 1 < each) return;
            while (acp_test_sent_pm(pm) == 0) {
            }
        },
        [](std::uint64_t all) {
            for (std::uint64_t i = 0; i < all; ++i) receive();
        });
}

void burst_by_paper(acp::bench::PaperMessages& paper, std::uint64_t each) {
    burst(
        "the paper's scheme", each,
        [&](std::uint64_t sent) {
            send(paper, 0, 8);
            if (sent + 1 == each) must(paper.flush());
        },
        [&](std::uint64_t all) {
            for (std::uint64_t i = 0; i < all; ++i) receive(paper);
        });
}

// By a lane in memory of rank 0 for each other rank. All ranks are of one node.
void burst_bare(std::uint64_t each) {
    const auto senders = static_cast<std::size_t>(acp_procs() - 1);
    auto* const told = static_cast<acp_ga_t*>(acp_query_address(acp_query_starter_ga(0)));
    if (acp_rank() == 0) {
        *told = acp_aligned_alloc(alignof(BareLane), senders * sizeof(BareLane), 0);
        must(*told != ACP_GA_NULL);
        std::memset(acp_query_address(*told), 0, senders * sizeof(BareLane));
    }
    must(acp_sync() == 0);
    auto* const lanes = static_cast<BareLane*>(acp_query_address(*told));
    burst(
        "bare lines", each, [&](std::uint64_t sent) { lanes[acp_rank() - 1].send(sent); },
        [&](std::uint64_t all) {
            constexpr int in_a_row = 16;
            std::vector<std::uint64_t> taken(senders);
            int failed = 0;
            for (std::size_t lane = 0; all > 0; lane = (lane + 1) % senders) {
                const std::uint64_t before = all;
                for (int i = 0; i < in_a_row && lanes[lane].receive(taken[lane]); ++i, --all)
                    ++taken[lane];
                failed = all == before ? failed + 1 : 0;
                if (failed > BareLane::looks_before_yield) sched_yield();
            }
        });
    if (acp_rank() == 0) must(acp_free(*told) == 0);
}

// Of memory that is locked already, and of pages that are not.
void lock_memory() {
    constexpr std::size_t pages = 60;
    constexpr int times = 10000;
    constexpr std::size_t bytes_each = 4096;
    std::vector<char> memory((2 * pages + 1) * bytes_each);
    acp_ga_t first = ACP_GA_NULL;
    const auto lock_at = [&](std::size_t page) {
        must(acp_lock_pm(pm, memory.data() + 2 * page * bytes_each, bytes_each / 2, &first) == 0);
        must(acp_unlock_pm(pm, first) == 0);
    };
    auto begin = Clock::now();
    for (std::size_t page = 0; page < pages; ++page) lock_at(page);
    const double unknown_ns = ns_since(begin) / pages;
    acp_ga_t kept = ACP_GA_NULL;
    must(acp_lock_pm(pm, memory.data(), bytes_each, &kept) == 0);
    begin = Clock::now();
    for (int i = 0; i < times; ++i) lock_at(0);
    std::printf("lock and unlock of 2 KiB: %.0f ns where it is locked, %.0f ns where it is not\n",
                ns_since(begin) / times, unknown_ns);
    must(acp_unlock_pm(pm, kept) == 0);
}

}  // namespace

int main(int argc, char** argv) {
    must(acp_init(&argc, &argv) == 0);
    const int rank = acp_rank();
    pm = acp_open_pm(0);
    acp::bench::PaperMessages paper;
    must(pm != ACP_PM_NULL && paper.is_open());
    std::memset(acp_query_address(acp_query_starter_ga(rank)), 0, sizeof(acp_ga_t));
    must(acp_sync() == 0);
    if (acp_procs() == 2) compare_all(paper, rank);
    for (int i = 0; i < 3 && acp_procs() > 1; ++i) {
        const std::uint64_t each = (is_one_node() ? burst_messages : burst_messages_far) /
                                   static_cast<std::uint64_t>(acp_procs() - 1);
        burst_by_pm(each);
        if (is_one_node()) burst_bare(each);
        burst_by_paper(paper, each);
    }
    if (rank == 0) lock_memory();
    must(acp_close_pm(pm) == 0 && paper.close());
    must(acp_finalize() == 0);
    return 0;
}
