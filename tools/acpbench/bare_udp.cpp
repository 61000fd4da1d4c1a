// SPDX-License-Identifier: BSD-3-Clause
// Sockets are this program's own, so that nothing of the library is between it and the kernel but
// the bursts of os/datagram_socket, which are a system call each.
#include "bare_udp.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/config.hpp"
#include "crypto/choose.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/interfaces.hpp"
#include "os/process.hpp"

#include "system.hpp"

namespace acp::bench {

namespace {

// First byte of a datagram.
constexpr std::byte kind_ball{1};
constexpr std::byte kind_payload{2};
constexpr std::byte kind_count{3};  // then 8 bytes: payload bytes that came so far
constexpr std::byte kind_end{4};

constexpr std::size_t small_datagram = 64;  // about what a small put makes with its headers
constexpr std::uint32_t burst_bytes_max = 65'507;
constexpr std::uint32_t receive_bytes = 8U << 20;
constexpr std::uint64_t patience_ns = 200'000'000;  // bare datagrams may be lost
constexpr int receives_before_yield = 2000;         // the other rank may share this rank's core
// copies of the datagram that ends a test: at least one of them arrives
constexpr std::uint32_t ends = 8;

// The bytes that the receiver has acknowledged, and the time at which that datagram arrived.
struct Count {
    std::uint64_t bytes = 0;
    std::uint64_t at_ns = 0;
};

os::SocketAddress own_address() {
    const char* named = std::getenv("ACP_NODE_ADDRESS");  // NOLINT(concurrency-mt-unsafe)
    const auto parsed = os::parse_ip(named != nullptr ? named : "127.0.0.1");
    if (!parsed) give_up(std::string("ACP_NODE_ADDRESS=") + named + " is not an address");
    return *parsed;
}

// What a path of the library grows to: the longest datagram the interface carries, and no more than
// it looks for.
std::uint32_t datagram_bytes_of(const os::SocketAddress& own) {
    constexpr std::uint32_t looked_for = 8972;
    auto interfaces = os::list_interface_addresses();
    if (!interfaces.is_ok()) return looked_for;
    for (const os::InterfaceAddress& one : interfaces.value()) {
        os::SocketAddress bare = own;
        bare.port = one.address.port;
        if (bare != one.address) continue;
        const std::uint32_t carried = os::datagram_bytes_max(one);
        return carried == 0 ? looked_for : std::min(looked_for, carried);
    }
    return looked_for;
}

}  // namespace

BareUdp::BareUdp(const Job& job) {
    os::DatagramSocket::Options options;
    options.bind_to = own_address();
    options.receive_bytes = receive_bytes;
    auto socket = os::DatagramSocket::open(options);
    if (!socket.is_ok()) give_up(std::string(socket.failure().message()));
    socket_.emplace(std::move(socket).value());
    datagram_bytes_ = datagram_bytes_of(socket_->address());
    auto batch = os::DatagramBatch::create(os::DatagramBatch::messages_max);
    if (!batch.is_ok()) give_up(std::string(batch.failure().message()));
    batch_.emplace(std::move(batch).value());
    RankResult mine{};
    std::memcpy(mine.values, &socket_->address(), sizeof(os::SocketAddress));
    for (const RankResult& its : job.exchange(mine)) {
        os::SocketAddress place;
        std::memcpy(&place, its.values, sizeof place);
        places_.push_back(place);
    }
}

bool BareUdp::receive(std::vector<std::byte>& datagram, std::uint64_t patience) {
    const std::uint64_t start = os::now_ns();
    for (int polls = 0;; ++polls) {
        const std::int64_t bytes = receive_datagram(socket_->fd(), datagram, sender_);
        if (bytes >= 0 && datagram[1] == turn_) return true;
        if (bytes >= 0) continue;
        if (polls < receives_before_yield) continue;
        if (os::now_ns() - start > patience) return false;
        os::yield_cpu();
    }
}

void BareUdp::echo() {
    begin();
    std::vector<std::byte> datagram(burst_bytes_max);
    for (;;) {
        if (!receive(datagram, ~std::uint64_t{0}) || datagram[0] == kind_end) return;
        if (datagram[0] == kind_ball) {
            send_datagram(socket_->fd(), sender_, {datagram.data(), small_datagram});
        }
    }
}

void BareUdp::settle() {
    begin();
    round_trips(1);
}

void BareUdp::begin() {
    told_bytes_ = 0;
    turn_ = static_cast<std::byte>(static_cast<unsigned>(turn_) + 1);
}

void BareUdp::round_trips(std::uint64_t count) {
    std::vector<std::byte> datagram(burst_bytes_max);
    std::array<std::byte, small_datagram> ball{kind_ball, turn_};
    for (std::uint64_t i = 0; i < count; ++i) {
        do {
            send_datagram(socket_->fd(), places_[peer_], ball);
        } while (!receive(datagram, patience_ns));
    }
}

void BareUdp::end() {
    const std::array<std::byte, small_datagram> end{kind_end, turn_};
    for (std::uint32_t i = 0; i < ends; ++i) send_datagram(socket_->fd(), places_[peer_], end);
}

// Tells after each batch how much came, which is also what keeps the sender from running ahead.
void BareUdp::drain() {
    begin();
    std::uint64_t bytes = 0;
    bool is_over = false;
    while (!is_over) {
        if (socket_->receive_burst(*batch_) == 0) {
            os::relax();
            continue;
        }
        os::SocketAddress sender;
        batch_->for_each([&](const os::SocketAddress& from, std::span<std::byte> datagram) {
            if (datagram.size() < 2 || datagram[1] != turn_) return;
            sender = from;
            if (datagram[0] == kind_payload) bytes += datagram.size();
            if (datagram[0] == kind_end) is_over = true;
        });
        std::array<std::byte, small_datagram> count{kind_count, turn_};
        std::memcpy(count.data() + 8, &bytes, sizeof bytes);
        if (!is_over && sender.family != 0) send_datagram(socket_->fd(), sender, count);
    }
}

bool BareUdp::take_count(std::vector<std::byte>& answer, std::uint64_t& bytes) {
    bool is_told = false;
    while (receive_datagram(socket_->fd(), answer, sender_) >= 0) {
        if (answer[0] != kind_count || answer[1] != turn_) continue;
        std::uint64_t told = 0;
        std::memcpy(&told, answer.data() + 8, sizeof told);
        bytes = std::max(bytes, told);  // an older answer may come later
        is_told = true;
    }
    return is_told;
}

void BareUdp::transfers(std::uint64_t bytes, std::uint64_t count) {
    // bytes in flight: the receive buffer of any system holds them
    constexpr std::uint64_t window = 160 << 10;
    // The last datagram has room for the two bytes by which it is known.
    const std::uint64_t tail = bytes % datagram_bytes_;
    const std::uint64_t wanted =
        bytes + (tail > 0 && tail < small_datagram ? small_datagram - tail : 0);
    const std::uint64_t burst_bytes = std::min<std::uint64_t>(
        wanted, std::uint64_t{burst_bytes_max} / datagram_bytes_ * datagram_bytes_);
    std::vector<std::byte> burst(burst_bytes, kind_payload);
    for (std::size_t at = 1; at < burst.size(); at += datagram_bytes_) burst[at] = turn_;
    std::vector<std::byte> answer(burst_bytes_max);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t before = told_bytes_;
        std::uint64_t sent = 0;
        std::uint64_t heard_ns = os::now_ns();
        for (int polls = 0; told_bytes_ - before < wanted; ++polls) {
            const std::uint64_t here = told_bytes_ - before;
            if (sent < wanted && sent < here + window) {
                const std::span<std::byte> next(
                    burst.data(), std::min<std::uint64_t>(burst.size(), wanted - sent));
                socket_->send_burst(places_[peer_], next, datagram_bytes_, false);
                sent += next.size();
            }
            if (take_count(answer, told_bytes_)) {
                heard_ns = os::now_ns();
            } else if (polls >= receives_before_yield &&
                       os::now_ns() - heard_ns > patience_ns / 20) {
                sent = told_bytes_ - before;  // sends the unacknowledged rest again
                heard_ns = os::now_ns();
            } else if (polls >= receives_before_yield) {
                os::yield_cpu();
            }
        }
    }
}

