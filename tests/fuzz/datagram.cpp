// SPDX-License-Identifier: BSD-3-Clause
// Datagrams of an attacker without the job key: any bytes, and real datagrams that were changed,
// from any address. No effect may be visible to a user. With security off, where any datagram is
// accepted, nothing may break. One thread.
#include "fuzz/hostile_scene.hpp"

namespace acp::fuzz {
namespace {

using datagram::testing::address_of;
using datagram::testing::relabelled;

constexpr int datagrams_max = 64;

// A datagram that an honest node has sent.
Datagram real(const BadInputScene& scene, std::uint32_t which) {
    switch (which) {
        case 0:
            return scene.data_of(BadInputScene::connected, 0);
        case 1:
            return scene.data_of(BadInputScene::caller, 0);
        case 2:
            return BadInputScene::bytes_of(scene.init_of(BadInputScene::caller, 0));
        case 3:
            return BadInputScene::bytes_of(scene.response_of(BadInputScene::connected, 0));
        default:
            return BadInputScene::bytes_of(scene.init_of(BadInputScene::half_open, 0));
    }
}

// Mostly sets the right length and version (a 1 stands for the version): a fuzzer rarely guesses
// them, without them a datagram is dropped unread, and kept inputs must stay valid for later
// versions.
Datagram labelled(Datagram datagram) {
    constexpr std::uint16_t own_label = 0x8000;
    if (datagram.size() < datagram::outer_bytes) return datagram;
    if (datagram.front() == std::byte{1}) datagram.front() = std::byte{datagram::wire_version};
    const auto label = datagram::load<datagram::OuterHeader>(datagram.data()).bytes;
    return label < own_label ? relabelled(std::move(datagram)) : datagram;
}

// Truncates the datagram, or flips one bit.
Datagram tampered(Datagram datagram, Input& input) {
    if (input.below(2) == 0) {
        datagram.resize(input.take<std::uint16_t>() % datagram.size());
        return datagram;
    }
    const std::size_t bit = input.take<std::uint16_t>() % (datagram.size() * 8);
    datagram[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    return datagram;
}

}  // namespace

void run(Input& input) {
    datagram::Settings settings = HostileScene::settings();
    const bool is_open = input.below(4) == 3;
    if (is_open) settings.security = base::Security::off;
    HostileScene hostile(settings);
    const std::string before = hostile.scene.state();
    for (int i = 0; i < datagrams_max && !input.is_empty(); ++i) {
        const auto from = address_of(input.below(BadInputScene::nodes + 1));
        const bool is_real = !is_open && input.below(4) == 3;
        hostile.feed(labelled(is_real ? tampered(real(hostile.scene, input.below(5)), input)
                                      : input.piece()),
                     from);
    }
    if (is_open) {
        hostile.pass(datagram::testing::s);
        return;
    }
    require(hostile.scene.state() == before, "an unauthentic datagram changes no state");
    hostile.scene.net.cut.clear();
    hostile.require_life();
    require(hostile.scene.net.hosts[BadInputScene::connected].arrived[7] == 1,
            "content in flight arrives");
}

}  // namespace acp::fuzz
