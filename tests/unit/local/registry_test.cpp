// SPDX-License-Identifier: BSD-3-Clause
// Registrations: keys, the order in which granules are reused, generations over epochs, spans of
// several granules in the largest job, the limit, and that no command writes to memory whose
// registration has ended.
#include "local/registry.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "local/attach.hpp"
#include "os/mapping.hpp"

#include "unit/local/test_node.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::local::test {
namespace {

using base::Code;
using memory::GlobalAddress;

constexpr std::uint32_t largest_job = 1U << memory::process_bits_max;
// the first granules belong to the shared segments
constexpr std::uint32_t own_granules = memory::granules_per_process - 2;

class RegistryTest : public testing::Test {
protected:
    [[nodiscard]] std::uint32_t granule(Key key) const {
        return owner_.space.layout().granule(key);
    }

    [[nodiscard]] std::uint32_t generation(Key key) const {
        return owner_.space.layout().generation(key);
    }

    node::Segment node_ = make_node(1, 1);
    Owner owner_{node_, 0};
    std::array<char, 4096> memory_{};
};

TEST_F(RegistryTest, gives_each_registration_its_own_key) {
    std::set<Key> keys;
    for (std::size_t i = 0; i < 200; ++i) {  // equal and overlapping ranges
        const Key key = owner_.add(memory_.data() + i, memory_.size() - 2 * i);
        EXPECT_TRUE(keys.insert(key).second);
        EXPECT_EQ(owner_.direct(key), memory_.data() + i);
    }
    EXPECT_EQ(owner_.registry->live(), 200U);
    for (const Key key : keys) {
        EXPECT_EQ(owner_.remove(key), Code::ok);
    }
    EXPECT_EQ(owner_.registry->live(), 0U);
}

TEST_F(RegistryTest, memory_of_a_device_is_found_by_its_number_and_reached_by_no_load) {
    const std::uint64_t far = 0x0fa1'0000'0000'0000;
    const auto key = owner_.registry->add_device(far, 5000, 3);
    ASSERT_TRUE(key.is_ok()) << key.failure().message();
    Place place;
    ASSERT_EQ(owner_.space.find(key.value() + 16, 8, place), Code::ok);
    EXPECT_TRUE(place.is_device());
    EXPECT_TRUE(place.is_owner_only());
    EXPECT_TRUE(place.is_own);
    EXPECT_EQ(place.device, 3U);
    EXPECT_EQ(place.owner_address, far + 16);
    EXPECT_EQ(place.direct, nullptr) << "the owner does not reach it either";
    char* direct = nullptr;
    EXPECT_FALSE(owner_.space.view().find_direct(key.value(), 1, direct));
    EXPECT_EQ(owner_.space.find(key.value() + 4999, 2, place), Code::address);
    EXPECT_EQ(owner_.registry->device_of(key.value()), 3U);
    EXPECT_EQ(owner_.remove(key.value()), Code::argument) << "only its device frees it";
    const auto removed = owner_.registry->remove_device(key.value());
    ASSERT_TRUE(removed.is_ok());
    EXPECT_EQ(removed.value(), far);
    EXPECT_EQ(owner_.space.find(key.value(), 1, place), Code::stale);
    EXPECT_EQ(owner_.registry->remove_device(key.value()).failure().code(), Code::stale);
    EXPECT_EQ(owner_.registry->device_of(key.value()), std::nullopt);
    EXPECT_EQ(owner_.registry->live(), 0U);
    const Key plain = owner_.add(memory_.data(), 8);
    EXPECT_EQ(owner_.registry->device_of(plain), std::nullopt);
    EXPECT_EQ(owner_.registry->remove_device(plain).failure().code(), Code::argument);
    EXPECT_EQ(owner_.remove(plain), Code::ok);
}

TEST_F(RegistryTest, granules_of_a_device_that_a_thread_names_are_given_to_no_other_memory) {
    Hazards::Lease lease(owner_.hazards);
    const auto named = owner_.registry->add_device(256, 8, 1);
    ASSERT_TRUE(named.is_ok());
    owner_.hazards.enter(lease.line(), named.value(), named.value());
    ASSERT_TRUE(owner_.registry->remove_device(named.value()).is_ok()) << "it does not wait";
    std::set<std::uint32_t> given;
    for (std::uint32_t i = 0; i < 2 * own_granules; ++i) {
        const auto key = owner_.registry->add_device(256, 8, 1);
        ASSERT_TRUE(key.is_ok());
        given.insert(granule(key.value()));
        ASSERT_TRUE(owner_.registry->remove_device(key.value()).is_ok());
    }
    EXPECT_EQ(given.count(granule(named.value())), 0U);
    memory::leave(lease.line());
    for (std::uint32_t i = 0; i < 2 * own_granules; ++i) {
        const auto key = owner_.registry->add_device(256, 8, 1);
        ASSERT_TRUE(key.is_ok());
        given.insert(granule(key.value()));
        ASSERT_TRUE(owner_.registry->remove_device(key.value()).is_ok());
    }
    EXPECT_EQ(given.count(granule(named.value())), 1U);
}

TEST_F(RegistryTest, finds_revoked_memory_stale_before_it_is_removed) {
    const Key key = owner_.add(memory_.data(), memory_.size());
    owner_.registry->revoke(key);
    EXPECT_EQ(owner_.find(key), Code::stale);
    EXPECT_EQ(owner_.direct(key), nullptr);
    EXPECT_EQ(owner_.registry->live(), 1U);
    EXPECT_EQ(owner_.remove(key), Code::ok);
    EXPECT_EQ(owner_.remove(key), Code::stale);
    EXPECT_EQ(owner_.registry->live(), 0U);
}

TEST_F(RegistryTest, reuses_the_oldest_granule) {
    for (std::uint32_t round = 1; round <= 2; ++round) {
        for (std::uint32_t wanted = 1; wanted <= own_granules; ++wanted) {
            const Key key = owner_.add(memory_.data(), 64);
            ASSERT_EQ(granule(key), owner_.space.shared_granules() - 1 + wanted);
            ASSERT_EQ(generation(key), round);
            ASSERT_EQ(owner_.remove(key), Code::ok);
        }
    }
}

TEST_F(RegistryTest, refuses_the_4097th_only_when_no_granule_is_left) {
    std::vector<Key> keys;
    for (std::uint32_t i = 0; i < own_granules; ++i) {
        keys.push_back(owner_.add(memory_.data(), 64));
    }
    EXPECT_GT(keys.size(), 4096U);
    const auto refused = owner_.registry->add(memory_.data(), 64, 0);
    ASSERT_FALSE(refused.is_ok());
    EXPECT_EQ(refused.failure().code(), Code::limit);
    for (const char* part : {"64 bytes", "1 of 8192 granules", "8190 registrations are live"}) {
        EXPECT_NE(refused.failure().message().find(part), std::string::npos) << part;
    }
    EXPECT_EQ(owner_.remove(keys[77]), Code::ok);
    const Key again = owner_.add(memory_.data(), 64);
    EXPECT_EQ(granule(again), granule(keys[77]));
    EXPECT_EQ(owner_.find(again), Code::ok);
    EXPECT_EQ(owner_.find(keys[77]), Code::stale);
}

TEST_F(RegistryTest, a_granule_goes_through_all_generations_before_one_returns) {
    std::vector<Key> keys;
    for (std::uint32_t i = 0; i < own_granules; ++i) {
        keys.push_back(owner_.add(memory_.data(), 64));
    }
    Key key = keys[100];
    const std::uint32_t max = owner_.space.layout().generation_max();
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < max; ++i) {
        EXPECT_EQ(owner_.remove(key), Code::ok);
        key = owner_.add(memory_.data(), 64);
        seen.insert(generation(key));
    }
    EXPECT_EQ(seen.size(), max);
    EXPECT_EQ(*seen.begin(), 1U) << "generation 0 is never given out";
    EXPECT_EQ(key, keys[100]);
}

