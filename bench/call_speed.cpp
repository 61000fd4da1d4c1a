// SPDX-License-Identifier: BSD-3-Clause
// How long a call over the call ring takes, as a multiple of what lies beneath: two words, each on a line of its
// own, that two polling threads on a core each write in turn (PP). Rows take turns in short batches, so that a
// noisy machine disturbs all alike. Medians and quartiles; ratios are of the batches that stood side by side.
//   call_speed [batches]
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "call/arguments.hpp"
#include "call/function_call.hpp"
#include "call/ring.hpp"

namespace {

using namespace acp;
using namespace acp::call;

constexpr std::uint32_t slot_count = 256;
constexpr std::uint64_t calls = 2000;  // per batch

enum Phase : std::uint32_t { ping_phase, serve_phase, end_phase };

struct Board {
    alignas(128) std::atomic<std::uint64_t> ping;
    alignas(128) std::atomic<std::uint64_t> pong;
    alignas(128) std::atomic<std::uint32_t> phase;
    std::atomic<bool> is_serving;
    alignas(128) std::byte ring[ring_bytes(slot_count)];
    alignas(128) std::byte staging[4096];
};

[[gnu::noinline]] std::uint64_t add(std::uint64_t a, std::uint64_t b) {
    return a + b;
}

// The server's thread, which also answers the yardstick.
void serve(Board& board) {
    (void)os::pin_to_cpu(1);
    RingServer<> server(RingView<>::of(board.ring, slot_count));
    (void)server.begin();
    board.is_serving.store(true);
    const ServerMemory memory{board.staging, {}};
    std::uint64_t seen = 0;
    FunctionArguments arguments;
    for (;;) {
        if (const auto call = server.next()) {
            const CallShape shape = CallShape::of(call->shape());
            std::array<std::uint64_t, slot_words> words{};
            for (std::uint32_t i = 0; i < std::min<std::uint32_t>(shape.count, slot_words); ++i)
                words[i] = call->word(i);
            const bool is_good = decode_arguments(shape, words, memory, arguments).is_ok();
            const std::uint64_t result =
                is_good ? call_function(call->target(), arguments, shape.result) : 0;
            (void)server.answer(*call, is_good ? CallEnd::returned : CallEnd::refused, result);
            continue;
        }
        const std::uint32_t phase = board.phase.load(std::memory_order_relaxed);
        if (phase == end_phase) return;
        if (phase != ping_phase) continue;
        const std::uint64_t ping = board.ping.load(std::memory_order_acquire);
        if (ping != seen) board.pong.store(seen = ping, std::memory_order_release);
    }
}

double ns_since(std::uint64_t start, std::uint64_t count) {
    return static_cast<double>(os::ticks() - start) / os::ticks_per_ns() /
           static_cast<double>(count);
}

double ping_pong(Board& board) {
    board.phase.store(ping_phase);
    const std::uint64_t start = os::ticks();
    for (std::uint64_t i = 0; i < calls; ++i) {
        const std::uint64_t next = board.ping.load(std::memory_order_relaxed) + 1;
        board.ping.store(next, std::memory_order_release);
        while (board.pong.load(std::memory_order_acquire) != next) {
        }
    }
    const double ns = ns_since(start, calls);
    board.phase.store(serve_phase);
    return ns;
}

void expect(bool is_right) {
    if (is_right) return;
    std::fprintf(stderr, "call_speed: a call has returned another value than its function\n");
    std::exit(1);
}

// Calls with up to `depth` in flight.
double call_batch(RingClient<>& client, const CallArguments& arguments, std::uint64_t depth) {
    const auto function = reinterpret_cast<std::uintptr_t>(&add);
    const std::uint64_t start = os::ticks();
    std::uint64_t posted = 0;
    for (std::uint64_t taken = 0; taken < calls;) {
        while (posted < calls && posted - taken < depth) {
            (void)client.post(arguments.encode(function, 0, nullptr, 0));
            ++posted;
        }
        // With several in flight the first half is taken at once, so that the lines move in both
        // directions at the same time.
        const std::uint64_t until = std::min(posted, taken + std::max<std::uint64_t>(1, depth / 2));
        while (taken < until) {
            if (const auto answer = client.take()) {
                expect(answer->outcome == CallEnd::returned && answer->result == 42);
                ++taken;
            }
        }
    }
    return ns_since(start, calls);
}

double quantile(std::vector<double> sample, double share) {
    std::sort(sample.begin(), sample.end());
    return sample[static_cast<std::size_t>(share * static_cast<double>(sample.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
    const int batches = argc > 1 ? std::atoi(argv[1]) : 101;
    static Board board;
    // The server pins itself first: a pinned thread hands its one CPU down to threads it starts.
    std::thread server(serve, std::ref(board));
    while (!board.is_serving.load()) os::yield_cpu();
    (void)os::pin_to_cpu(0);
    RingClient<> client(RingView<>::of(board.ring, slot_count));
    CallArguments arguments;
    expect(arguments.set_integer(0, 40).is_ok() && arguments.set_integer(1, 2).is_ok());
    constexpr std::uint64_t depths[] = {1, 4, 16, 64, 256};
    std::vector<double> pings;
    std::vector<std::vector<double>> times(std::size(depths)), ratios(std::size(depths));
    for (int batch = 0; batch < batches; ++batch) {
        pings.push_back(ping_pong(board));
        for (std::size_t i = 0; i < std::size(depths); ++i) {
            times[i].push_back(call_batch(client, arguments, depths[i]));
            ratios[i].push_back(times[i].back() / pings.back());
        }
    }
    board.phase.store(end_phase);
    server.join();
    std::printf("PP %.0f ns (%.0f-%.0f); %d batches of %d calls\n", quantile(pings, 0.5),
                quantile(pings, 0.25), quantile(pings, 0.75), batches, static_cast<int>(calls));
    for (std::size_t i = 0; i < std::size(depths); ++i) {
        std::printf("call, %3d in flight: %6.1f ns (%.1f-%.1f) = %.2f PP (%.2f-%.2f), %.1f M/s\n",
                    static_cast<int>(depths[i]), quantile(times[i], 0.5), quantile(times[i], 0.25),
                    quantile(times[i], 0.75), quantile(ratios[i], 0.5), quantile(ratios[i], 0.25),
                    quantile(ratios[i], 0.75), 1e3 / quantile(times[i], 0.5));
    }
    return 0;
}
