// SPDX-License-Identifier: BSD-3-Clause
// The gateway of tests/unit/datagram/bad_input_scene.hpp, which knows nodes in every state there is, between honest
// nodes and somebody hostile: what it answers is measured, and at the end the honest must still hear each other and
// nothing may be left over. One thread.
#pragma once

#include "fuzz/fuzz.hpp"
#include "unit/datagram/bad_input_scene.hpp"

namespace acp::fuzz {

using datagram::testing::BadInputScene;
using datagram::testing::Datagram;

class HostileScene {
public:
    static constexpr std::uint32_t send_buffers = 32;  // memory is what a scene costs

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

    // Gives a datagram to the gateway. What that answers, and all it sends meanwhile, is lost.
    //   from  whence it seems to come
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

    // Time goes on, and the honest nodes talk.
    void pass(datagram::Time span) {
        scene.net.drops = [this](datagram::NodeId, datagram::NodeId, datagram::Bytes bytes) {
            note(bytes);
            return false;
        };
        scene.net.run_for(span);
        scene.net.drops = {};
    }

    // Those nobody spoke ill of still hear each other, and what was owed to the others is acknowledged or given up.
    void require_life() {
        auto& hosts = scene.net.hosts;
        hosts[0].send(BadInputScene::caller, 1000);
        hosts[BadInputScene::caller].send(0, 1001);
        pass(datagram::testing::s);
        require(hosts[BadInputScene::caller].arrived[1000] == 1 && hosts[0].arrived[1001] == 1,
                "the honest hear each other");
        require(scene.net.settle(60 * datagram::testing::s), "what is owed comes to an end");
        require(scene.net[0].free_buffers() == send_buffers, "all buffers come back");
    }

    // The last of each that the gateway sent.
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
