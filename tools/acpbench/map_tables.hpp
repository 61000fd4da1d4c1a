// SPDX-License-Identifier: BSD-3-Clause
// What the experiments on maps compare, behind the same few calls: a map of the library, std::unordered_map with strings, and
// a flat table of 64-byte entries with open addressing, which knows the sizes of keys and values and is used by one thread
// alone: about what the memory allows. The last two belong to one thread.
#pragma once

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

    // Walks over as many entries from the key's on, in the order of the table. Returns how many there were.
    std::uint64_t scan(const MapKey& key, std::uint64_t count) const {
        const acp_map_ib_t found = acp_find_map(map_, &key, sizeof key);
        checked(found.success);
        std::uint64_t seen = 0;
        for (acp_map_it_t it = found.it; it.elem != ACP_GA_NULL && seen < count; ++seen) {
            it = acp_increment_map_it(it);
        }
        return seen;
    }

    [[nodiscard]] acp_map_t handle() const { return map_; }

private:
    static int checked(int result) {
        if (result < 0) give_up(acp_error_message());
        return result;
    }

    acp_map_t map_;
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

    std::uint64_t scan(const MapKey& key, std::uint64_t count) const {
        std::uint64_t seen = 0;
        for (auto at = entries_.find(text(key)); at != entries_.end() && seen < count; ++at) ++seen;
        return seen;
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

    std::uint64_t scan(const MapKey& key, std::uint64_t count) const {
        std::uint64_t seen = 0;
        for (std::size_t at = place_of(entries_, key); at < entries_.size() && seen < count; ++at) {
            if (!is_free(entries_[at])) ++seen;
        }
        return seen;
    }

private:
    struct alignas(64) Entry {
        MapKey key{};  // no key of an experiment is all zero
        MapKey value{};
    };

    static_assert(sizeof(Entry) == 64);
    static constexpr std::size_t first_entries = 64;  // a power of two

    static bool is_free(const Entry& entry) { return entry.key.words[0] == 0; }

    // The key's entry, or the free one where it belongs.
    static std::size_t place_of(const std::vector<Entry>& entries, const MapKey& key) {
        const std::size_t mask = entries.size() - 1;
        std::size_t at = mixed(key.words[0] ^ key.words[1] ^ key.words[2] ^ key.words[3]) & mask;
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
