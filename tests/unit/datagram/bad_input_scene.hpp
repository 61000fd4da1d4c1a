// SPDX-License-Identifier: BSD-3-Clause
// An endpoint with peers in every state, and an attacker that has the job key and the nonces of its
// handshakes, and so can make any datagram. One thread.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "datagram/ack_frame.hpp"
#include "datagram/key_schedule.hpp"

#include "unit/datagram/test_net.hpp"

namespace acp::datagram::testing {

using Datagram = std::vector<std::byte>;

class BadInputScene {
public:
    // Nodes as node 0 sees them.
    static constexpr NodeId connected = 1;  // node 0 sent the INIT
    static constexpr NodeId unmet = 2;
    static constexpr NodeId severed = 3;
    static constexpr NodeId connecting = 4;  // a node with a higher number, which does not answer
    static constexpr NodeId folded = 5;
    static constexpr NodeId caller = 6;  // connected; it sent the INIT itself
    static constexpr NodeId half_open = 7;
    static constexpr NodeId nodes = 8;

    explicit BadInputScene(const Settings& chosen = settings())
        : net(nodes, 1, chosen), secrets_(net.base.job_key, net.base.job_id, net.suite) {
        net.drops = [this](NodeId sender, NodeId to, Bytes bytes) {
            return overhear(sender, to, bytes);
        };
        net.hosts[connecting].endpoint.reset();
        net.hosts[0].send(folded, 1);
        settle();
        net.run_for(5 * s);
        net.hosts[0].send(connected, 2);
        net.hosts[connected].send(0, 3);
        net.hosts[caller].send(0, 4);
        settle();
        net.hosts[half_open].send(0, 5);
        net.run_for(500 * us);
        net[0].sever(severed);
        net.hosts[0].send(connecting, 6);
        net.flush();
        // A frame waits for its acknowledgement while the bad datagrams arrive.
        net.cut = {{0, connected}};
        net.hosts[0].send(connected, 7, 500);
        net.flush();
    }

    static Settings settings() {
        Settings settings;
        settings.idle_fold_ns = s;
        settings.half_open_max = 8;
        return settings;
    }

    [[nodiscard]] const EndpointCounters& counters() { return net[0].counters(); }

    // Passes the datagram to node 0.
    void feed(Datagram datagram) { net[0].on_datagram(net.now, from, datagram); }

    // The last handshake message from one node to another.
    [[nodiscard]] InitPacket init_of(NodeId node, NodeId other) const {
        return inits_.at({node, other});
    }

    [[nodiscard]] ResponsePacket response_of(NodeId node, NodeId other) const {
        return responses_.at({node, other});
    }

    // The last data datagram from one node to another.
    [[nodiscard]] Datagram data_of(NodeId node, NodeId other) const {
        return data_.at({node, other});
    }

    // Data for node 0, sealed as by its sender.
    [[nodiscard]] Datagram sealed(NodeId source, PacketNumber number, Datagram plain) {
        const bool is_ours = inits_.contains({0, source}) && responses_.contains({source, 0});
        const NodeId initiator = is_ours ? 0 : source;
        const NodeId responder = is_ours ? source : 0;
        const InitPacket& init = inits_.at({initiator, responder});
        const ResponsePacket& response = responses_.at({responder, initiator});
        const Parties parties{net.base.job_id, initiator,       responder,          init.nonce,
                              response.nonce,  init.public_key, response.public_key};
        Secret shared;
        test::share(init.public_key, response.public_key, shared);
        Secret secret;
        derive_connection_secret(secrets_.traffic, shared, parties, net.suite, secret);
        const std::uint64_t epoch = number >> net.base.key_packets_log2;
        DirectionKey key;
        EXPECT_TRUE(make_direction_key(secret, source, epoch, net.suite, key));
        Datagram datagram(outer_bytes + plain.size() + tag_bytes);
        store(datagram.data(),
              OuterHeader{wire_version, static_cast<std::uint8_t>(PacketType::data),
                          static_cast<std::uint16_t>(datagram.size()), source, number});
        key.aead->seal(key.nonce(number), Bytes(datagram).first(outer_bytes), plain,
                       MutableBytes(datagram).subspan(outer_bytes));
        return datagram;
    }

    // A packet number that its sender has not used.
    static constexpr PacketNumber fresh = 1000;

    // Fresh data of the connected node: header, its number of frame bytes (or `frames`), then
    // control.
    [[nodiscard]] Datagram inside(SealedHeader header, Datagram control = {}, int frames = -1) {
        Datagram plain(sealed_bytes +
                       static_cast<std::size_t>(frames < 0 ? header.frame_bytes : frames));
        store(plain.data(), header);
        plain.insert(plain.end(), control.begin(), control.end());
        return sealed(connected, fresh, plain);
    }

    // The packet with the change, signed by the job key.
    template <typename Packet, typename Change>
    [[nodiscard]] Datagram signed_as(Packet packet, Change change) {
        change(packet);
        sign(packet, secrets_.handshake, net.suite);
        return bytes_of(packet);
    }

    template <typename Packet>
    [[nodiscard]] static Datagram bytes_of(const Packet& packet) {
        Datagram datagram(sizeof packet);
        store(datagram.data(), packet);
        return datagram;
    }

    [[nodiscard]] CookiePacket cookie_from(NodeId source) const {
        CookiePacket cookie;
        cookie.outer = {wire_version, static_cast<std::uint8_t>(PacketType::cookie), 0, source, 0};
        cookie.job = net.base.job_id;
        cookie.cookie.fill(std::byte{1});
        return cookie;
    }

