// SPDX-License-Identifier: BSD-3-Clause
// The ring of records: they arrive whole, once and in order, also after the death of either end; a
// sleeping consumer is woken; and an impossible counter stops the end that reads it.
#include "remote/record_ring.hpp"

#include <gtest/gtest.h>

#include "support/interleave.hpp"

namespace acp::remote {
namespace {

namespace sched = test::sched;

struct Record {
    std::uint64_t number;
    std::uint64_t copy;
};

using Word = sched::Atomic<std::uint64_t>;
using Producer = RecordProducer<Record, sched::Atomic>;
using Consumer = RecordConsumer<Record, sched::Atomic>;

constexpr std::uint64_t endless = ~std::uint64_t{0};
constexpr std::uint64_t few = 30;  // attempts of an end whose partner may be dead

// Records 0 .. records-1, published two at a time where there is room.
struct Scene {
    static constexpr std::uint64_t capacity = 2;
    static constexpr std::uint64_t records = 7;

    Record cells[capacity] = {};
    Word published;
    Word taken;
    sched::Atomic<std::uint32_t> sleeps;
    std::uint64_t received = 0;

    RecordRing<Record, sched::Atomic> ring() { return {cells, capacity, &published, &taken}; }

    void produce(std::uint64_t first, std::uint64_t attempts_max) {
        Producer producer(ring());
        for (std::uint64_t i = first; i < records && attempts_max > 0; --attempts_max) {
            Record* cell = producer.reserve();
            if (cell != nullptr) {
                sched::note_write(cell);
                *cell = {i, i};
                producer.push();
                ++i;
                if (i % 2 == 1 && i < records) continue;  // publishes two at once
            }
            if (producer.publish() && sleeps.load(std::memory_order_seq_cst) != 0) {
                sleeps.store(0, std::memory_order_relaxed);
                sched::wake_all(&sleeps);
            }
            if (cell == nullptr) sched::pause();
        }
        producer.publish();
    }

    //   is_sleeping  instead of polling
    void consume(std::uint64_t attempts_max, bool is_sleeping) {
        Consumer consumer(ring());
        for (; received < records && attempts_max > 0; --attempts_max) {
            const Record* front = consumer.front();
            if (front == nullptr) {
                consumer.release();
                if (is_sleeping) {
                    sleep(consumer);
                } else {
                    sched::pause();
                }
                continue;
            }
            sched::note_read(front);
            EXPECT_EQ(front->number, front->copy);
            // A consumer that dies from here on has the record, its successor gets it again.
            EXPECT_EQ(front->number, received);
            consumer.pop();
            consumer.release();
            ++received;
        }
    }

    void sleep(const Consumer& consumer) {
        sleeps.exchange(1, std::memory_order_seq_cst);
        if (!consumer.has_news()) {
            sched::sleep_while_is(sleeps, 1U);
        }
        sleeps.store(0, std::memory_order_relaxed);
    }

    void expect_the_rest_arrives(std::uint64_t seed) {
        received = taken.peek();
        EXPECT_EQ(sched::run({.seed = seed}, {[&] { produce(published.peek(), endless); },
                                              [&] { consume(endless, false); }})
                      .failure,
                  "");
        EXPECT_EQ(received, records);
    }
};

TEST(RecordRing, delivers_every_record_whole_and_in_order) {
    sched::for_each_seed(5'000, [](std::uint64_t seed) {
        Scene scene;
        ASSERT_EQ(sched::run({.seed = seed}, {[&] { scene.produce(0, endless); },
                                              [&] { scene.consume(endless, false); }})
                      .failure,
                  "");
        ASSERT_EQ(scene.received, Scene::records);
    });
}

TEST(RecordRing, wakes_a_consumer_that_sleeps) {
    sched::for_each_seed(10'000, [](std::uint64_t seed) {
        Scene scene;
        ASSERT_EQ(sched::run({.seed = seed}, {[&] { scene.produce(0, endless); },
                                              [&] { scene.consume(endless, true); }})
                      .failure,
                  "");
        ASSERT_EQ(scene.received, Scene::records);
    });
}

TEST(RecordRing, continues_with_a_new_end_after_one_that_died_anywhere) {
    for (const int victim : {0, 1}) {
        sched::for_each_death(victim, 100, [](const sched::Options& options) {
            Scene scene;
            const sched::Outcome outcome = sched::run(
                options, {[&] { scene.produce(0, few); }, [&] { scene.consume(few, false); }});
            EXPECT_EQ(outcome.failure, "");
            scene.expect_the_rest_arrives(options.seed);
            return outcome.is_victim_hit;
        });
    }
}

// Plain memory of one thread.
struct Plain {
    Record cells[4] = {};
    std::atomic<std::uint64_t> published{0};
    std::atomic<std::uint64_t> taken{0};

    RecordRing<Record> ring() { return {cells, 4, &published, &taken}; }
};

TEST(RecordRing, is_full_at_its_capacity) {
    Plain plain;
    RecordProducer<Record> producer(plain.ring());
    RecordConsumer<Record> consumer(plain.ring());
    for (std::uint64_t i = 0; i < 4; ++i) {
        ASSERT_NE(producer.reserve(), nullptr);
        producer.push();
    }
    EXPECT_EQ(producer.reserve(), nullptr);
    EXPECT_FALSE(consumer.has_news()) << "pushed, not published";
    EXPECT_TRUE(producer.publish());
    EXPECT_FALSE(producer.publish()) << "nothing new";
    EXPECT_TRUE(consumer.has_news());
    ASSERT_NE(consumer.front(), nullptr);
    consumer.pop();
    EXPECT_EQ(producer.reserve(), nullptr) << "popped, not released";
    consumer.release();
    EXPECT_NE(producer.reserve(), nullptr);
}

TEST(RecordRing, an_invalid_counter_stops_its_reader) {
    for (const std::uint64_t bad : {std::uint64_t{5}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
        Plain plain;
        RecordConsumer<Record> consumer(plain.ring());
        plain.published.store(bad, std::memory_order_relaxed);
        EXPECT_EQ(consumer.front(), nullptr);
        EXPECT_TRUE(consumer.is_broken());
        EXPECT_FALSE(consumer.has_news()) << "not looked at again";
        plain.published.store(1, std::memory_order_relaxed);
        EXPECT_EQ(consumer.front(), nullptr);
        Plain other;
        RecordProducer<Record> producer(other.ring());
        other.taken.store(bad, std::memory_order_relaxed);
        for (int i = 0; i < 4; ++i) {
            ASSERT_NE(producer.reserve(), nullptr);
            producer.push();
        }
        EXPECT_EQ(producer.reserve(), nullptr) << "taken: " << bad;
    }
}

// namespace acp::remote
}  // namespace
}  // namespace acp::remote
