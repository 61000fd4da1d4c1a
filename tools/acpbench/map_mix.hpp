// SPDX-License-Identifier: BSD-3-Clause
// Mixes of operations on a map: one thread runs one of them for a given time on any of the tables
// of map_tables.hpp. The mixes A to F are those of YCSB ("Benchmarking cloud serving systems with
// YCSB", SoCC 2010); as hashed keys have no order, a scan walks on in the table. An object belongs
// to one thread.
#pragma once

#include <array>
#include <cstdint>

#include "os/clock.hpp"

#include "map_keys.hpp"
#include "map_tables.hpp"
#include "opaque.hpp"

namespace acp::bench {

enum class Mix : std::uint64_t {
    find_uniform,
    find_zipf,
    update_uniform,
    ycsb_a,        // 50 % finds, 50 % updates
    ycsb_b,        // 95 % finds, 5 % updates
    ycsb_c,        // finds
    ycsb_d,        // 95 % finds of what was inserted last, 5 % inserts
    ycsb_e,        // 95 % scans of 1 to 100 entries, 5 % inserts
    ycsb_f,        // 50 % finds, 50 % finds each followed by an update of what was found
    insert_erase,  // a new entry, which is erased at once: one operation
    find_many,
    update_many,
};

inline constexpr std::uint64_t mixes = 12;

[[nodiscard]] constexpr const char* name_of(Mix mix) {
    constexpr std::array<const char*, mixes> names = {"find, uniform keys",
                                                      "find, Zipf keys",
                                                      "update, uniform keys",
                                                      "YCSB A",
                                                      "YCSB B",
                                                      "YCSB C",
                                                      "YCSB D",
                                                      "YCSB E",
                                                      "YCSB F",
                                                      "an entry in and out again",
                                                      "find_many of 256",
                                                      "assign_many of 256"};
    return names[static_cast<std::size_t>(mix)];
}

[[nodiscard]] constexpr bool is_batched(Mix mix) {
    return mix == Mix::find_many || mix == Mix::update_many;
}

inline constexpr std::uint64_t mix_batch = 256;

// As if the number were needed: else what was done for it could be left out.
ACP_OPAQUE inline void use(std::uint64_t /*sum*/) {}

// What a thread did.
struct Done {
    std::uint64_t operations = 0;
    std::uint64_t ns = 0;
};

// The operations of one thread of a mix, on keys 0 .. entries-1, which are in the table.
class Mixer {
public:
    //   first_new  inserts take the keys first_new, first_new + 1, ...: those of no other thread
    //              and no other mix
    Mixer(Mix mix, const Zipf& zipf, std::uint64_t entries, std::uint64_t first_new)
        : mix_(mix),
          zipf_(zipf),
          entries_(entries),
          first_new_(first_new),
          random_(first_new + static_cast<std::uint64_t>(mix)) {}

    template <typename Table>
    Done work(Table& table, std::uint64_t duration_ns) {
        const std::uint64_t start = os::now_ns();
        Done done;
        do {
            for (std::uint64_t i = 0; i < operations_per_look; ++i) one(table);
            done.operations += operations_per_look;
            done.ns = os::now_ns() - start;
        } while (done.ns < duration_ns);
        use(sum_);
        return done;
    }

    Done work_in_batches(const LibraryMap& map, std::uint64_t duration_ns) {
        const std::uint64_t start = os::now_ns();
        Done done;
        do {
            batch(map);
            done.operations += mix_batch;
            done.ns = os::now_ns() - start;
        } while (done.ns < duration_ns);
        return done;
    }

private:
    // operations between two readings of the clock
    static constexpr std::uint64_t operations_per_look = 32;

    // The frequent numbers of Zipf's law are spread over all keys.
    std::uint64_t zipf_number() { return mixed(zipf_.draw(random_)) % entries_; }

    MapKey uniform_key() { return key_of(random_.below(entries_)); }

    MapKey zipf_key() { return key_of(zipf_number()); }

    MapKey latest_key() {
        const std::uint64_t back = zipf_.draw(random_);
        return key_of(back < inserted_ ? first_new_ + inserted_ - 1 - back
                                       : entries_ - 1 - (back - inserted_));
    }

    template <typename Table>
    void find(Table& table, const MapKey& key) {
        if (!table.find(key, value_)) give_up("a key is not in the table");
    }

    template <typename Table>
    void insert(Table& table) {
        table.insert(key_of(first_new_ + inserted_), value_);
        ++inserted_;
    }

    template <typename Table>
    void one(Table& table) {
        const std::uint64_t percent = random_.below(100);
        switch (mix_) {
            case Mix::find_uniform:
            case Mix::find_many:
                return find(table, uniform_key());
            case Mix::update_uniform:
            case Mix::update_many:
                return table.assign(uniform_key(), value_);
            case Mix::find_zipf:
            case Mix::ycsb_c:
                return find(table, zipf_key());
            case Mix::ycsb_a:
                return percent < 50 ? find(table, zipf_key()) : table.assign(zipf_key(), value_);
            case Mix::ycsb_b:
                return percent < 95 ? find(table, zipf_key()) : table.assign(zipf_key(), value_);
            case Mix::ycsb_d:
                return percent < 95 ? find(table, latest_key()) : insert(table);
            case Mix::ycsb_e:
                if (percent >= 95) return insert(table);
                sum_ += table.scan(zipf_key(), 1 + random_.below(100));
                return;
            case Mix::ycsb_f: {
                const MapKey key = zipf_key();
                find(table, key);
                if (percent < 50) return;
                ++value_.words[0];
                return table.assign(key, value_);
            }
            case Mix::insert_erase:
                insert(table);
                return table.erase(key_of(first_new_ + inserted_ - 1));
        }
    }

    void batch(const LibraryMap& map) {
        for (std::uint64_t i = 0; i < mix_batch; ++i) {
            keys_[i] = uniform_key();
            batch_[i] = {&keys_[i], sizeof keys_[i], &values_[i], sizeof values_[i], 0, 0};
        }
        const std::int64_t result =
            mix_ == Mix::find_many ? acp_find_many_map(map.handle(), mix_batch, batch_.data())
                                   : acp_assign_many_map(map.handle(), mix_batch, batch_.data());
        if (result < 0) give_up(acp_error_message());
        if (mix_ == Mix::find_many && result != static_cast<std::int64_t>(mix_batch)) {
            give_up("a key is not in the map");
        }
    }

    Mix mix_;
    const Zipf& zipf_;
    std::uint64_t entries_;
    std::uint64_t first_new_;
    std::uint64_t inserted_ = 0;
    MapRandom random_;
    MapKey value_{};
    std::uint64_t sum_ = 0;  // of what scans have read
    std::array<MapKey, mix_batch> keys_{};
    std::array<MapKey, mix_batch> values_{};
    std::array<acp_entry_t, mix_batch> batch_{};
};

}  // namespace acp::bench
