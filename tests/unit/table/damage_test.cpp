// SPDX-License-Identifier: BSD-3-Clause
// Tables whose words a program has overwritten: every call ends, reads and frees nothing outside of
// the heap, and fails if it reads words that contradict each other. The watchdog ends a call that
// retries without end.
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "support/scoped_watchdog.hpp"
#include "table/table.hpp"
#include "table_memory.hpp"

namespace acp::table {
namespace {

// The tables that are overwritten.
struct Scene {
    const char* name;
    TableShape shape;
    std::uint32_t entries;
    PutMode mode;
    // Entries are added until the table grows.
    bool is_growing;
};

const std::array<Scene, 6> scenes{{
    {"flat", {4, true}, 12, PutMode::insert, false},
    {"chained", {1, false}, 30, PutMode::insert, false},
    {"growing", {8, true}, 60, PutMode::insert, true},
    {"growing_from_no_power_of_two", {6, true}, 60, PutMode::insert, true},
    {"grown", {2, true}, 100, PutMode::insert, false},
    {"many_of_a_key", {2, false, true}, 30, PutMode::add, false},
}};

class Overwritten {
public:
    explicit Overwritten(const Scene& scene) : scene_(scene) {
        user_.table.keep();
        for (std::uint32_t i = 0; i < scene.entries || (scene.is_growing && !is_growing()); ++i)
            put("key " + std::to_string(i), scene.mode);
        note_words();
    }

    [[nodiscard]] const std::vector<std::uint64_t*>& words() const { return words_; }

    // A word that leads to the block in which `word` lies: as a link, or as a slot of the same key.
    [[nodiscard]] std::uint64_t to_itself(const std::uint64_t* word, bool is_slot) const {
        const BlockNumber block = number_of(heap::Offset{
            static_cast<std::uint64_t>(reinterpret_cast<const char*>(word) - user_.blocks.base())});
        return is_slot ? (*word & ~(number_mask << slot::number_shift)) |
                             block << slot::number_shift | slot::occupied
                       : link::to(block) | link::made;
    }

    // Makes every call, beginning with number `first`. Returns how many have reported damage.
    std::uint32_t calls(std::size_t first) {
        const std::array<std::function<void()>, 15> all{
            [&] { find_all(); },
            [&] { find_in_steps(); },
            [&] { note(user_.table.erase(table_, key_of("key 3"))); },
            [&] { put_all(PutMode::insert); },
            [&] { put_all(PutMode::assign); },
            [&] { put_all(PutMode::replace); },
            [&] { put_new(); },
            [&] { count(); },
            [&] { change(); },
            [&] { walk(false); },
            [&] { walk(true); },
            [&] { walk_key(); },
            [&] { note(user_.table.entries(table_)); },
            [&] { clear(); },
            [&] { user_.table.reclaim(); }};
        damaged_ = 0;
        for (std::size_t i = 0; i < all.size(); ++i) all[(first + i) % all.size()]();
        return damaged_;
    }

    void destroy() { (void)user_.table.destroy(table_, 0); }

    void expect_others_work() {
        const BlockNumber other = user_.table.make({2, true});
        user_.table.keep();
        EXPECT_EQ(user_.table.insert(other, key_of("key"), value_of("still")), Effect::done);
        EXPECT_EQ(user_.table.erase(other, key_of("key")), Effect::done);
    }

private:
    using Visit = std::function<void(const char*, std::uint32_t, const RecordName&)>;

    [[nodiscard]] std::uint64_t* words_of(BlockNumber block) const {
        return reinterpret_cast<std::uint64_t*>(user_.blocks.base() + offset_of(block));
    }

    [[nodiscard]] Head<std::atomic>& head() const {
        return *reinterpret_cast<Head<std::atomic>*>(words_of(table_));
    }

    [[nodiscard]] bool is_growing() const {
        return Root::unpacked(head().root.load()).is_growing();
    }

    void note_block(BlockNumber block, std::uint64_t bytes) {
        for (std::uint64_t i = 0; i < bytes / 8; ++i) words_.push_back(words_of(block) + i);
    }

