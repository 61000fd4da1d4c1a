// SPDX-License-Identifier: BSD-3-Clause
// Several endpoints and a network between them that loses, doubles, delays, damages and blocks
// datagrams by its settings, on a virtual clock and from a seed. Every frame that arrives is
// compared with those sent: each arrives once, and no other. One thread.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <vector>

#include "datagram/counters.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"
#include "datagram/wire.hpp"

#include "support/random.hpp"
#include "support/test_cipher.hpp"

namespace acp::datagram::testing {

inline constexpr Time us = 1000;
inline constexpr Time ms = 1'000'000;
inline constexpr Time s = 1'000'000'000;

[[nodiscard]] inline Address address_of(NodeId node, std::size_t which = 0) {
    return ipv4(10, static_cast<std::uint8_t>(which), static_cast<std::uint8_t>(node >> 8),
                static_cast<std::uint8_t>(node & 255), 7000);
}

// One address per node unless a test changes it.
class Book final : public AddressBook {
public:
    explicit Book(NodeId nodes) : addresses_(nodes) {
        for (NodeId node = 0; node < nodes; ++node) addresses_[node] = {address_of(node)};
    }

    [[nodiscard]] std::span<const Address> addresses_of(NodeId node) const noexcept override {
        return addresses_[node];
    }

    void set(NodeId node, std::vector<Address> addresses) {
        addresses_[node] = std::move(addresses);
    }

private:
    std::vector<std::vector<Address>> addresses_;
};

// A frame: u32 bytes in all, u64 name, then a pattern of the name.
inline constexpr std::uint32_t frame_head = 12;

struct Host final : EndpointHandler {
    NodeId node = 0;
    std::unique_ptr<test::TestEntropy> entropy;
    std::unique_ptr<Endpoint> endpoint;
    std::map<std::uint64_t, int> arrived;  // how often each frame arrived, by name
    std::vector<std::pair<NodeId, SeverReason>> severed;
    bool is_patient = false;
    std::uint32_t patience_asked = 0;
    std::map<NodeId, int> rooms;
    bool has_damage = false;
    std::deque<std::vector<std::byte>> tails;
    std::function<void(NodeId, std::uint64_t)> on_frame;  // may use the endpoint
    std::function<void(NodeId)> on_room_for;

    void on_frames(NodeId from, Bytes frames) override {
        while (!frames.empty()) {
            if (frames.size() < frame_head) {
                has_damage = true;
                return;
            }
            const auto bytes = load<std::uint32_t>(frames.data());
            const auto name = load<std::uint64_t>(frames.data() + 4);
            if (bytes < frame_head || bytes > frames.size()) {
                has_damage = true;
                return;
            }
            for (std::uint32_t i = frame_head; i < bytes; ++i) {
                has_damage |= frames[i] != static_cast<std::byte>(name + i);
            }
            ++arrived[name];
            frames = frames.subspan(bytes);
            if (on_frame) on_frame(from, name);
        }
    }

    void on_room(NodeId to) override {
        ++rooms[to];
        if (on_room_for) on_room_for(to);
    }

    bool may_be_waited_for(NodeId /*node*/) override {
        ++patience_asked;
        return is_patient;
    }

    void on_severed(NodeId from, SeverReason reason) override {
        severed.emplace_back(from, reason);
    }

    // Sends a frame of which all but the head and a byte lies in other memory, also at a
    // retransmission.
    bool send_with_tail(NodeId to, std::uint64_t name, std::uint32_t bytes) {
        std::byte* frame = endpoint->reserve(to, bytes);
        if (frame == nullptr) return false;
        std::vector<std::byte>& whole = tails.emplace_back(bytes);
        store(whole.data(), bytes);
        store(whole.data() + 4, name);
        for (std::uint32_t i = frame_head; i < bytes; ++i)
            whole[i] = static_cast<std::byte>(name + i);
        std::memcpy(frame, whole.data(), frame_head + 1);
        endpoint->commit_with_tail(to, frame_head + 1, Bytes(whole).subspan(frame_head + 1));
        return true;
    }

