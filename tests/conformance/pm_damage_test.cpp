// SPDX-License-Identifier: BSD-3-Clause
// PM messages while random words of the pools, by which ranks of one node and of several
// communicate, are overwritten: no message is lost, doubled or out of order. The test knows the
// layout of the pools, as no program should.
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include <acp.h>

#include "conformance/pm_fixture.hpp"
#include "pm/pool_layout.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

// Each rank sends that many to each rank.
constexpr std::uint64_t count = 400;
// The first rings: a rank prefers the ring of its own number.
constexpr std::uint64_t used_rings = 8;
constexpr std::int64_t damage_every_ns = 100'000;
// Iterations of the loop.
constexpr std::uint64_t damage_one_in = 4;
constexpr std::ptrdiff_t scanned = 48 << 20;

// The range of the mapping around an address.
struct Around {
    char* begin = nullptr;
    char* end = nullptr;
};

Around around(char* place) {
    const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "r"),
                                                     std::fclose);
    char line[4096];
    while (maps != nullptr && std::fgets(line, sizeof line, maps.get()) != nullptr) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
        const auto at = reinterpret_cast<std::uintptr_t>(place);
        if (at < begin || at >= end) continue;
        return {std::max(reinterpret_cast<char*>(begin), place - scanned),
                std::min(reinterpret_cast<char*>(end), place + scanned)};
    }
    return {};
}

std::uint64_t& word_at(char* place) {
    return *reinterpret_cast<std::uint64_t*>(place);
}

bool is_pool(char* place) {
    for (std::uint32_t i = 0; i < pm::leases; ++i) {
        if (!sync::LeaseState(word_at(place + pm::lease_offset(i)), i).is_sound()) return false;
    }
    return true;
}

class PmDamageTest : public PmFixture {
protected:
    // Each test opens a context of another number, so that its pool is new.
    PmDamageTest() : PmFixture(++last_number_) {}

    void SetUp() override {
        block_ = acp_malloc(64, rank_);
        ASSERT_NE(block_, ACP_GA_NULL) << acp_error_message();
        const std::vector<char*> before = pools();
        sync_ranks();
        PmFixture::SetUp();
        for (char* pool : pools()) {
            if (std::find(before.begin(), before.end(), pool) == before.end())
                pools_.push_back(pool);
        }
        ASSERT_FALSE(pools_.empty()) << "where is the pool?";
        if (rank_ == 0) word_at(static_cast<char*>(acp_query_address(done_))) = 0;
        sync_ranks();
    }

    void TearDown() override {
        PmFixture::TearDown();
        acp_free(block_);
    }

    [[nodiscard]] std::vector<char*> pools() const {
        std::vector<char*> found;
        const auto [begin, end] = around(static_cast<char*>(acp_query_address(block_)));
        for (char* place = begin; end - place >= static_cast<std::ptrdiff_t>(pm::pool_bytes);
             place += message::line_bytes) {
            if (is_pool(place)) found.push_back(place);
        }
        return found;
    }

    // A random word of a pool that two ranks, or a rank and a gateway, write.
    [[nodiscard]] std::uint64_t& any_word(Random& random) {
        char* const pool = pools_[random.below(pools_.size())];
        const auto ring = static_cast<std::uint32_t>(random.below(used_rings));
        const std::uint64_t line = random.below(pm::ring_shape.lines());
        switch (random.below(5)) {
            case 0:
                return word_at(pool + 8 * random.below(sizeof(sync::LeaseDesk<>) / 8));
            case 1:
                return word_at(pool + pm::lease_offset(ring) +
                               8 * random.below(sizeof(sync::LeasedLine<>) / 8));
            case 2:
                return word_at(pool + pm::ring_offset(ring) + pm::ring_shape.header_offset(line));
            case 3:
                return word_at(pool + pm::ring_offset(ring) + pm::ring_shape.journal_offset(line));
            // Both credits and the request, of a ring or of a cell.
            default:
                return word_at(pool +
                               (random.chance(50) ? pm::cell_offset(ring)
                                                  : pm::ring_offset(ring) + pm::credits_in_ring) +
                               random.below(3) * message::line_bytes);
        }
    }

    void damage(Random& random) {
        const std::uint64_t values[] = {0, random.next(), any_word(random)};
        any_word(random) = values[random.below(3)];
    }

    // Messages are so short that each line of a ring begins with a header: the overwritten words
    // are headers and no payload.
    bool try_send(int to) {
        std::uint64_t& number = sent_[static_cast<std::size_t>(to)];
        void* buffer = nullptr;
        const int has_room = acp_get_buffer_pm(pm_, to, sizeof number + number % 40, &buffer);
        EXPECT_GE(has_room, 0) << acp_error_message();
        if (has_room != 1) return false;
        std::memcpy(buffer, &number, sizeof number);
        EXPECT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
        ++number;
        return true;
    }

    bool try_receive() {
        const void* data = nullptr;
        std::size_t size = 0;
        int source = -1;
        const int has_come = acp_receive_pm(pm_, &data, &size, &source);
        EXPECT_GE(has_come, 0) << acp_error_message();
        if (has_come != 1) return false;
        std::uint64_t& expected = received_[static_cast<std::size_t>(source)];
        std::uint64_t number = 0;
        std::memcpy(&number, data, sizeof number);
        EXPECT_EQ(number, expected) << "from rank " << source;
        EXPECT_EQ(size, sizeof number + number % 40) << "from rank " << source;
        ++expected;
        EXPECT_EQ(acp_release_pm(pm_), 0) << acp_error_message();
        return true;
    }

    // Number of the context.
    static inline int last_number_ = 4;
    acp_ga_t block_ = ACP_GA_NULL;
    // Counts the ranks that have received all messages.
    acp_ga_t done_ = acp_query_starter_ga(0);
    std::vector<char*> pools_;
    std::vector<std::uint64_t> sent_ = std::vector<std::uint64_t>(static_cast<std::size_t>(procs_));
    std::vector<std::uint64_t> received_ = sent_;
};

TEST_F(PmDamageTest, no_message_is_lost_doubled_or_out_of_order) {
    Random random(static_cast<std::uint64_t>(rank_ + 100 * number_));
    const auto ranks = static_cast<std::uint64_t>(procs_);
    std::uint64_t left = count * ranks;
    std::uint64_t damages = 0;
    const std::int64_t begin_ns = now_ns();
    // A rank that has received all messages keeps polling until all ranks have, since the others
    // need its help.
    for (std::uint64_t turn = 0; !HasFailure(); ++turn) {
        const auto to = random.below(ranks);
        if (sent_[to] < count) (void)try_send(static_cast<int>(to));
        while (try_receive()) {
            if (--left == 0) (void)acp_fetch_add8(done_, 1);
        }
        // Damage is limited to one word for each received message, plus one in each
        // damage_every_ns, so that recovery has time between two.
        const auto may_be = static_cast<std::uint64_t>((now_ns() - begin_ns) / damage_every_ns);
        if (left > 0 && turn % damage_one_in == 0 && damages < count * ranks - left + may_be) {
            damage(random);
            ++damages;
        }
        if (left == 0 && turn % 64 == 0 && acp_fetch_add8(done_, 0) == ranks) break;
    }
    flush();
    EXPECT_GT(damages, count / 8);
    for (std::uint64_t from = 0; from < ranks; ++from) EXPECT_EQ(received_[from], count) << from;
    std::printf("rank %d: %" PRIu64 " words overwritten\n", rank_, damages);
}

}  // namespace
}  // namespace acp::test