    [[nodiscard]] ClosePacket close_from(NodeId source, CloseReason reason) const {
        ClosePacket close;
        close.outer = {wire_version, static_cast<std::uint8_t>(PacketType::close), 0, source, 0};
        close.job = net.base.job_id;
        close.reason = static_cast<std::uint32_t>(reason);
        close.instance = instance_of(source);
        close.other_instance = instance_of(0);
        return close;
    }

    [[nodiscard]] std::uint64_t instance_of(NodeId node) const {
        for (const auto& [pair, init] : inits_) {
            if (pair.first == node) return init.instance;
        }
        for (const auto& [pair, response] : responses_) {
            if (pair.first == node) return response.instance;
        }
        return 4711;
    }

    // The visible state of node 0, without its counters.
    [[nodiscard]] std::string state() {
        std::string text = std::to_string(net.hosts[0].arrived.size()) + " arrived, " +
                           std::to_string(net.hosts[0].severed.size()) + " severed, " +
                           std::to_string(net[0].free_buffers()) + " buffers";
        for (NodeId node = 1; node < nodes; ++node) {
            PeerStats stats;
            const bool is_met = net[0].stats(node, stats);
            text += "\nnode " + std::to_string(node) + ": " + std::to_string(is_met) + " " +
                    std::to_string(stats.is_connected) + " " + std::to_string(stats.is_folded) +
                    " " + std::to_string(stats.is_severed) + " window " +
                    std::to_string(stats.window_bytes) + " flight " +
                    std::to_string(stats.in_flight_bytes) + " rtt " +
                    std::to_string(stats.smoothed_rtt_ns) + " credit " +
                    std::to_string(stats.credit) + " held " + std::to_string(stats.buffers_held);
        }
        return text;
    }

    Net net;
    Address from = address_of(connected);

private:
    void settle() {
        ASSERT_TRUE(net.run_until(net.now + s, [this] {
            for (const NodeId node : {folded, connected, caller}) {
                if (!net[node].is_quiet()) return false;
            }
            return net[0].is_quiet();
        }));
    }

    bool overhear(NodeId from_node, NodeId to, Bytes bytes) {
        const auto type = static_cast<PacketType>(load<OuterHeader>(bytes.data()).type);
        const std::pair pair(from_node, to);
        if (type == PacketType::init) inits_[pair] = load<InitPacket>(bytes.data());
        if (type == PacketType::response) responses_[pair] = load<ResponsePacket>(bytes.data());
        if (type == PacketType::data) data_[pair] = Datagram(bytes.begin(), bytes.end());
        return to == half_open;
    }

    JobSecrets secrets_;
    std::map<std::pair<NodeId, NodeId>, InitPacket> inits_;
    std::map<std::pair<NodeId, NodeId>, ResponsePacket> responses_;
    std::map<std::pair<NodeId, NodeId>, Datagram> data_;
};

struct Row {
    const char* name;
    std::uint64_t EndpointCounters::*counter;
    std::function<Datagram(BadInputScene&)> make;
};

inline Datagram header(std::uint8_t version, std::uint8_t type, NodeId source, std::size_t bytes) {
    Datagram datagram(std::max<std::size_t>(bytes, outer_bytes));
    store(datagram.data(),
          OuterHeader{version, type, static_cast<std::uint16_t>(bytes), source, 900});
    datagram.resize(bytes);
    return datagram;
}

inline Datagram flipped(Datagram datagram, std::size_t byte) {
    datagram.at(byte) ^= std::byte{0x40};
    return datagram;
}

inline Datagram resized(Datagram datagram, std::size_t bytes) {
    datagram.resize(bytes);
    return datagram;
}

// Sets the length in the header.
inline Datagram relabelled(Datagram datagram) {
    store(datagram.data() + offsetof(OuterHeader, bytes),
          static_cast<std::uint16_t>(datagram.size()));
    return datagram;
}

// A wrong datagram counts up the counter of its row and no other reason to drop, changes no visible
// state, and is answered by no more bytes than it has.
inline void expect_harmless(const Row& row) {
    BadInputScene scene;
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
    const Datagram datagram = row.make(scene);
    const std::string before = scene.state();
    const EndpointCounters counted = scene.counters();
    scene.feed(datagram);
    EXPECT_EQ(scene.state(), before);
    bool is_drop = false;  // the counters before the first reason to drop count traffic
    for (const CounterName& counter : counter_names) {
        is_drop |= counter.member == &EndpointCounters::short_header;
        const auto difference = scene.counters().*counter.member - counted.*counter.member;
        if (counter.member == row.counter) {
            EXPECT_EQ(difference, 1U) << counter.name;
        } else if (is_drop) {
            EXPECT_EQ(difference, 0U) << counter.name;
        }
    }
    // WIRE-14
    std::size_t answered = 0;
    scene.net.drops = [&](NodeId, NodeId, Bytes bytes) {
        const auto type = static_cast<PacketType>(load<OuterHeader>(bytes.data()).type);
        if (type != PacketType::data && type != PacketType::init) answered += bytes.size();
        return true;
    };
    // Answers go to the datagram's source address.
    scene.net.source_of = [](NodeId node) { return address_of(node); };
    scene.net.flush(0);
    EXPECT_LE(answered, datagram.size());
}

inline std::string name_of(const ::testing::TestParamInfo<Row>& tested) {
    return tested.param.name;
}

}  // namespace acp::datagram::testing