    // False: no room.
    bool send(NodeId to, std::uint64_t name, std::uint32_t bytes = frame_head) {
        std::byte* frame = endpoint->reserve(to, bytes);
        if (frame == nullptr) return false;
        store(frame, bytes);
        store(frame + 4, name);
        for (std::uint32_t i = frame_head; i < bytes; ++i)
            frame[i] = static_cast<std::byte>(name + i);
        endpoint->commit(to, bytes);
        return true;
    }
};

// The faults of the network; probabilities are in hundredths of a percent.
struct Faults {
    std::uint64_t loss = 0;
    std::uint64_t doubled = 0;
    std::uint64_t damaged = 0;
    Time delay = 20 * us;
    Time jitter = 5 * us;
    std::uint32_t mtu = 65507;  // longer ones are lost, unless they may be fragmented
    double bytes_per_ns = 0;    // rate of each receiver's link; 0: no limit
    Time queue_max = 10 * ms;   // a datagram that would wait longer for that link is lost
};

class Net {
public:
    struct Flying {
        Time at = 0;
        std::uint64_t order = 0;
        Address from;
        NodeId to = 0;
        std::vector<std::byte> bytes;

        bool operator<(const Flying& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    explicit Net(NodeId nodes, std::uint64_t seed, Settings settings = {})
        : book(nodes),
          hosts(nodes),
          random(seed),
          under_way(nodes),
          into_(65536),
          link_free_(nodes) {
        settings.nodes = nodes;
        if (settings.job_id == 0) settings.job_id = 77;
        settings.job_key[3] = std::byte{9};
        for (NodeId node = 0; node < nodes; ++node) {
            settings.node = node;
            start(node, settings, seed * 1000 + node);
        }
        base = settings;
    }

    void start(NodeId node, const Settings& settings, std::uint64_t seed) {
        Host& host = hosts[node];
        host.node = node;
        host.endpoint.reset();
        host.entropy = std::make_unique<test::TestEntropy>(seed);
        auto made = Endpoint::create(settings, suite, *host.entropy, book, host);
        ASSERT_TRUE(made.is_ok()) << made.failure().message();
        host.endpoint = std::move(made).value();
    }

    [[nodiscard]] Endpoint& operator[](NodeId node) { return *hosts[node].endpoint; }

    // Puts all datagrams that the endpoints can send now on the wire.
    void flush() {
        for (Host& host : hosts) flush(host.node);
    }

    void flush(NodeId node) {
        if (!hosts[node].endpoint || stopped.contains(node)) return;
        for (int i = 0; i < 100'000; ++i) {
            const Transmit out = hosts[node].endpoint->next_transmit(now, into_);
            if (out.bytes == 0) return;
            check_shape(out);
            for (std::uint32_t at = 0; at < out.bytes; at += out.segment_bytes) {
                const std::uint32_t bytes = std::min(out.segment_bytes, out.bytes - at);
                launch(node, out.to, {into_.data() + at, bytes}, out.may_fragment);
            }
        }
        ADD_FAILURE() << "node " << node << " never stops sending";
    }

    // Runs until nothing is due before `until`, or `done` holds.
    template <typename Done>
    bool run_until(Time until, Done done) {
        for (std::uint64_t steps = 0; steps < steps_max; ++steps) {
            flush();
            if (done()) return true;
            Time next = until;
            if (!flying.empty()) next = std::min(next, flying.top().at);
            for (const Host& host : hosts) {
                if (host.endpoint && !stopped.contains(host.node)) {
                    next = std::min(next, std::max(host.endpoint->deadline(), now));
                }
            }
            now = std::max(now, next);
            if (now >= until) return false;
            deliver();
            for (const Host& host : hosts) {
                if (host.endpoint && !stopped.contains(host.node) &&
                    host.endpoint->deadline() <= now) {
                    host.endpoint->on_timer(now);
                }
            }
        }
        ADD_FAILURE() << "no progress of the clock";
        return false;
    }

    void run_for(Time span) {
        run_until(now + span, [] { return false; });
    }

    // Runs until all frames are acknowledged.
    [[nodiscard]] bool settle(Time at_most) {
        return run_until(now + at_most, [this] {
            for (const Host& host : hosts) {
                if (host.endpoint && !host.endpoint->is_quiet()) return false;
            }
            return true;
        });
    }

    Book book;
    test::TestSuite suite;
    std::vector<Host> hosts;
    Settings base;
    test::Random random;
    Faults faults;
    std::set<std::pair<NodeId, NodeId>> cut;  // pairs of sender and receiver without connection
    std::set<NodeId> stopped;  // nodes that neither send nor receive, and whose clock stands still
    std::function<bool(NodeId from, NodeId to, Bytes)> drops;  // true: the datagram is lost
    std::function<Address(NodeId from)> source_of;  // the source address of a node's datagrams
    std::priority_queue<Flying> flying;
    Time now = 1 * s;
    std::uint64_t launched = 0;
    std::vector<std::uint64_t> under_way;  // datagrams of more than 1000 bytes to each node
    std::uint64_t steps_max = 20'000'000;

private:
    // WIRE-89
    void check_shape(const Transmit& out) {
        EXPECT_LE(out.bytes, 65507U);
        EXPECT_LE(out.count, 64U);
        EXPECT_GT(out.segment_bytes, 0U);
        EXPECT_EQ((out.bytes + out.segment_bytes - 1) / out.segment_bytes, out.count);
    }

    [[nodiscard]] bool chance(std::uint64_t of_10000) { return random.below(10'000) < of_10000; }

    void launch(NodeId from, const Address& to, Bytes bytes, bool may_fragment) {
        ++launched;
        const auto node =
            static_cast<NodeId>((std::to_integer<unsigned>(std::byte{to.ip[2]}) << 8) | to.ip[3]);
        if (node >= hosts.size() || cut.contains({from, node})) return;
        const auto listed = book.addresses_of(node);
        if (std::find(listed.begin(), listed.end(), to) == listed.end() && !source_of) return;
        if (bytes.size() > faults.mtu && !may_fragment) return;
        if (drops && drops(from, node, bytes)) return;
        if (chance(faults.loss)) return;
        const int copies = chance(faults.doubled) ? 2 : 1;
        for (int i = 0; i < copies; ++i) {
            Flying one;
            one.at = now + faults.delay + (faults.jitter == 0 ? 0 : random.below(faults.jitter));
            if (faults.bytes_per_ns > 0) {
                Time& free = link_free_[node];
                const Time begin = std::max(free, now);
                if (begin - now > faults.queue_max) return;
                free = begin +
                       static_cast<Time>(static_cast<double>(bytes.size()) / faults.bytes_per_ns);
                one.at = free + faults.delay;
            }
            one.order = launched * 2 + static_cast<std::uint64_t>(i);
            one.from = source_of ? source_of(from) : address_of(from);
            one.to = node;
            one.bytes.assign(bytes.begin(), bytes.end());
            if (chance(faults.damaged)) {
                const std::size_t bit = random.below(bytes.size() * 8);
                one.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            }
            under_way[node] += one.bytes.size() > 1000 ? 1U : 0U;
            flying.push(std::move(one));
        }
    }

    void deliver() {
        while (!flying.empty() && flying.top().at <= now) {
            Flying one = flying.top();
            flying.pop();
            under_way[one.to] -= one.bytes.size() > 1000 ? 1U : 0U;
            if (stopped.contains(one.to) || !hosts[one.to].endpoint) continue;
            hosts[one.to].endpoint->on_datagram(now, one.from, one.bytes);
        }
    }

    std::vector<std::byte> into_;
    std::vector<Time> link_free_;
};

}  // namespace acp::datagram::testing