    // Notes the addresses of words of the head, the arrays with some buckets, chained buckets and
    // some records.
    void note_words() {
        constexpr std::uint64_t buckets_most = 3;
        constexpr std::uint32_t records_most = 8;
        note_block(table_, sizeof(Head<std::atomic>));
        std::uint32_t records = 0;
        for (const auto& word : head().arrays) {
            const BlockNumber array = link::next_in(word.load());
            if (array == 0) continue;
            auto& buckets = *reinterpret_cast<BucketArray<std::atomic>*>(words_of(array));
            note_block(array, 40);
            for (std::uint64_t i = 0; i < std::min(buckets.buckets, buckets_most); ++i) {
                std::uint64_t place = static_cast<std::uint64_t>(
                    reinterpret_cast<char*>(&buckets.bucket(i)) - user_.blocks.base());
                for (BlockNumber bucket = number_of(heap::Offset{place}); bucket != 0;) {
                    note_block(bucket, sizeof(Bucket<std::atomic>));
                    auto& at = *reinterpret_cast<Bucket<std::atomic>*>(words_of(bucket));
                    for (const auto& slot : at.slots) {
                        if (slot::is_entry(slot.load()) && ++records <= records_most)
                            note_block(slot::record_in(slot.load()), 40);
                    }
                    bucket = link::next_in(at.link.load());
                }
            }
        }
    }

    void note(Effect effect) { damaged_ += effect == Effect::damaged ? 1U : 0U; }

    void note(const std::optional<std::uint64_t>& entries) { damaged_ += entries ? 0U : 1U; }

    void note(Walked walked) { damaged_ += walked == Walked::damaged ? 1U : 0U; }

    template <typename Call>
    void for_keys(const Call& call) {
        for (std::uint32_t i = 0; i < 20; ++i) call("key " + std::to_string(i * 3));
    }

    [[nodiscard]] std::string value() const { return "a value of the usual length"; }

    void put(const std::string& key, PutMode mode) {
        (void)user_.table.put(table_, {key_of(key), value_of(value()), mode});
    }

    void find_all() {
        for_keys([&](const std::string& key) {
            note(user_.table.find(table_, key_of(key),
                                  [](const char* found, std::uint32_t bytes, const RecordName&) {
                                      std::string copy(found, bytes);
                                      EXPECT_EQ(copy.size(), bytes);
                                  }));
        });
    }

    void find_in_steps() {
        const auto finder = user_.table.finder();
        KnownRoot<std::atomic> known;
        for_keys([&](const std::string& key) {
            const EntryKey asked = key_of(key);
            const auto spot = finder.prefetch_bucket(known, table_, asked.hash);
            finder.prefetch_record(spot, asked.hash);
            const auto trail = finder.follow(table_, spot, asked.hash);
            note(finder.find_on(table_, spot, trail, asked,
                                [](const char*, std::uint32_t, const RecordName&) {}));
            (void)finder.find_once(head(), spot, asked,
                                   [](EntryRecord<std::atomic>&, BlockNumber) {});
        });
    }

    void put_all(PutMode mode) {
        for_keys([&](const std::string& key) {
            const std::string old = value();
            note(user_.table.put(table_, {key_of(key), value_of("another"), mode, value_of(old)})
                     .effect);
        });
    }

    void put_new() {
        auto batch = user_.table.put_batch(table_);
        for (std::uint32_t i = 0; i < 20; ++i) {
            const std::string key = "key new " + std::to_string(i);
            note(batch.put({key_of(key), value_of("new"), scene_.mode}).effect);
        }
    }

    void count() {
        for_keys([&](const std::string& key) {
            const std::string counted = key + " counted";
            note(user_.table.add(table_, key_of(counted), 2).effect);
            note(user_.table.subtract(table_, key_of(counted), 2).effect);
            note(user_.table.subtract(table_, key_of(key), 1).effect);
        });
    }

