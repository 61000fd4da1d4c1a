// SPDX-License-Identifier: BSD-3-Clause
// The gateway of tests/unit/datagram/bad_input_scene.hpp, which has peers in every state, between
// honest nodes and an attacker: the size of its answers is checked, and at the end the honest nodes
// must still be connected, and nothing may leak. One thread.
#pragma once

#include "fuzz/fuzz.hpp"
#include "unit/datagram/bad_input_scene.hpp"

namespace acp::fuzz {

using datagram::testing::BadInputScene;
using datagram::testing::Datagram;

class HostileScene {
public:
    static constexpr std::uint32_t send_buffers = 32;  // few, to save memory

    static datagram::Settings settings() {
        datagram::Settings settings = BadInputScene::settings();
        settings.send_buffers = send_buffers;
        settings.datagram_bytes_max = 1600;
        return settings;
    }

    explicit HostileScene(const datagram::Settings& chosen = settings()) : scene(chosen) {
        scene.net.source_of = [](datagram::NodeId node) {
            return datagram::testing::address_of(node);
        };
    }

    // Passes a datagram to the gateway. All datagrams that the gateway then sends are lost.
    //   from  the source address
    void feed(const Datagram& datagram, const datagram::Address& from) {
        answered_ = 0;
        scene.net.drops = [this](datagram::NodeId, datagram::NodeId, datagram::Bytes bytes) {
            note(bytes);
            return true;
        };
        scene.from = from;
        scene.feed(datagram);
        scene.net.flush(0);
        scene.net.drops = {};
        require(answered_ <= datagram.size(), "no answer is longer than its question");  // WIRE-14
    }

    // Time passes, and the honest nodes exchange datagrams.
    void pass(datagram::Time span) {
        scene.net.drops = [this](datagram::NodeId, datagram::NodeId, datagram::Bytes bytes) {
            note(bytes);
            return false;
        };
        scene.net.run_for(span);
        scene.net.drops = {};
    }

    // Checks that nodes that no hostile datagram named are connected, and that datagrams to the
    // others are acknowledged or given up.
    void require_life() {
        auto& hosts = scene.net.hosts;
        hosts[0].send(BadInputScene::caller, 1000);
        hosts[BadInputScene::caller].send(0, 1001);
        pass(datagram::testing::s);
        require(hosts[BadInputScene::caller].arrived[1000] == 1 && hosts[0].arrived[1001] == 1,
                "datagrams between honest nodes arrive");
        require(scene.net.settle(60 * datagram::testing::s), "all content is acknowledged in time");
        require(scene.net[0].free_buffers() == send_buffers, "all buffers come back");
    }

    // The last packet of each kind that the gateway sent.
    datagram::CookiePacket cookie;
    datagram::InitPacket init;
    BadInputScene scene;

private:
    void note(datagram::Bytes bytes) {
        using datagram::PacketType;
        if (bytes.size() < datagram::outer_bytes) return;
        const auto outer = datagram::load<datagram::OuterHeader>(bytes.data());
        if (outer.source != 0) return;
        const auto type = static_cast<PacketType>(outer.type);
        if (type == PacketType::cookie)
            cookie = datagram::load<datagram::CookiePacket>(bytes.data());
        if (type == PacketType::init) init = datagram::load<datagram::InitPacket>(bytes.data());
        if (type != PacketType::data && type != PacketType::init) answered_ += bytes.size();
    }

    std::size_t answered_ = 0;
};

}  // namespace acp::fuzz