TEST_F(RegistryTest, distinguishes_invalid_keys_from_ended_ones) {
    const Key key = owner_.add(memory_.data(), 4096);
    const GlobalAddress starter = owner_.space.starter_address(0);
    const auto& layout = owner_.space.layout();
    for (const Key never : {Key{0}, ~Key{0}, starter, starter + 1, key + 1,
                            layout.segment_start(0, 1, 0), layout.segment_start(0, 1, 1),
                            layout.segment_start(0, 3, 1), layout.segment_start(0, 8191, 1)}) {
        EXPECT_EQ(owner_.remove(never), Code::argument) << std::hex << never;
    }
    EXPECT_EQ(owner_.remove(key), Code::ok);
    EXPECT_EQ(owner_.remove(key), Code::stale);
    EXPECT_EQ(owner_.registry->address_in(key, memory_.data()).failure().code(), Code::stale);
    EXPECT_EQ(owner_.registry->live(), 0U);
}

TEST_F(RegistryTest, an_ended_key_is_stale_while_its_granule_lives_again) {
    const Key first = owner_.add(memory_.data(), 64);
    EXPECT_EQ(owner_.remove(first), Code::ok);
    for (std::uint32_t i = 1; i < own_granules; ++i) {
        EXPECT_EQ(owner_.remove(owner_.add(memory_.data(), 64)), Code::ok);
    }
    const Key second = owner_.add(memory_.data(), 64);
    ASSERT_EQ(granule(second), granule(first));
    EXPECT_EQ(owner_.remove(first), Code::stale);
    EXPECT_EQ(owner_.find(first), Code::stale);
    EXPECT_EQ(owner_.find(second), Code::ok);
}

