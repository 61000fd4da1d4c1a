// SPDX-License-Identifier: BSD-3-Clause
// Maps, multimaps, sets and multisets for filled.hpp.
#include <algorithm>
#include <map>
#include <vector>

#include "containers/filled.hpp"
#include "containers/model.hpp"

namespace acp::test {

namespace {

// Keys contain their number; values have the requested size.
struct OfMap {
    using Handle = acp_map_t;
    static constexpr auto create = acp_create_map;
    static constexpr auto destroy = acp_destroy_map;
    static constexpr auto begin = acp_begin_map;
    static constexpr auto scan = acp_scan_map;
    static constexpr auto size = acp_size_map;
    static constexpr auto clear = acp_clear_map;
    static constexpr bool has_values = true;

    static std::string key(std::uint32_t number, std::size_t) { return content_of(number, 8); }

    static bool put(Handle map, Place place, const std::string& key, const std::string& value) {
        if (place == Place::front) {
            return acp_insert_or_assign_map(map, key.data(), key.size(), value.data(),
                                            value.size()) == 1;
        }
        return acp_insert_if_absent_map(map, key.data(), key.size(), value.data(), value.size()) ==
               1;
    }

    static bool remove(Handle map, const std::string& key) {
        return acp_remove_map(map, key.data(), key.size()) == 1;
    }

    static bool is_there(Handle map, const std::string& key) {
        return acp_find_map(map, key.data(), key.size()).success == 1;
    }
};

// Four entries share a key.
struct OfMultimap {
    using Handle = acp_multimap_t;
    static constexpr auto create = acp_create_multimap;
    static constexpr auto destroy = acp_destroy_multimap;
    static constexpr auto begin = acp_begin_multimap;
    static constexpr auto scan = acp_scan_multimap;
    static constexpr auto size = acp_size_multimap;
    static constexpr auto clear = acp_clear_multimap;
    static constexpr bool has_values = true;

    static std::string key(std::uint32_t number, std::size_t) { return content_of(number / 4, 8); }

    static bool put(Handle map, Place, const std::string& key, const std::string& value) {
        return acp_insert_multimap(map, key.data(), key.size(), value.data(), value.size()).elem !=
               ACP_GA_NULL;
    }

    static bool remove(Handle map, const std::string& key) {
        return acp_remove_multimap(map, key.data(), key.size()) >= 1;
    }

    static bool is_there(Handle map, const std::string& key) {
        return acp_find_multimap(map, key.data(), key.size()).success == 1;
    }
};

// Keys have the requested size, or 3 bytes.
struct OfSet {
    using Handle = acp_set_t;
    static constexpr auto create = acp_create_set;
    static constexpr auto destroy = acp_destroy_set;
    static constexpr auto begin = acp_begin_set;
    static constexpr auto scan = acp_scan_set;
    static constexpr auto size = acp_size_set;
    static constexpr auto clear = acp_clear_set;
    static constexpr bool has_values = false;

    static std::string key(std::uint32_t number, std::size_t bytes) {
        return content_of(number, std::max<std::size_t>(bytes, 3));
    }

    static bool put(Handle set, Place place, const std::string& key, const std::string&) {
        if (place == Place::front)
            return acp_insert_set(set, key.data(), key.size()).elem != ACP_GA_NULL;
        return acp_insert_if_absent_set(set, key.data(), key.size()) == 1;
    }

    static bool remove(Handle set, const std::string& key) {
        return acp_remove_set(set, key.data(), key.size()) == 1;
    }

    static bool is_there(Handle set, const std::string& key) {
        return acp_contains_set(set, key.data(), key.size()) == 1;
    }
};

struct OfMultiset {
    using Handle = acp_multiset_t;
    static constexpr auto create = acp_create_multiset;
    static constexpr auto destroy = acp_destroy_multiset;
    static constexpr auto begin = acp_begin_multiset;
    static constexpr auto scan = acp_scan_multiset;
    static constexpr auto size = acp_size_multiset;
    static constexpr auto clear = acp_clear_multiset;
    static constexpr bool has_values = false;

    static std::string key(std::uint32_t number, std::size_t bytes) {
        return OfSet::key(number, bytes);
    }

