// SPDX-License-Identifier: BSD-3-Clause
// <acp/compat3_hashed.h>: fetches the bytes that a program of ACP 3.0 names by a global address,
// then calls the functions of <acp/map.h>, <acp/set.h> and <acp/multiset.h>. Any thread.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/compat3.hpp"

// Here the names are those of acp.h.
#define ACP_COMPAT3_KEEPS_NAMES
#include <acp/compat3_hashed.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using api::with_bytes;

// Changes the length of `bytes`. false: there is no memory for it, and the failure is kept.
bool resize(std::vector<std::byte>& bytes, std::size_t size) noexcept {
    return api::run<Gravity::misuse_ends>("acp_retrieve_map", false, [&]() -> base::Status {
        bytes.resize(size);
        return {};
    });
}

// Reads a value into `bytes`, as much of it as there is room for. Returns as acp_retrieve_map.
int retrieve_value(acp_map_t map,
                   const std::vector<std::byte>& key,
                   std::size_t room_bytes,
                   std::vector<std::byte>& bytes) noexcept {
    constexpr std::size_t first_try_bytes = 1024;
    if (!resize(bytes, std::min(room_bytes, first_try_bytes))) return -1;
    for (;;) {
        std::size_t size = bytes.size();
        const int found = acp_retrieve_map(map, key.data(), key.size(), bytes.data(), &size);
        if (found != 1) return found;
        const std::size_t wanted = std::min(size, room_bytes);
        const bool is_whole = wanted <= bytes.size();
        if (!resize(bytes, wanted)) return -1;
        if (is_whole) return found;
    }
}

}  // namespace

extern "C" {

int acp3_insert_set(acp_set_t set, acp_element_t key) {
    if (key.size == 0) return 0;
    return with_bytes("acp_insert_set", key, 0, [&](const auto& bytes) {
        return acp_insert_if_absent_set(set, bytes.data(), bytes.size()) >= 0 ? 1 : 0;
    });
}

int acp3_insert_multiset(acp_multiset_t set, acp_element_t key) {
    if (key.size == 0) return 0;
    return with_bytes("acp_insert_multiset", key, 0, [&](const auto& bytes) {
        return acp_add_multiset(set, bytes.data(), bytes.size(), 1) != UINT64_MAX ? 1 : 0;
    });
}

int acp3_insert_map(acp_map_t map, acp_pair_t pair) {
    if (pair.first.size == 0) return 0;
    return with_bytes("acp_insert_map", pair.first, 0, [&](const auto& key) {
        std::vector<std::byte> value;
        if (!api::fetch_bytes("acp_insert_map", pair.second.ga, pair.second.size, value)) return 0;
        const int result =
            acp_insert_if_absent_map(map, key.data(), key.size(), value.data(), value.size());
        return result == 1 ? 1 : 0;
    });
}

acp_set_it_t acp3_find_set(acp_set_t set, acp_element_t key) {
    const acp_set_it_t end = acp_end_set(set);
    return with_bytes("acp_find_set", key, end, [&](const auto& bytes) {
        const acp_set_ib_t found = acp_find_set(set, bytes.data(), bytes.size());
        return found.success == 1 ? found.it : end;
    });
}

acp_multiset_it_t acp3_find_multiset(acp_multiset_t set, acp_element_t key) {
    const acp_multiset_it_t end = acp_end_multiset(set);
    return with_bytes("acp_find_multiset", key, end, [&](const auto& bytes) {
        const acp_multiset_ib_t found = acp_find_multiset(set, bytes.data(), bytes.size());
        return found.success == 1 ? found.it : end;
    });
}

acp_map_it_t acp3_find_map(acp_map_t map, acp_element_t key) {
    const acp_map_it_t end = acp_end_map(map);
    return with_bytes("acp_find_map", key, end, [&](const auto& bytes) {
        const acp_map_ib_t found = acp_find_map(map, bytes.data(), bytes.size());
        return found.success == 1 ? found.it : end;
    });
}

void acp3_remove_set(acp_set_t set, acp_element_t key) {
    (void)with_bytes("acp_remove_set", key, -1, [&](const auto& bytes) {
        return acp_remove_set(set, bytes.data(), bytes.size());
    });
}

void acp3_remove_multiset(acp_multiset_t set, acp_element_t key) {
    (void)with_bytes("acp_remove_multiset", key, -1, [&](const auto& bytes) {
        return acp_remove_multiset(set, bytes.data(), bytes.size());
    });
}

void acp3_remove_all_multiset(acp_multiset_t set, acp_element_t key) {
    (void)with_bytes("acp_remove_all_multiset", key, -1, [&](const auto& bytes) {
        return acp_remove_all_multiset(set, bytes.data(), bytes.size());
    });
}

void acp3_remove_map(acp_map_t map, acp_element_t key) {
    (void)with_bytes("acp_remove_map", key, -1, [&](const auto& bytes) {
        return acp_remove_map(map, bytes.data(), bytes.size());
    });
}

uint64_t acp3_retrieve_multiset(acp_multiset_t set, acp_element_t key) {
    return with_bytes("acp_retrieve_multiset", key, std::uint64_t{0}, [&](const auto& bytes) {
        const std::uint64_t count = acp_retrieve_multiset(set, bytes.data(), bytes.size());
        return count == UINT64_MAX ? 0 : count;
    });
}

size_t acp3_retrieve_map(acp_map_t map, acp_pair_t pair) {
    constexpr const char* call = "acp_retrieve_map";
    return with_bytes(call, pair.first, std::size_t{0}, [&](const auto& key) {
        std::vector<std::byte> value;
        // retrieve_value() keeps the failure of acp_retrieve_map.
        if (retrieve_value(map, key, pair.second.size, value) != 1 || value.empty())
            return std::size_t{0};
        const acp_ga_t into = pair.second.ga;
        const bool is_copied = api::run<Gravity::misuse_ends>(call, false, [&]() -> base::Status {
            return api::told_of_bytes(call, into, value.size(),
                                      data::put(*library().gma, into, value.data(), value.size()));
        });
        return is_copied ? value.size() : std::size_t{0};
    });
}
}
