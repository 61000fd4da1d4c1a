// SPDX-License-Identifier: BSD-3-Clause
// The ring: datagrams arrive whole, once and in order, also over a change of producer or consumer.
#include "sync/spsc_ring.hpp"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "support/effort.hpp"
#include "support/interleave.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::sync {
namespace {

namespace sched = test::sched;

using Producer = RingProducer<sched::Atomic>;
using Consumer = RingConsumer<sched::Atomic>;

static_assert(sizeof(RingCounters<sched::Atomic>) == sizeof(RingCounters<>));

// Zeroed, aligned memory of a ring.
class Memory {
public:
    explicit Memory(RingGeometry geometry) : lines_(geometry.ring_bytes() / sizeof(Line)) {}

    [[nodiscard]] void* get() { return lines_.data(); }

private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };

    std::vector<Line> lines_;
};

std::span<const std::byte> bytes_of(const std::uint64_t& value) {
    return std::as_bytes(std::span(&value, 1));
}

// Datagram i has tag i and 1 + i % 3 words of payload, each i.
struct Scene {
    static constexpr RingGeometry geometry{2, 24};
    static constexpr std::uint64_t datagrams = 7;

    Memory memory{geometry};
    std::uint64_t received = 0;

    // From the first datagram that no earlier producer published.
    void produce(std::uint64_t first, std::uint64_t attempts_max) {
        Producer producer(memory.get(), geometry);
        for (std::uint64_t i = first; i < datagrams && attempts_max > 0; --attempts_max) {
            std::byte* target = producer.reserve();
            if (target == nullptr) {
                sched::pause();
                continue;
            }
            sched::note_write(target);
            const auto words = static_cast<std::uint32_t>(1 + i % 3);
            for (std::uint32_t w = 0; w < words; ++w) std::memcpy(target + 8 * w, &i, 8);
            producer.publish({words * 8, 5, i});
            ++i;
        }
    }

    void consume(std::uint64_t attempts_max) {
        Consumer consumer(memory.get(), geometry);
        for (; received < datagrams && attempts_max > 0; --attempts_max) {
            Consumer::Datagram datagram;
            if (!consumer.front(datagram)) {
                sched::pause();
                continue;
            }
            sched::note_read(datagram.payload.data());
            check(datagram);
            // A consumer that dies from here on has the datagram, its successor gets it again.
            const std::uint64_t number = datagram.tag;
            consumer.pop();
            EXPECT_EQ(number, received);
            ++received;
        }
    }

    static void check(const Consumer::Datagram& datagram) {
        EXPECT_EQ(datagram.kind, 5U);
        EXPECT_EQ(datagram.payload.size(), 8 * (1 + datagram.tag % 3));
        for (std::size_t at = 0; at < datagram.payload.size(); at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, datagram.payload.data() + at, 8);
            EXPECT_EQ(word, datagram.tag);
        }
    }

    [[nodiscard]] std::uint64_t published() {
        return static_cast<RingCounters<sched::Atomic>*>(memory.get())->published.peek();
    }

    [[nodiscard]] std::uint64_t consumed() {
        return static_cast<RingCounters<sched::Atomic>*>(memory.get())->consumed.peek();
    }
};

constexpr std::uint64_t endless = ~std::uint64_t{0};
constexpr std::uint64_t few = 30;  // attempts of an end whose partner may be gone

TEST(SpscRing, delivers_every_datagram_whole_and_in_order) {
    sched::for_each_seed(10'000, [](std::uint64_t seed) {
        Scene scene;
        EXPECT_EQ(sched::run({.seed = seed},
                             {[&] { scene.produce(0, endless); }, [&] { scene.consume(endless); }})
                      .failure,
                  "");
        EXPECT_EQ(scene.received, Scene::datagrams);
    });
}

TEST(SpscRing, goes_on_with_a_new_producer_after_one_that_ended_anywhere) {
    sched::for_each_death(0, 200, [](const sched::Options& options) {
        Scene scene;
        const sched::Outcome outcome =
            sched::run(options, {[&] { scene.produce(0, few); }, [&] { scene.consume(few); }});
        EXPECT_EQ(outcome.failure, "");
        EXPECT_EQ(
            sched::run({.seed = options.seed}, {[&] { scene.produce(scene.published(), endless); },
                                                [&] { scene.consume(endless); }})
                .failure,
            "");
        EXPECT_EQ(scene.received, Scene::datagrams);
        return outcome.is_victim_hit;
    });
}

TEST(SpscRing, goes_on_with_a_new_consumer_after_one_that_ended_anywhere) {
    sched::for_each_death(1, 200, [](const sched::Options& options) {
        Scene scene;
        const sched::Outcome outcome =
            sched::run(options, {[&] { scene.produce(0, few); }, [&] { scene.consume(few); }});
        EXPECT_EQ(outcome.failure, "");
        scene.received = scene.consumed();
        EXPECT_EQ(
            sched::run({.seed = options.seed}, {[&] { scene.produce(scene.published(), endless); },
                                                [&] { scene.consume(endless); }})
                .failure,
            "");
        EXPECT_EQ(scene.received, Scene::datagrams);
        return outcome.is_victim_hit;
    });
}