    static bool put(Handle set, Place place, const std::string& key, const std::string&) {
        if (place == Place::front)
            return acp_insert_multiset(set, key.data(), key.size()).elem != ACP_GA_NULL;
        return acp_add_multiset(set, key.data(), key.size(), 1) != UINT64_MAX;
    }

    static bool remove(Handle set, const std::string& key) {
        return acp_remove_all_multiset(set, key.data(), key.size()) == 1;
    }

    static bool is_there(Handle set, const std::string& key) {
        return acp_retrieve_multiset(set, key.data(), key.size()) == 1;
    }
};

template <typename Of>
class FilledHashed final : public Filled {
public:
    FilledHashed(int rank, std::size_t bytes)
        : handle_(Of::create(1, &rank, 1, rank)), bytes_(bytes) {
        must(handle_.ga != ACP_GA_NULL, "making it");
    }

    bool put(Place place, std::uint32_t number) override {
        const std::string key = Of::key(number, bytes_);
        const std::string value = value_of(number);
        if (!is_done(Of::put(handle_, place, key, value), "insert")) return false;
        entries_.emplace(key, value);
        return true;
    }

    bool clear() override {
        if (!is_done(Of::clear(handle_) == 0, "clear")) return false;
        entries_.clear();
        return true;
    }

    void thin_out() override {
        bool is_odd = false;
        for (auto entry = entries_.begin(); entry != entries_.end(); is_odd = !is_odd) {
            const auto end = entries_.upper_bound(entry->first);
            if (is_odd) must(Of::remove(handle_, entry->first), "remove");
            if (is_odd) entries_.erase(entry, end);
            entry = end;
        }
    }

    // A walk visits every entry once, with its bytes; a few are also found by key.
    void compare() override {
        constexpr std::size_t at_once = 256;
        std::vector<std::uint64_t> room(4'096);
        std::vector<acp_entry_t> read(at_once);
        std::vector<std::pair<std::string, std::string>> found;
        for (auto it = Of::begin(handle_);;) {
            const std::int64_t count =
                Of::scan(&it, at_once, read.data(), room.data(), room.size() * sizeof room[0]);
            must(count >= 0, "scan");
            if (count == 0) break;
            for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
                found.emplace_back(text(read[i].key, read[i].key_size),
                                   Of::has_values ? text(read[i].value, read[i].value_size) : "");
            }
        }
        std::vector<std::pair<std::string, std::string>> wanted(entries_.begin(), entries_.end());
        std::sort(found.begin(), found.end());
        std::sort(wanted.begin(), wanted.end());
        must(found == wanted, "a walk finds the entries of the model");
        must(Of::size(handle_) == wanted.size(), "the size");
        for (std::size_t i = 0; i < wanted.size(); i += 16)
            must(Of::is_there(handle_, wanted[i].first), "a key that was put");
    }

    void destroy() override { must(Of::destroy(handle_) == 0, "destroying it"); }

    [[nodiscard]] bool grows() const override { return true; }

    [[nodiscard]] bool copies_to_insert() const override { return false; }

private:
    [[nodiscard]] std::string value_of(std::uint32_t number) const {
        return Of::has_values ? content_of(number, bytes_) : "";
    }

    static std::string text(const void* bytes, std::size_t count) {
        return count == 0 ? std::string() : std::string(static_cast<const char*>(bytes), count);
    }

    typename Of::Handle handle_;
    std::size_t bytes_;
    std::multimap<std::string, std::string> entries_;
};

}  // namespace

std::unique_ptr<Filled> make_filled_map(int rank, std::size_t bytes) {
    return std::make_unique<FilledHashed<OfMap>>(rank, bytes);
}

std::unique_ptr<Filled> make_filled_multimap(int rank, std::size_t bytes) {
    return std::make_unique<FilledHashed<OfMultimap>>(rank, bytes);
}

std::unique_ptr<Filled> make_filled_set(int rank, std::size_t bytes) {
    return std::make_unique<FilledHashed<OfSet>>(rank, bytes);
}

std::unique_ptr<Filled> make_filled_multiset(int rank, std::size_t bytes) {
    return std::make_unique<FilledHashed<OfMultiset>>(rank, bytes);
}

}  // namespace acp::test
