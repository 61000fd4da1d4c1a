// SPDX-License-Identifier: BSD-3-Clause
// A hostile gateway of the job: it has the job key and signs any packets, as several nodes, in any
// order, with true and made-up cookies and nonces, while time passes and the gateway under test
// wants to connect to it. Nodes under whose number it does not act must not be disturbed. One
// thread.
#include "fuzz/hostile_scene.hpp"

namespace acp::fuzz {
namespace {

using namespace datagram;
using datagram::testing::address_of;

constexpr int steps_max = 64;

// A node under whose number it acts: any but those whose connection is checked at the end; or one
// past the last.
NodeId any_source(Input& input) {
    constexpr std::array<NodeId, 7> sources = {BadInputScene::connected, BadInputScene::unmet,
                                               BadInputScene::severed,   BadInputScene::connecting,
                                               BadInputScene::folded,    BadInputScene::half_open,
                                               BadInputScene::nodes};
    return sources[input.below(sources.size())];
}

// Overwrites up to seven fields, at any offset.
template <typename Packet>
void spoil(Packet& packet, Input& input) {
    std::array<std::byte, sizeof packet> bytes{};
    store(bytes.data(), packet);
    for (std::uint32_t left = input.below(8); left > 0; --left) {
        const std::size_t at = input.byte() % sizeof packet;
        const std::vector<std::byte> some = input.bytes(1 + input.below(8));
        std::copy_n(some.begin(), std::min(some.size(), sizeof packet - at), bytes.begin() + at);
    }
    packet = load<Packet>(bytes.data());
}

template <typename Packet>
void feed(HostileScene& hostile, Packet packet, Input& input) {
    packet.outer = {wire_version, static_cast<std::uint8_t>(Packet::type), 0, 0, 0};
    packet.job = hostile.scene.net.base.job_id;
    packet.target = 0;
    const NodeId source = any_source(input);
    spoil(packet, input);
    packet.outer.source = source;
    Datagram datagram = hostile.scene.signed_as(packet, [](Packet&) {});
    if (input.below(16) == 15) datagram.resize(input.byte());
    hostile.feed(datagram, address_of(input.below(2) == 0 ? source : input.byte()));
}

void feed_init(HostileScene& hostile, Input& input) {
    InitPacket init = hostile.scene.init_of(BadInputScene::half_open, 0);
    if (input.below(2) == 1) init.cookie = hostile.cookie.cookie;
    init.nonce.fill(static_cast<std::byte>(input.below(4)));
    init.instance = input.below(4);
    feed(hostile, init, input);
}

void feed_response(HostileScene& hostile, Input& input) {
    ResponsePacket response = hostile.scene.response_of(BadInputScene::connected, 0);
    response.initiator_nonce = hostile.init.nonce;
    response.nonce.fill(static_cast<std::byte>(input.below(4)));
    response.instance = input.below(4);
    feed(hostile, response, input);
}

void feed_cookie(HostileScene& hostile, Input& input) {
    CookiePacket cookie = hostile.scene.cookie_from(BadInputScene::connecting);
    cookie.nonce = hostile.init.nonce;
    feed(hostile, cookie, input);
}

void feed_close(HostileScene& hostile, Input& input) {
    ClosePacket close = hostile.scene.close_from(BadInputScene::connected, CloseReason::leaving);
    close.reason = input.below(5);
    if (input.below(2) == 1) close.instance = input.below(4);
    feed(hostile, close, input);
}

void step(HostileScene& hostile, Input& input) {
    switch (input.below(7)) {
        case 0:
            return feed_init(hostile, input);
        case 1:
            return feed_cookie(hostile, input);
        case 2:
            return feed_response(hostile, input);
        case 3:
            return feed_close(hostile, input);
        case 4: {  // any datagram under a header of this source
            const NodeId source = any_source(input);
            hostile.feed(input.bytes(input.below(128)), address_of(source));
            return;
        }
        case 5: {
            const NodeId to = any_source(input);
            if (to < BadInputScene::nodes) hostile.scene.net.hosts[0].send(to, 2000);
            return;
        }
        default:
            hostile.pass(Time{1} << input.below(33));
    }
}

}  // namespace

void run(Input& input) {
    HostileScene hostile;
    hostile.scene.net.cut.clear();
    for (int i = 0; i < steps_max && !input.is_empty(); ++i) step(hostile, input);
    hostile.require_life();
}

}  // namespace acp::fuzz
