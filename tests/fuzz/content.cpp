// SPDX-License-Identifier: BSD-3-Clause
// Contents of DATA from a hostile node that is connected and authentic: sealed headers,
// acknowledgements of sent and unsent packet numbers, credit, pings, under any packet number, while
// the gateway under test sends to it. Other nodes must not be disturbed, and no buffer may leak.
// One thread.
#include "fuzz/hostile_scene.hpp"

namespace acp::fuzz {
namespace {

using namespace datagram;
using datagram::testing::address_of;

constexpr int steps_max = 64;

void append_ack(Datagram& plain, Input& input) {
    AckFrame ack;
    ack.largest = input.below(2) == 0 ? input.below(64) : input.take<std::uint64_t>();
    ack.run = input.below(2) == 0 ? input.below(64) : input.take<std::uint32_t>();
    ack.cumulative = input.below(2) == 0 ? input.below(64) : input.take<std::uint32_t>();
    ack.credit = input.take<std::uint16_t>();
    ack.marked = input.byte();
    ack.delay_ns = input.take<std::uint16_t>();
    ack.is_drain = input.below(2) == 1;
    ack.count = static_cast<std::uint8_t>(input.below(AckFrame::words_max + 1));
    for (std::size_t i = 0; i < ack.count; ++i) ack.words[i] = input.take<std::uint64_t>();
    Datagram bytes(AckFrame::bytes_max);
    bytes.resize(encode_ack(ack, static_cast<std::uint8_t>(ControlFrame::ack), bytes));
    plain.insert(plain.end(), bytes.begin(), bytes.end());
}

Datagram any_plain(Input& input) {
    if (input.below(8) == 7) return input.bytes(input.below(256));
    SealedHeader header;
    std::vector<std::byte> frames;
    if (input.below(2) == 1) {
        header.flags = has_dsn;
        header.dsn = input.below(2) == 0 ? input.below(64) : input.take<std::uint32_t>();
        frames = input.bytes(1 + input.below(64));
        header.frame_bytes = static_cast<std::uint16_t>(frames.size());
    }
    Datagram plain(sealed_bytes);
    store(plain.data(), header);
    plain.insert(plain.end(), frames.begin(), frames.end());
    for (std::uint32_t left = input.below(4); left > 0; --left) {
        const std::uint32_t kind = input.below(4);
        if (kind < 2) append_ack(plain, input);
        if (kind == 2) plain.push_back(static_cast<std::byte>(ControlFrame::ping));
        if (kind == 3) plain.push_back(static_cast<std::byte>(input.byte()));
    }
    return plain;
}

void step(HostileScene& hostile, Input& input, PacketNumber& next) {
    constexpr NodeId mad = BadInputScene::connected;
    switch (input.below(8)) {
        case 0:
            hostile.pass(Time{1} << input.below(32));
            return;
        case 1:
            hostile.scene.net.hosts[0].send(mad, 2000, 12 + input.take<std::uint16_t>() % 1200);
            return;
        case 2:
            next = input.take<std::uint64_t>() >> input.below(64);
            return;
        default:
            hostile.feed(hostile.scene.sealed(mad, next++, any_plain(input)), address_of(mad));
    }
}

}  // namespace

void run(Input& input) {
    HostileScene hostile;
    hostile.scene.net.cut.clear();
    PacketNumber next = BadInputScene::fresh;
    for (int i = 0; i < steps_max && !input.is_empty(); ++i) step(hostile, input, next);
    hostile.require_life();
}

}  // namespace acp::fuzz
