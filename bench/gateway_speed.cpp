// SPDX-License-Identifier: BSD-3-Clause
// What a gateway costs over what lies beneath it: an 8-byte put and its end against a bare ping-pong of datagrams; a
// stream of puts against a bare stream by GSO and GRO, and the cipher alone; and how many small puts it carries. Two
// nodes of one rank each on loopback: threads on a core each, both polling; or, with "serial", one thread that does
// both sides' work in turn and counts its own processor time, which a busy machine disturbs less. Batches of all
// alternate.
//   gateway_speed [encrypt|auth|off] [serial] [put|stream|rate] [batches]
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "crypto/choose.hpp"
#include "gateway/own_gateway.hpp"
#include "gateway/stats_publisher.hpp"
#include "local/hazards.hpp"
#include "local/space.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/datagram_socket.hpp"

#include "claims/library_claims.hpp"
#include "engine/addresses.hpp"

namespace {

using namespace acp;

constexpr int round_trips = 2000;                       // per batch
constexpr std::uint64_t put_bytes = 1024ULL * 1024;     // of the stream
constexpr std::uint64_t stream_bytes = 64 * put_bytes;  // per batch
constexpr std::uint32_t small_puts = 400'000;           // per batch
constexpr std::uint32_t small_window = 4096;            // of them under way
constexpr std::uint32_t stream_window = 8;
constexpr std::uint32_t datagram_bytes = 8972;  // of the bare stream
constexpr std::uint64_t starter_bytes = 2ULL * 1024 * 1024;

enum Phase : std::uint32_t { gateway_phase, echo_phase, sink_phase, end_phase };

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "gateway_speed: %s\n", why.c_str());
    std::exit(1);
}

// A ball comes alone: it is taken by recvfrom, as by somebody who knows nothing of bursts.
std::uint32_t whole(std::span<const std::byte> message) noexcept {
    return static_cast<std::uint32_t>(message.size());
}

template <typename T>
T need(base::Result<T> result) {
    if (!result.is_ok()) fail(std::string(result.failure().message()));
    return std::move(result).value();
}

bool is_serial = false;