TEST_F(RegistryTest, gives_the_address_of_every_byte_and_of_none_outside) {
    const Key key = owner_.add(memory_.data() + 100, 1000, 3);
    EXPECT_EQ(owner_.space.layout().color(key), 3U);
    EXPECT_EQ(owner_.registry->address_in(key, memory_.data() + 100).value(), key);
    EXPECT_EQ(owner_.registry->address_in(key, memory_.data() + 1099).value(), key + 999);
    for (const std::size_t outside : {99U, 1100U, 4096U}) {
        const auto address = owner_.registry->address_in(key, memory_.data() + outside);
        ASSERT_FALSE(address.is_ok());
        EXPECT_EQ(address.failure().code(), Code::address);
    }
    const auto before = owner_.registry->address_in(key, memory_.data() + 99);
    EXPECT_NE(before.failure().message().find("offset -1 of 1000"), std::string::npos);
}

TEST_F(RegistryTest, every_colour_of_an_address_is_the_same_memory_and_one_is_its_key) {
    for (std::uint32_t color = 0; color < memory::colors_max; ++color) {
        const Key key = owner_.add(memory_.data(), 64, color);
        for (std::uint32_t other = 0; other < memory::colors_max; ++other) {
            EXPECT_EQ(owner_.direct(owner_.space.layout().colored(key, other) + 5),
                      memory_.data() + 5);
        }
        const Key other = owner_.space.layout().colored(key, 3 - color);
        EXPECT_EQ(owner_.remove(other), Code::argument) << "it was never a key";
        EXPECT_EQ(owner_.remove(key), Code::ok);
        EXPECT_EQ(owner_.remove(key), Code::stale);
    }
}

TEST_F(RegistryTest, refuses_memory_that_is_not_there) {
    auto mapping = os::Mapping::map_anonymous(8192);
    ASSERT_TRUE(mapping.is_ok());
    char* gone = mapping.value().data();
    mapping.value().unmap();
    EXPECT_EQ(owner_.registry->add(gone, 64, 0).failure().code(), Code::argument);
    EXPECT_EQ(owner_.registry->add(nullptr, 64, 0).failure().code(), Code::argument);
    EXPECT_EQ(owner_.registry->add(memory_.data(), 0, 0).failure().code(), Code::argument);
    EXPECT_EQ(owner_.registry->add(memory_.data(), SIZE_MAX, 0).failure().code(), Code::argument);
    EXPECT_EQ(owner_.registry->live(), 0U);
}