double BareUdp::stream_mb_per_s(double duration_ns) {
    // bytes in flight: the receive buffer does not overflow
    constexpr std::uint64_t window = receive_bytes / 4;
    const std::uint32_t segments = burst_bytes_max / datagram_bytes_;
    begin();
    std::vector<std::byte> burst(std::size_t{segments} * datagram_bytes_, kind_payload);
    for (std::size_t at = 1; at < burst.size(); at += datagram_bytes_) burst[at] = turn_;
    std::vector<std::byte> answer(burst_bytes_max);
    std::uint64_t sent = 0;
    const std::uint64_t start = os::now_ns();
    // From one count to another, past the time in which the other side gets going.
    const std::uint64_t counted_from_ns = start + static_cast<std::uint64_t>(duration_ns / 2);
    Count first;
    Count last{0, start};
    const auto take_counts = [&] {
        if (!take_count(answer, last.bytes)) return;
        last.at_ns = os::now_ns();
        if (first.at_ns == 0 && last.at_ns >= counted_from_ns) first = last;
    };
    const double until_ns = 1.5 * duration_ns;
    while (static_cast<double>(os::now_ns() - start) < until_ns) {
        take_counts();
        if (sent - last.bytes < window) {
            sent +=
                std::uint64_t{
                    socket_->send_burst(places_[peer_], burst, datagram_bytes_, false).datagrams} *
                datagram_bytes_;
        } else if (os::now_ns() - last.at_ns > patience_ns / 100) {
            sent = last.bytes;  // sends the unacknowledged rest again
            last.at_ns = os::now_ns();
        }
    }
    take_counts();
    // Counts that waited together for a core of ours say nothing of the time between them.
    const auto counted_ns = static_cast<double>(last.at_ns - first.at_ns);
    if (first.at_ns == 0 || counted_ns < duration_ns / 2) return 0;
    return static_cast<double>(last.bytes - first.bytes) / counted_ns * 1e3;
}