std::uint64_t clock_ns() {
    if (!is_serial) return os::now_ns();
    timespec time{};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

double seconds_since(std::uint64_t start_ns) {
    return static_cast<double>(clock_ns() - start_ns) * 1e-9;
}

// A rank that is alone on its node.
struct Rank {
    Rank(std::uint32_t node, base::Security security)
        : segment(make_segment(node)), hazards(segment, 0) {
        if (auto status = space.open(segment, 0, {}, nullptr); !status.is_ok()) {
            fail(std::string(status.message()));
        }
        space.publish_shared();
        gateway::GatewaySettings settings;
        settings.node = node;
        settings.nodes = 2;
        settings.first_process = {0, 1, 2};
        settings.bind = {engine::emulated_address(node)};
        settings.config.security = security;
        link = need(gateway::OwnGateway::open(segment, space, hazards, settings));
    }

    static node::Segment make_segment(std::uint32_t node) {
        node::Shape shape;
        shape.procs = shape.nodes = 2;
        shape.node = shape.first_process = node;
        shape.starter_bytes = starter_bytes;
        shape.datagram_bytes = 4096;
        return need(node::Segment::create(shape, acp::claims::library_claims()));
    }

    node::Segment segment;
    local::Space space;
    local::Hazards hazards;
    std::unique_ptr<gateway::OwnGateway> link;
};

os::DatagramSocket bare_socket(std::uint32_t node) {
    os::DatagramSocket::Options options;
    options.bind_to = engine::as_socket_address(engine::emulated_address(node));
    options.receive_bytes = 8U * 1024 * 1024;
    return need(os::DatagramSocket::open(options));
}

// What the two sides share.
struct Bench {
    std::atomic<std::uint32_t> phase{gateway_phase};
    std::atomic<std::uint64_t> sunk_bytes{0};
    std::array<os::DatagramSocket, 2> sockets{bare_socket(100), bare_socket(101)};
    std::function<void()> serve;  // one step of the other side, where one thread does both
    os::DatagramBatch own_batch =
        need(os::DatagramBatch::create(16, os::DatagramBatch::longest_message, whole));

    void let_other_side() {
        if (serve) serve();
    }
};

// The other side: polls its gateway, echoes, or swallows.
class Server {
public:
    Server(Bench& bench, Rank& rank) : bench_(bench), rank_(rank) {}

    // false: the end.
    bool step() {
        switch (bench_.phase.load(std::memory_order_relaxed)) {
            case gateway_phase:
                rank_.link->poll(ended_);
                return true;
            case echo_phase:
                echo();
                return true;
            case sink_phase:
                swallow();
                return true;
            default:
                return false;
        }
    }

private:
    void echo() {
        os::DatagramSocket& socket = bench_.sockets[1];
        if (socket.receive_burst(batch_, 1) == 0) return;
        batch_.for_each([&](const os::SocketAddress& from, std::span<std::byte> datagram) {
            (void)socket.send_burst(from, datagram, static_cast<std::uint32_t>(datagram.size()),
                                    false);
        });
    }

    void swallow() {
        if (bench_.sockets[1].receive_burst(batch_) == 0) return;
        std::uint64_t bytes = 0;
        batch_.for_each([&](const os::SocketAddress&, std::span<std::byte> datagram) {
            bytes += datagram.size();
        });
        bench_.sunk_bytes.fetch_add(bytes, std::memory_order_release);
    }

    Bench& bench_;
    Rank& rank_;
    std::vector<remote::Ended> ended_;
    os::DatagramBatch batch_ =
        need(os::DatagramBatch::create(16, os::DatagramBatch::longest_message, whole));
};

// Microseconds of one round trip.
double bare_round_trip(Bench& bench) {
    bench.phase.store(echo_phase);
    std::array<std::byte, 64> message{};
    std::uint64_t start = 0;
    for (int i = -50; i < round_trips; ++i) {
        if (i == 0) start = clock_ns();
        (void)bench.sockets[0].send_burst(bench.sockets[1].address(), message, 64, false);
        do bench.let_other_side();
        while (bench.sockets[0].receive_burst(bench.own_batch, 1) == 0);
    }
    return seconds_since(start) * 1e6 / round_trips;
}

double put_round_trip(Bench& bench, Rank& rank, const memory::Command& put) {
    bench.phase.store(gateway_phase);
    std::vector<remote::Ended> ended;
    std::uint64_t start = 0;
    for (int i = -50; i < round_trips; ++i) {
        if (i == 0) start = clock_ns();
        if (!rank.link->submit(2, put)) fail("a put found no room");
        rank.link->flush();
        while (ended.empty()) {
            bench.let_other_side();
            rank.link->poll(ended);
        }
        if (ended[0].code != base::Code::ok) fail("a put failed");
        ended.clear();
    }
    return seconds_since(start) * 1e6 / round_trips;
}

// Bytes per second.
double bare_stream(Bench& bench) {
    bench.sunk_bytes.store(0);
    bench.phase.store(sink_phase);
    constexpr std::uint32_t per_burst = 65507 / datagram_bytes;
    constexpr std::uint64_t ahead_bytes = 2ULL * 1024 * 1024;  // fits the receive buffer
    std::vector<std::byte> burst(std::size_t{per_burst} * datagram_bytes);
    std::uint64_t sent = 0;
    const std::uint64_t start = clock_ns();
    while (sent < stream_bytes) {
        bench.let_other_side();
        if (sent - bench.sunk_bytes.load(std::memory_order_acquire) > ahead_bytes) continue;
        const os::Sent result =
            bench.sockets[0].send_burst(bench.sockets[1].address(), burst, datagram_bytes, false);
        sent += std::uint64_t{result.datagrams} * datagram_bytes;
        if (seconds_since(start) > 5) fail("the bare stream lost datagrams");
    }
    while (bench.sunk_bytes.load(std::memory_order_acquire) < sent) {
        bench.let_other_side();
        if (seconds_since(start) > 5) fail("the bare stream lost datagrams");
    }
    return static_cast<double>(sent) / seconds_since(start);
}

// Runs `total` puts with `window` under way. Seconds.
double run_puts(
    Bench& bench, Rank& rank, memory::Command put, std::uint32_t total, std::uint32_t window) {
    bench.phase.store(gateway_phase);
    std::vector<remote::Ended> ended;
    std::uint32_t submitted = 0;
    std::uint32_t done = 0;
    const memory::GlobalAddress target = put.target;
    const std::uint64_t places = starter_bytes / put.bytes;
    const std::uint64_t start = clock_ns();
    while (done < total) {
        for (int i = 0; i < 256 && submitted < total && submitted - done < window; ++i) {
            put.target = target + submitted % places * put.bytes;
            if (!rank.link->submit(2ULL * (submitted + 1), put)) break;
            ++submitted;
        }
        rank.link->poll(ended);
        bench.let_other_side();
        for (const remote::Ended& one : ended) {
            if (one.code != base::Code::ok) fail("a put failed");
            done += one.count;
        }
        ended.clear();
    }
    return seconds_since(start);
}

// Bytes per second of sealing datagrams as long as the stream's.
double cipher_stream() {
    auto suite =
        need(crypto::choose(crypto::CipherWish::automatic, crypto::BackendWish::automatic));
    std::array<std::byte, 32> key{};
    auto aead = suite->make(std::span(key).first(suite->key_bytes()));
    std::vector<std::byte> plain(datagram_bytes);
    std::vector<std::byte> sealed(datagram_bytes + datagram::tag_bytes);
    const std::array<std::byte, 16> header{};
    datagram::Nonce nonce{};
    constexpr int count = 3000;
    const std::uint64_t start = clock_ns();
    for (int i = 0; i < count; ++i) {
        std::memcpy(nonce.data(), &i, sizeof i);
        aead->seal(nonce, header, plain, sealed);
    }
    return static_cast<double>(count) * datagram_bytes / seconds_since(start);
}

double median(std::vector<double> sample) {
    std::sort(sample.begin(), sample.end());
    return sample[sample.size() / 2];
}

void print(const char* name, const std::vector<double>& sample, double unit, const char* text) {
    std::vector<double> sorted = sample;
    std::sort(sorted.begin(), sorted.end());
    std::printf("%-28s %8.2f %s   (%.2f .. %.2f)\n", name, sorted[sorted.size() / 2] / unit, text,
                sorted[sorted.size() / 4] / unit, sorted[sorted.size() * 3 / 4] / unit);
}

// What the gateway says of itself after all.
void print_stats(Rank& rank) {
    const auto mapped =
        need(os::Mapping::map_shared(rank.link->stats_fd(), sizeof(gateway::StatsBlock)));
    const auto& block = *reinterpret_cast<const gateway::StatsBlock*>(mapped.data());
    rank.link->publish_stats();
    std::vector<remote::Ended> ended;
    rank.link->poll(ended);
    gateway::StatsValues values;
    if (!gateway::read_stats(block, values)) fail("the counters cannot be read");
    const auto& transport = values.tables.transport;
    const auto& peer = values.peers[0];
    std::printf(
        "turns %llu, datagrams %llu in %llu calls, received %llu in %llu calls, resent %llu, "
        "drops %llu, rtt %llu ns (least %llu), window %llu bytes\n",
        static_cast<unsigned long long>(values.turns),
        static_cast<unsigned long long>(transport[0]),
        static_cast<unsigned long long>(transport[2]),
        static_cast<unsigned long long>(transport[3]),
        static_cast<unsigned long long>(transport[5]),
        static_cast<unsigned long long>(peer.retransmitted),
        static_cast<unsigned long long>(values.receive_drops),
        static_cast<unsigned long long>(peer.rtt_ns),
        static_cast<unsigned long long>(peer.minimum_rtt_ns),
        static_cast<unsigned long long>(peer.window_bytes));
}

// What the command line asks for.
struct Wish {
    base::Security security = base::Security::encrypt;
    int batches = 20;
    bool has_put = true;
    bool has_stream = true;
    bool has_rate = true;
};

Wish read_arguments(std::span<char*> arguments) {
    Wish wish;
    for (const std::string_view word : arguments) {
        if (word == "encrypt") {
            wish.security = base::Security::encrypt;
        } else if (word == "auth") {
            wish.security = base::Security::authenticate;
        } else if (word == "off") {
            wish.security = base::Security::off;
        } else if (word == "serial") {
            is_serial = true;
        } else if (word == "put" || word == "stream" || word == "rate") {
            wish.has_put = word == "put";
            wish.has_stream = word == "stream";
            wish.has_rate = word == "rate";
        } else {
            wish.batches = std::max(1, std::atoi(std::string(word).c_str()));
        }
    }
    return wish;
}

void measure(const Wish& wish) {
    Bench bench;
    Rank here(0, wish.security);
    Rank there(1, wish.security);
    const std::vector<std::vector<datagram::Address>> peers{
        {here.link->addresses().begin(), here.link->addresses().end()},
        {there.link->addresses().begin(), there.link->addresses().end()}};
    for (Rank* rank : {&here, &there}) {
        if (auto status = rank->link->set_peers(peers); !status.is_ok()) {
            fail(std::string(status.message()));
        }
    }
    std::thread other;
    Server server(bench, there);
    if (is_serial) {
        bench.serve = [&server] { (void)server.step(); };
    } else {
        other = std::thread([&server] {
            (void)os::pin_to_cpu(1);
            while (server.step()) {
            }
        });
        (void)os::pin_to_cpu(0);
    }
    memory::Command put;
    put.target = there.space.starter_address(1);
    put.source = here.space.starter_address(0);
    put.bytes = 8;
    memory::Command long_put = put;
    long_put.bytes = put_bytes;
    std::array<std::vector<double>, 6> samples;
    auto& [bare_trips, put_trips, bare_streams, put_streams, ciphers, rates] = samples;
    (void)run_puts(bench, here, long_put, 200, stream_window);  // the path's length is found
    for (int batch = 0; batch < wish.batches; ++batch) {
        if (wish.has_put) {
            bare_trips.push_back(bare_round_trip(bench));
            put_trips.push_back(put_round_trip(bench, here, put));
        }
        if (wish.has_stream) {
            bare_streams.push_back(bare_stream(bench));
            const auto puts = static_cast<std::uint32_t>(stream_bytes / put_bytes);
            put_streams.push_back(static_cast<double>(stream_bytes) /
                                  run_puts(bench, here, long_put, puts, stream_window));
            ciphers.push_back(cipher_stream());
        }
        if (wish.has_rate) {
            rates.push_back(small_puts / run_puts(bench, here, put, small_puts, small_window));
        }
    }
    bench.phase.store(end_phase);
    if (other.joinable()) other.join();
    std::printf("%s, %s, %d batches, median (quartiles)\n", here.link->security_name().c_str(),
                is_serial ? "processor time of one thread" : "a thread on each side", wish.batches);
    if (wish.has_put) {
        print("bare round trip", bare_trips, 1, "us");
        print("8 B put and its end", put_trips, 1, "us");
        std::printf("put / bare round trip %.2f\n", median(put_trips) / median(bare_trips));
    }
    if (wish.has_stream) {
        print("bare stream, GSO and GRO", bare_streams, 1e9, "GB/s");
        print("cipher alone", ciphers, 1e9, "GB/s");
        print("stream of 1 MiB puts", put_streams, 1e9, "GB/s");
        // One thread seals and opens; two do so at once.
        const double sealings = is_serial ? 2 : 1;
        const double in_turn = 1 / (1 / median(bare_streams) + sealings / median(ciphers));
        std::printf("stream / (bare and cipher in turn) %.2f\n", median(put_streams) / in_turn);
    }
    if (wish.has_rate) print("8 B puts", rates, 1e6, "M/s");
    print_stats(here);
}

}  // namespace

int main(int argc, char** argv) {
    const Wish wish = read_arguments(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    std::thread(measure, wish).join();  // pins itself
    return 0;
}
