// SPDX-License-Identifier: BSD-3-Clause
// Words by which senders and the receiver of a pool communicate are overwritten at random points,
// one or two of a kind at a time: all recover within 10 ms, and no message is lost, doubled or out
// of order.
#include <array>
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "test_node.hpp"

namespace acp::pm {
namespace {

// A waiting receiver calls tend() every 0.25 ms.
constexpr int tends_in_10_ms = 40;
constexpr std::uint64_t injections_per_scene = 500;
constexpr std::uint32_t senders = 12;

using Node = TestNode<>;

class Scene {
public:
    explicit Scene(std::uint64_t seed) : random_(seed) {}

    // Returns the number of overwritten words.
    std::uint64_t run() {
        std::uint64_t injections = 0;
        while (injections < injections_per_scene && !testing::Test::HasFailure()) {
            for (auto i = random_.below(8); i > 0; --i)
                (void)exchange_.send(static_cast<std::uint32_t>(random_.below(senders)));
            if (random_.chance(60)) injections += damage_some();
            for (auto i = random_.below(8); i > 0 && exchange_.receive();) --i;
            if (random_.chance(10)) take_leases_back();
            if (random_.chance(20)) exchange_.receive_all(tends_in_10_ms);
            if (random_.chance(20)) expect_all_can_send();
        }
        exchange_.receive_all(tends_in_10_ms);
        for (std::uint32_t from = 0; from < senders; ++from)
            EXPECT_EQ(exchange_.received(from), exchange_.sent(from)) << from;
        return injections;
    }

private:
    // Overwrites a word of a random kind, or also its second copy.
    std::uint64_t damage_some() {
        const auto index = static_cast<std::uint32_t>(random_.below(leases));
        const std::uint64_t line = random_.below(ring_shape.lines());
        const std::uint64_t lease = lease_offset(index);
        const std::uint64_t ring = ring_offset(index);
        const bool is_double = random_.chance(50);
        switch (random_.below(9)) {
            case 0:
                return damage(lease);
            case 1:
                return damage(lease + 8) + (is_double ? damage(lease + 16) : 0);
            case 2:
                return damage(lease + 24);  // is_watched
            case 3:
                return damage(random_.chance(50) ? 0 : 8);  // calls, wanted
            case 4:
                return damage(ring + ring_shape.credit_offset(0)) +
                       (is_double ? damage(ring + ring_shape.credit_offset(1)) : 0);
            case 5:
                return damage(ring + ring_shape.request_offset());
            case 6:
                return damage(ring + ring_shape.journal_offset(line));
            default:
                return damage_header(index, is_double);
        }
    }

    // Overwrites the header of the oldest unreceived record, so that a header and no payload is
    // hit; perhaps also its journal word.
    std::uint64_t damage_header(std::uint32_t index, bool is_double) {
        const std::uint64_t line = node_.pool().released_of(index);
        return damage(ring_offset(index) + ring_shape.header_offset(line)) +
               (is_double ? damage(ring_offset(index) + ring_shape.journal_offset(line)) : 0);
    }

    std::uint64_t damage(std::uint64_t offset) {
        std::uint64_t& word = node_.word(offset);
        switch (random_.below(4)) {
            case 0:
                word = random_.next();
                break;
            case 1:
                word = 0;
                break;
            case 2:
                word ^= std::uint64_t{1} << random_.below(64);
                break;
            default:
                word = node_.word(lease_offset(static_cast<std::uint32_t>(random_.below(leases))) +
                                  8 * random_.below(4));
        }
        return 1;
    }

    // Many other senders ask for leases, so that some are revoked.
    void take_leases_back() {
        for (std::uint32_t i = senders; i < node_.count(); ++i) {
            if (node_.outlet(i).reserve(8) != nullptr) node_.outlet(i).cancel();
        }
        node_.tend();
    }

    void expect_all_can_send() {
        exchange_.receive_all(tends_in_10_ms);
        for (std::uint32_t from = 0; from < senders; ++from) {
            for (int tends = 0; !exchange_.send(from); ++tends) {
                ASSERT_LT(tends, tends_in_10_ms) << "sender " << from << " finds no room";
                while (exchange_.receive()) {
                }
                node_.tend();
            }
        }
    }

    test::Random random_;
    Node node_{80};
    Exchange<Node> exchange_{node_, 600};
};

TEST(PoolCorruption, of_any_words_loses_doubles_and_reorders_nothing) {
    constexpr std::uint64_t scenes = test::effort(40, 4);
    std::uint64_t injections = 0;
    for (std::uint64_t seed = 1; seed <= scenes && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        injections += Scene(seed).run();
    }
    EXPECT_GE(injections, scenes * injections_per_scene);
    static_assert(test::is_sanitized || scenes * injections_per_scene >= 10'000);
}

// The state and counts of a lease whose holder, a gateway, had found its count overwritten and
// stopped counting, are overwritten once more.
TEST(PoolCorruption, of_both_counts_loses_nothing_that_an_unknown_holder_sent) {
    Node node(2);
    Exchange<Node> exchange(node, 8);
    for (int i = 0; i < 48; ++i) ASSERT_TRUE(exchange.send(1));
    const std::uint64_t lease = lease_offset(1);
    const sync::LeaseState state(node.word(lease), 1);
    ASSERT_TRUE(state.is_sound() && state.kind() == sync::LeaseKind::held) << "not its lease";
    node.word(lease) = 0;
    node.word(lease + 8) = 0;
    node.word(lease + 16) = ~std::uint64_t{0};
    for (int i = 0; i < tends_in_10_ms; ++i) node.tend();
    exchange.receive_all(tends_in_10_ms);
    EXPECT_EQ(exchange.received(1), exchange.sent(1));
}

// A sender's note has two words which say that it writes to a ring. If one of them is overwritten,
// the ring is still not given to senders that wait for a lease.
TEST(PoolCorruption, of_a_note_lets_no_sender_take_a_ring_that_is_being_written) {
    for (const std::uint32_t which : {0U, 1U}) {
        Node node(200);
        char* const room = node.outlet(1).reserve(8);
        ASSERT_NE(room, nullptr);
        node.note_word(1, which) = 0;
        for (int round = 0; round < 10; ++round) {
            for (std::uint32_t from = 2; from < node.count(); ++from) {
                if (node.outlet(from).reserve(8) != nullptr) node.outlet(from).cancel();
            }
            node.tend();
        }
        std::memcpy(room, "12345678", 8);
        node.outlet(1).commit(8);
        const auto found = node.pool().receive();
        ASSERT_NE(found.data, nullptr);
        EXPECT_EQ(std::string(found.data, found.bytes), "12345678");
    }
}

}  // namespace
}  // namespace acp::pm