TEST(SpscRing, is_full_at_its_number_of_cells) {
    constexpr RingGeometry geometry{4, 8};
    Memory memory(geometry);
    RingProducer<> producer(memory.get(), geometry);
    RingConsumer<> consumer(memory.get(), geometry);
    const std::uint64_t value = 9;
    for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(producer.push(1, i, bytes_of(value)));
    EXPECT_FALSE(producer.push(1, 4, bytes_of(value)));
    EXPECT_EQ(producer.reserve(), nullptr);
    RingConsumer<>::Datagram datagram;
    ASSERT_TRUE(consumer.front(datagram));
    EXPECT_EQ(datagram.tag, 0U);
    EXPECT_FALSE(producer.push(1, 4, bytes_of(value))) << "looked at, not given back";
    consumer.pop();
    EXPECT_TRUE(producer.push(1, 4, bytes_of(value)));
    for (std::uint64_t i = 1; i <= 4; ++i) {
        ASSERT_TRUE(consumer.front(datagram));
        EXPECT_EQ(datagram.tag, i);
        consumer.pop();
    }
    EXPECT_FALSE(consumer.front(datagram));
}

TEST(SpscRing, takes_payloads_from_nothing_to_the_maximum_and_none_longer) {
    constexpr RingGeometry geometry{1, 16};
    Memory memory(geometry);
    RingProducer<> producer(memory.get(), geometry);
    RingConsumer<> consumer(memory.get(), geometry);
    const std::vector<std::byte> bytes(17, std::byte{7});
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{16}}) {
        ASSERT_TRUE(producer.push(2, size, std::span(bytes).first(size)));
        RingConsumer<>::Datagram datagram;
        ASSERT_TRUE(consumer.front(datagram));
        EXPECT_EQ(datagram.payload.size(), size);
        EXPECT_TRUE(std::equal(datagram.payload.begin(), datagram.payload.end(), bytes.begin()));
        consumer.pop();
    }
    EXPECT_FALSE(producer.push(2, 17, bytes));
}

TEST(SpscRing, stays_inside_a_cell_whose_length_is_damaged) {
    constexpr RingGeometry geometry{2, 40};
    Memory memory(geometry);
    RingProducer<> producer(memory.get(), geometry);
    RingConsumer<> consumer(memory.get(), geometry);
    ASSERT_NE(producer.reserve(), nullptr);
    producer.publish({0xffffffff, 1, 1});
    RingConsumer<>::Datagram datagram;
    ASSERT_TRUE(consumer.front(datagram));
    EXPECT_EQ(datagram.payload.size(), geometry.payload_bytes_max);
}

TEST(SpscRing, checks_its_geometry) {
    EXPECT_TRUE((RingGeometry{1, 1}.is_valid()));
    EXPECT_TRUE((RingGeometry{1U << 20, 1U << 20}.is_valid()));
    EXPECT_FALSE((RingGeometry{0, 1}.is_valid()));
    EXPECT_FALSE((RingGeometry{3, 1}.is_valid()));
    EXPECT_FALSE((RingGeometry{1U << 21, 1}.is_valid()));
    EXPECT_FALSE((RingGeometry{1, 0}.is_valid()));
    EXPECT_FALSE((RingGeometry{1, (1U << 20) + 1}.is_valid()));
    EXPECT_EQ((RingGeometry{8, 1408}.ring_bytes()), 128U + 8 * 1472);
    EXPECT_EQ((RingGeometry{1, 48}.cell_bytes()), 64U);
    EXPECT_EQ((RingGeometry{1, 49}.cell_bytes()), 128U);
}

TEST(SpscRing, keeps_its_promises_between_real_threads) {
    const test::ScopedWatchdog watchdog("SpscRing keeps its promises between real threads");
    constexpr RingGeometry geometry{8, 64};
    constexpr std::uint64_t datagrams = acp::test::effort(100'000, 20'000);
    Memory memory(geometry);
    std::thread sender([&] {
        RingProducer<> producer(memory.get(), geometry);
        for (std::uint64_t i = 0; i < datagrams;) {
            if (producer.push(3, i, bytes_of(i))) {
                ++i;
            } else {
                std::this_thread::yield();
            }
        }
    });
    RingConsumer<> consumer(memory.get(), geometry);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < datagrams;) {
        RingConsumer<>::Datagram datagram;
        if (!consumer.front(datagram)) {
            std::this_thread::yield();
            continue;
        }
        std::uint64_t value = 0;
        std::memcpy(&value, datagram.payload.data(), sizeof value);
        wrong += value != i || datagram.tag != i || datagram.payload.size() != 8;
        consumer.pop();
        ++i;
    }
    sender.join();
    EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace acp::sync