    void change() {
        for_keys([&](const std::string& key) {
            std::uint64_t number = 0;
            note(user_.table.fetch_add(table_, key_of(key), 1, number));
            note(user_.table.fetch_add_or_insert(table_, key_of(key + "n"), 1, number));
            note(user_.table.compare_exchange(table_, key_of(key + "n"), number, 5));
        });
    }

    void walk(bool is_single) {
        WalkPlace after;
        Walked walked = Walked::more;
        while (walked == Walked::more) {
            walked = user_.table.walk(
                table_, after,
                [](const VisitedEntry& entry) {
                    const std::string key(entry.key, entry.key_bytes);
                    const std::string copy(entry.value, entry.value_bytes);
                    EXPECT_EQ(key.size() + copy.size(), entry.key_bytes + entry.value_bytes);
                    return Visited::stop_here;
                },
                is_single);
        }
        note(walked);
    }

    void walk_key() {
        for_keys([&](const std::string& key) {
            WalkPlace after;
            note(user_.table.walk_key(table_, key_of(key), after,
                                      [](const VisitedEntry&) { return Visited::go_on; }));
        });
    }

    // Erases entry after entry by its record, until none is left or one cannot be erased.
    void clear() {
        for (;;) {
            std::uint64_t hash = 0;
            RecordName record;
            Walked walked = Walked::more;
            WalkPlace after;
            while (record.block == 0 && walked == Walked::more) {
                walked = user_.table.walk(table_, after, [&](const VisitedEntry& entry) {
                    hash = user_.table.hash_at(table_, entry.place.position);
                    record = entry.record;
                    return Visited::stop_here;
                });
            }
            note(walked);
            if (record.block == 0) return;
            const Effect effect = user_.table.erase_record(table_, hash, record);
            note(effect);
            EXPECT_TRUE(effect == Effect::done || effect == Effect::damaged ||
                        effect == Effect::no_room)
                << "an entry that a walk visits can be erased";
            if (effect != Effect::done) return;
        }
    }

    Scene scene_;
    SharedHeap shared_;
    SharedPages participants_{Participants<std::atomic>::bytes(participants_max)};
    User<std::atomic> user_{shared_, participants_.data(), 0, 8};
    BlockNumber table_ = user_.table.make(scene_.shape);
    std::vector<std::uint64_t*> words_;
    std::uint32_t damaged_ = 0;
};

constexpr std::size_t values_per_word = 6;

// Overwrites a word; `which` selects the new value.
void overwrite(const Overwritten& table,
               std::size_t index,
               std::size_t which,
               test::Random& random) {
    std::uint64_t* const word = table.words()[index];
    switch (which) {
        case 0:
            *word = *word == 0 ? 1 : 0;
            break;
        case 1:
            *word = ~std::uint64_t{0};
            break;
        case 2:
            *word = *table.words()[(index + 1) % table.words().size()];
            break;
        case 3:
            *word = table.to_itself(word, false);
            break;
        case 4:
            *word = table.to_itself(word, true);
            break;
        default:
            *word = random.next();
    }
}

class TableDamageTest : public testing::TestWithParam<Scene> {};

TEST_P(TableDamageTest, every_call_on_an_overwritten_table_ends) {
    const test::ScopedWatchdog watchdog("a call on a table does not end");
    test::Random random(
        static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed()));
    std::uint32_t damaged = 0;
    const std::size_t words = Overwritten(GetParam()).words().size();
    for (std::size_t i = 0; i < words; ++i) {
        for (std::size_t which = 0; which < values_per_word; ++which) {
            SCOPED_TRACE(testing::Message() << "word " << i << ", value " << which);
            Overwritten table(GetParam());
            overwrite(table, i, which, random);
            if ((i + which) % 5 != 0) damaged += table.calls(random.below(15)) != 0 ? 1U : 0U;
            table.destroy();
            table.expect_others_work();
        }
    }
    EXPECT_GT(damaged, words / 3) << "damage is reported";
}

INSTANTIATE_TEST_SUITE_P(Scenes, TableDamageTest, testing::ValuesIn(scenes), [](const auto& one) {
    return std::string(one.param.name);
});

}  // namespace
}  // namespace acp::table
