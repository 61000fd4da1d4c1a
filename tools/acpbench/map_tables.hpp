// SPDX-License-Identifier: BSD-3-Clause
// What the experiments on maps compare, behind the same few calls: a map of the library,
// std::unordered_map with strings, and a flat table of 64-byte entries with open addressing, which
// knows the sizes of keys and values and is used by one thread alone: about what the memory allows.
// The last two belong to one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <acp.h>

#include "job.hpp"
#include "map_keys.hpp"

namespace acp::bench {

inline std::uint64_t first_word(const void* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

// Calls end the process where they fail.
class LibraryMap {
public:
    explicit LibraryMap(acp_map_t map) : map_(map) {}

    bool find(const MapKey& key, MapKey& value) const {
        std::size_t size = sizeof value;
        return checked(acp_retrieve_map(map_, &key, sizeof key, &value, &size)) == 1;
    }

    void insert(const MapKey& key, const MapKey& value) const {
        checked(acp_insert_if_absent_map(map_, &key, sizeof key, &value, sizeof value));
    }

    void assign(const MapKey& key, const MapKey& value) const {
        checked(acp_insert_or_assign_map(map_, &key, sizeof key, &value, sizeof value));
    }

    void erase(const MapKey& key) const { checked(acp_remove_map(map_, &key, sizeof key)); }

    // Reads as many entries from the key's on, in the order of the table. Returns a sum of what it
    // has read.
    std::uint64_t scan(const MapKey& key, std::uint64_t count) {
        acp_map_ib_t found = acp_find_map(map_, &key, sizeof key);
        checked(found.success);
        std::uint64_t sum = 0;
        for (std::int64_t left = static_cast<std::int64_t>(count); left > 0;) {
            const auto some = std::min(static_cast<std::size_t>(left), scanned_.size());
            const std::int64_t read =
                acp_scan_map(&found.it, some, scanned_.data(), room_.data(), sizeof room_);
            if (read < 0) give_up(acp_error_message());
            if (read == 0) break;
            for (std::int64_t i = 0; i < read; ++i) {
                const acp_entry_t& entry = scanned_[static_cast<std::size_t>(i)];
                sum += first_word(entry.key) ^ first_word(entry.value);
            }
            left -= read;
        }
        return sum;
    }

    [[nodiscard]] acp_map_t handle() const { return map_; }

private:
    static int checked(int result) {
        if (result < 0) give_up(acp_error_message());
        return result;
    }

    static constexpr std::size_t scan_max = 100;

    acp_map_t map_;
    std::array<acp_entry_t, scan_max> scanned_{};
    std::array<MapKey, 2 * scan_max> room_{};
};

class StringMap {
public:
    bool find(const MapKey& key, MapKey& value) const {
        const auto found = entries_.find(text(key));
        if (found == entries_.end()) return false;
        std::memcpy(&value, found->second.data(), sizeof value);
        return true;
    }

    void insert(const MapKey& key, const MapKey& value) {
        entries_.emplace(text(key), text(value));
    }

    void assign(const MapKey& key, const MapKey& value) {
        entries_.insert_or_assign(text(key), text(value));
    }

    void erase(const MapKey& key) { entries_.erase(text(key)); }

    std::uint64_t scan(const MapKey& key, std::uint64_t count) const {
        std::uint64_t sum = 0;
        auto at = entries_.find(text(key));
        for (std::uint64_t i = 0; i < count && at != entries_.end(); ++i, ++at) {
            sum += first_word(at->first.data()) ^ first_word(at->second.data());
        }
        return sum;
    }

private:
    static std::string text(const MapKey& key) {
        return {reinterpret_cast<const char*>(&key), sizeof key};
    }

    std::unordered_map<std::string, std::string> entries_;
};

class FlatTable {
public:
    FlatTable() : entries_(first_entries) {}

    bool find(const MapKey& key, MapKey& value) const {
        const Entry& entry = entries_[place_of(entries_, key)];
        if (is_free(entry)) return false;
        value = entry.value;
        return true;
    }

    void insert(const MapKey& key, const MapKey& value) { put(key, value, false); }

    void assign(const MapKey& key, const MapKey& value) { put(key, value, true); }

    // Those behind it that are not where they belong move up.
    void erase(const MapKey& key) {
        const std::size_t mask = entries_.size() - 1;
        std::size_t free = place_of(entries_, key);
        if (is_free(entries_[free])) return;
        for (std::size_t at = (free + 1) & mask; !is_free(entries_[at]); at = (at + 1) & mask) {
            const std::size_t home = hash_of(entries_[at].key) & mask;
            if (((at - home) & mask) < ((at - free) & mask)) continue;
            entries_[free] = entries_[at];
            free = at;
        }
        entries_[free] = {};
        --used_;
    }

    std::uint64_t scan(const MapKey& key, std::uint64_t count) const {
        std::uint64_t sum = 0;
        std::uint64_t seen = 0;
        for (std::size_t at = place_of(entries_, key); at < entries_.size() && seen < count; ++at) {
            if (is_free(entries_[at])) continue;
            sum += entries_[at].key.words[0] ^ entries_[at].value.words[0];
            ++seen;
        }
        return sum;
    }

private:
    struct alignas(64) Entry {
        MapKey key{};  // no key of an experiment is all zero
        MapKey value{};
    };

    static_assert(sizeof(Entry) == 64);
    static constexpr std::size_t first_entries = 64;  // a power of two

    static bool is_free(const Entry& entry) { return entry.key.words[0] == 0; }

    static std::size_t hash_of(const MapKey& key) {
        return mixed(key.words[0] ^ key.words[1] ^ key.words[2] ^ key.words[3]);
    }

    // The key's entry, or the free one where it belongs.
    static std::size_t place_of(const std::vector<Entry>& entries, const MapKey& key) {
        const std::size_t mask = entries.size() - 1;
        std::size_t at = hash_of(key) & mask;
        while (!is_free(entries[at]) && entries[at].key != key) at = (at + 1) & mask;
        return at;
    }

    void put(const MapKey& key, const MapKey& value, bool is_replacing) {
        if (used_ * 2 >= entries_.size()) grow();
        Entry& entry = entries_[place_of(entries_, key)];
        if (is_free(entry)) {
            entry.key = key;
            entry.value = value;
            ++used_;
        } else if (is_replacing) {
            entry.value = value;
        }
    }

    void grow() {
        std::vector<Entry> larger(entries_.size() * 2);
        for (const Entry& entry : entries_) {
            if (!is_free(entry)) larger[place_of(larger, entry.key)] = entry;
        }
        entries_.swap(larger);
    }

    std::vector<Entry> entries_;
    std::size_t used_ = 0;
};

}  // namespace acp::bench