TEST(RegistryEpochTest, a_key_of_an_earlier_epoch_stays_stale) {
    const node::Segment node = make_node(2, 2);
    std::array<char, 64> memory{};
    Key before = 0;
    {
        Owner first(node, 0);
        before = first.add(memory.data(), 64);
        EXPECT_EQ(first.find(before), Code::ok);
    }
    Owner again(node, 0);
    const Owner other(node, 1);
    EXPECT_EQ(again.find(before), Code::stale);
    EXPECT_EQ(other.find(before), Code::stale);
    EXPECT_EQ(again.remove(before), Code::stale);
    const Key after = again.add(memory.data(), 64);
    EXPECT_EQ(again.space.layout().granule(after), again.space.layout().granule(before));
    EXPECT_NE(after, before);
    EXPECT_EQ(other.find(before), Code::stale);
    EXPECT_EQ(other.find(after), Code::ok);
}

// In the largest job a granule is 8 MiB, so that segments span several.
class SpanTest : public testing::Test {
protected:
    static constexpr std::uint64_t granule_bytes = 8ULL << 20U;

    node::Segment node_ = make_node(largest_job, 2);
    Owner owner_{node_, 0};
    Owner other_{node_, 1};
    os::Mapping memory_ = os::Mapping::map_anonymous(3 * granule_bytes).value();
};

TEST_F(SpanTest, reaches_every_granule_of_a_segment_by_addition) {
    ASSERT_EQ(owner_.space.layout().granule_bytes(), granule_bytes);
    const std::uint64_t bytes = 2 * granule_bytes + 17;
    const Key key = owner_.add(memory_.data(), bytes);
    for (const std::uint64_t offset :
         {std::uint64_t{0}, granule_bytes - 1, granule_bytes, 2 * granule_bytes, bytes - 1}) {
        EXPECT_EQ(owner_.direct(key + offset), memory_.data() + offset);
        Place place;
        ASSERT_EQ(other_.space.find(key + offset, 1, place), Code::ok);
        EXPECT_EQ(place.owner_address, reinterpret_cast<std::uint64_t>(memory_.data()) + offset);
    }
    EXPECT_EQ(owner_.find(key, bytes), Code::ok);
    EXPECT_EQ(owner_.find(key + granule_bytes, bytes - granule_bytes + 1), Code::address);
    EXPECT_EQ(owner_.find(key + bytes), Code::address);
    EXPECT_EQ(owner_.remove(key + granule_bytes), Code::argument) << "no key, an address inside";
    EXPECT_EQ(owner_.remove(key), Code::ok);
    for (std::uint64_t offset = 0; offset < bytes; offset += granule_bytes) {
        EXPECT_EQ(owner_.find(key + offset), Code::stale);
        EXPECT_EQ(other_.find(key + offset), Code::stale);
    }
}

TEST_F(SpanTest, a_key_ended_before_a_longer_registration_covered_its_granule_is_stale) {
    const auto& layout = owner_.space.layout();
    const Key first = owner_.add(memory_.data(), 64);
    const Key ended = owner_.add(memory_.data(), 64);
    ASSERT_EQ(owner_.remove(first), Code::ok);
    ASSERT_EQ(owner_.remove(ended), Code::ok);
    // until all granules were used once
    for (Key key = ended; layout.granule(key) + 1 < memory::granules_per_process;) {
        key = owner_.add(memory_.data(), 64);
        ASSERT_EQ(owner_.remove(key), Code::ok);
    }
    const Key longer = owner_.add(memory_.data(), 2 * granule_bytes);
    ASSERT_EQ(layout.granule(longer), layout.granule(first));
    EXPECT_EQ(owner_.remove(ended), Code::stale);
    EXPECT_EQ(owner_.registry->address_in(ended, memory_.data()).failure().code(), Code::stale);
    EXPECT_EQ(owner_.remove(longer + granule_bytes), Code::argument) << "an address inside";
    EXPECT_EQ(owner_.find(longer + granule_bytes), Code::ok) << "untouched";
    EXPECT_EQ(owner_.remove(longer), Code::ok);
    EXPECT_EQ(owner_.remove(ended), Code::stale);
}