double BareUdp::cipher_mb_per_s() const {
    auto parsed = base::parse_config(os::environment());
    if (!parsed.is_ok() || parsed.value().config.security != base::Security::encrypt) return 0;
    const base::Config& wish = parsed.value().config;
    auto suite = crypto::choose(static_cast<crypto::CipherWish>(wish.cipher),
                                static_cast<crypto::BackendWish>(wish.cipher_library));
    if (!suite.is_ok()) return 0;
    constexpr std::size_t header = 16;
    constexpr int datagrams = 20'000;
    const std::vector<std::byte> key(suite.value()->key_bytes(), std::byte{1});
    const auto aead = suite.value()->make(key);
    if (aead == nullptr) return 0;
    std::vector<std::byte> plain(datagram_bytes_ - header - datagram::tag_bytes, std::byte{2});
    std::vector<std::byte> sealed(plain.size() + datagram::tag_bytes);
    const std::array<std::byte, header> additional{};
    datagram::Nonce nonce{};
    std::uint64_t seal_ns = 0;
    std::uint64_t open_ns = 0;
    for (int i = 0; i < datagrams; ++i) {
        std::memcpy(nonce.data(), &i, sizeof i);
        const std::uint64_t before = os::now_ns();
        aead->seal(nonce, additional, plain, sealed);
        const std::uint64_t between = os::now_ns();
        if (!aead->open(nonce, additional, sealed))
            give_up("the cipher does not open what it sealed");
        seal_ns += between - before;
        open_ns += os::now_ns() - between;
    }
    const double bytes = static_cast<double>(plain.size()) * datagrams;
    return bytes / static_cast<double>(std::max(seal_ns, open_ns)) * 1e3;
}

}  // namespace acp::bench