TEST_F(SpanTest, one_past_the_end_of_a_full_granule_names_no_neighbour) {
    const Key first = owner_.add(memory_.data(), granule_bytes);
    const Key second = owner_.add(memory_.data(), granule_bytes);
    EXPECT_EQ(second - first, 2 * granule_bytes);
    EXPECT_EQ(owner_.find(first + granule_bytes), Code::address);
    EXPECT_EQ(owner_.find(first + granule_bytes, 0), Code::ok) << "no byte is touched there";
}

TEST_F(SpanTest, a_long_segment_wants_granules_in_a_row) {
    std::vector<Key> keys;
    for (std::uint32_t i = 0; i < own_granules; ++i) {
        keys.push_back(owner_.add(memory_.data(), 64));
    }
    for (std::uint32_t i = 1; i < own_granules; i += 2) {
        ASSERT_EQ(owner_.remove(keys[i]), Code::ok);
    }
    const auto refused = owner_.registry->add(memory_.data(), granule_bytes, 0);
    ASSERT_FALSE(refused.is_ok());
    EXPECT_EQ(refused.failure().code(), Code::limit);
    EXPECT_NE(
        refused.failure().message().find("it needs 2 of 8192 granules of 8388608 bytes in a row"),
        std::string::npos);
    ASSERT_EQ(owner_.remove(keys[4000]), Code::ok);
    const Key placed = owner_.add(memory_.data(), 2 * granule_bytes);
    EXPECT_EQ(owner_.space.layout().granule(placed), owner_.space.layout().granule(keys[3999]));
    EXPECT_EQ(owner_.find(keys[4000]), Code::stale)
        << "inside the new segment, of another generation";
    EXPECT_EQ(owner_.find(keys[4001]), Code::stale);
    EXPECT_EQ(owner_.find(placed, 2 * granule_bytes), Code::ok);
}

// The words of a process that writes to the owner's private memory through the kernel, under its
// hazard line, while a key is posted; it counts each write.
struct Posted {
    std::atomic<Key> key;
    std::atomic<std::uint32_t> writes;
    std::atomic<bool> is_over;
};

constexpr std::uint64_t posted_bytes = 4096;

int write_until_over(const node::Segment& node, Posted& posted) {
    const Owner self(node, 1);
    Hazards hazards(self.segment, 1);
    Attach attach(self.segment, 1, true);
    std::array<char, posted_bytes> ones;
    ones.fill(1);
    while (!posted.is_over.load()) {
        const Key key = posted.key.load();
        memory::HazardLine& line = *hazards.own_line();
        memory::enter<memory::HazardFence::processor>(line, key, key);
        AttachCopy copy;
        copy.bytes = posted_bytes;
        copy.source.direct = ones.data();
        if (key != 0 && self.space.find(key, posted_bytes, copy.target) == Code::ok) {
            attach.run({&copy, 1});
            posted.writes.fetch_add(1);
        }
        memory::leave(line);
    }
    return 0;
}

TEST(RevocationTest, nothing_lands_after_unregister) {
    const node::Segment node = make_node(2, 2);
    auto& posted = *reinterpret_cast<Posted*>(node.starter(0));
    Child writer([&] { return write_until_over(node, posted); });
    Owner owner(node, 0);
    std::vector<char> memory(posted_bytes);
    const std::vector<char> zeros(posted_bytes);
    for (int round = 0; round < 500; ++round) {
        const Key key = owner.add(memory.data(), memory.size());
        const std::uint32_t writes = posted.writes.load();
        posted.key.store(key);
        while (posted.writes.load() == writes) {
            std::this_thread::yield();
        }
        ASSERT_EQ(owner.remove(key), Code::ok);
        std::memset(memory.data(), 0, memory.size());
        for (int look = 0; look < 20; ++look) {
            ASSERT_EQ(memory, zeros) << "round " << round << ", look " << look;
        }
    }
    posted.is_over.store(true);
    EXPECT_EQ(writer.join(), 0);
}

// namespace acp::local::test
}  // namespace
}  // namespace acp::local::test
