// SPDX-License-Identifier: BSD-3-Clause
// <acp/compat3_hashed.h>: gets the bytes that a program of ACP 3.0 names by a global address, then calls what <acp/map.h>,
// <acp/set.h> and <acp/multiset.h> declare. Any thread.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/boundary.hpp"
#include "api/library.hpp"
#include "base/format.hpp"
#include "data/ask.hpp"
#include "gma/commands.hpp"

// Here the names are those of acp.h.
#define ACP_COMPAT3_KEEPS_NAMES
#include <acp/compat3_hashed.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;

// Copies `bytes` from a global address, or to it, and waits until that is done.
base::Status copy_whole(const char* call,
                        acp_ga_t ga,
                        std::span<std::byte> bytes,
                        memory::IssuedBy by) {
    if (bytes.empty()) return {};
    gma::Gma& gma = *library().gma;
    auto status = by == memory::IssuedBy::read ? data::get(gma, bytes.data(), ga, bytes.size())
                                               : data::put(gma, ga, bytes.data(), bytes.size());
    if (status.is_ok()) return status;
    return std::move(status).within(std::string(call) + "(" + base::in_bytes(bytes.size()) +
                                    " at " + base::hex(ga) + ")" +
                                    gma::by_rank(library().member->rank()));
}

// Gets an element's bytes to here. false: they cannot be had, and the failure is kept.
bool fetch_element(const char* call,
                   acp_element_t element,
                   std::vector<std::byte>& bytes) noexcept {
    return api::run<Gravity::misuse_ends>(call, false, [&]() -> base::Status {
        bytes.resize(element.size);
        return copy_whole(call, element.ga, bytes, memory::IssuedBy::read);
    });
}

// Calls use(bytes) with the bytes of a key; `failed` where they cannot be had.
template <typename Result, typename Use>
Result with_key(const char* call, acp_element_t key, Result failed, const Use& use) noexcept {
    std::vector<std::byte> bytes;
    return fetch_element(call, key, bytes) ? use(bytes) : failed;
}

// Reads a value into `bytes`, as much of it as there is room for. Returns as acp_retrieve_map.
int retrieve_value(acp_map_t map,
                   const std::vector<std::byte>& key,
                   std::size_t room_bytes,
                   std::vector<std::byte>& bytes) {
    constexpr std::size_t first_try_bytes = 1024;
    bytes.resize(std::min(room_bytes, first_try_bytes));
    for (;;) {
        std::size_t size = bytes.size();
        const int found = acp_retrieve_map(map, key.data(), key.size(), bytes.data(), &size);
        if (found != 1) return found;
        const std::size_t wanted = std::min(size, room_bytes);
        const bool is_whole = wanted <= bytes.size();
        bytes.resize(wanted);
        if (is_whole) return found;
    }
}

}  // namespace

extern "C" {

int acp3_insert_set(acp_set_t set, acp_element_t key) {
    if (key.size == 0) return 0;
    return with_key("acp_insert_set", key, 0, [&](const auto& bytes) {
        return acp_insert_if_absent_set(set, bytes.data(), bytes.size()) == 1 ? 1 : 0;
    });
}

int acp3_insert_multiset(acp_multiset_t set, acp_element_t key) {
    if (key.size == 0) return 0;
    return with_key("acp_insert_multiset", key, 0, [&](const auto& bytes) {
        return acp_add_multiset(set, bytes.data(), bytes.size(), 1) != 0 ? 1 : 0;
    });
}

int acp3_insert_map(acp_map_t map, acp_pair_t pair) {
    if (pair.first.size == 0) return 0;
    return with_key("acp_insert_map", pair.first, 0, [&](const auto& key) {
        std::vector<std::byte> value;
        if (!fetch_element("acp_insert_map", pair.second, value)) return 0;
        const int result =
            acp_insert_if_absent_map(map, key.data(), key.size(), value.data(), value.size());
        return result == 1 ? 1 : 0;
    });
}

acp_set_it_t acp3_find_set(acp_set_t set, acp_element_t key) {
    const acp_set_it_t end = acp_end_set(set);
    return with_key("acp_find_set", key, end, [&](const auto& bytes) {
        const acp_set_ib_t found = acp_find_set(set, bytes.data(), bytes.size());
        return found.success == 1 ? found.it : end;
    });
}

acp_multiset_it_t acp3_find_multiset(acp_multiset_t set, acp_element_t key) {
    const acp_multiset_it_t end = acp_end_multiset(set);
    return with_key("acp_find_multiset", key, end, [&](const auto& bytes) {
        const acp_multiset_ib_t found = acp_find_multiset(set, bytes.data(), bytes.size());
        return found.success == 1 ? found.it : end;
    });
}

acp_map_it_t acp3_find_map(acp_map_t map, acp_element_t key) {
    const acp_map_it_t end = acp_end_map(map);
    return with_key("acp_find_map", key, end, [&](const auto& bytes) {
        const acp_map_ib_t found = acp_find_map(map, bytes.data(), bytes.size());
        return found.success == 1 ? found.it : end;
    });
}

void acp3_remove_set(acp_set_t set, acp_element_t key) {
    (void)with_key("acp_remove_set", key, -1, [&](const auto& bytes) {
        return acp_remove_set(set, bytes.data(), bytes.size());
    });
}

void acp3_remove_multiset(acp_multiset_t set, acp_element_t key) {
    (void)with_key("acp_remove_multiset", key, -1, [&](const auto& bytes) {
        return acp_remove_multiset(set, bytes.data(), bytes.size());
    });
}

void acp3_remove_all_multiset(acp_multiset_t set, acp_element_t key) {
    (void)with_key("acp_remove_all_multiset", key, -1, [&](const auto& bytes) {
        return acp_remove_all_multiset(set, bytes.data(), bytes.size());
    });
}

void acp3_remove_map(acp_map_t map, acp_element_t key) {
    (void)with_key("acp_remove_map", key, -1, [&](const auto& bytes) {
        return acp_remove_map(map, bytes.data(), bytes.size());
    });
}

uint64_t acp3_retrieve_multiset(acp_multiset_t set, acp_element_t key) {
    return with_key("acp_retrieve_multiset", key, std::uint64_t{0}, [&](const auto& bytes) {
        return acp_retrieve_multiset(set, bytes.data(), bytes.size());
    });
}

size_t acp3_retrieve_map(acp_map_t map, acp_pair_t pair) {
    constexpr const char* call = "acp_retrieve_map";
    return with_key(call, pair.first, std::size_t{0}, [&](const auto& key) {
        std::vector<std::byte> value;
        // retrieve_value() keeps the failure of acp_retrieve_map; copy_whole() returns its own.
        const bool is_copied = api::run<Gravity::misuse_ends>(call, false, [&]() -> base::Status {
            if (retrieve_value(map, key, pair.second.size, value) != 1) value.clear();
            return copy_whole(call, pair.second.ga, value, memory::IssuedBy::write);
        });
        return is_copied ? value.size() : 0;
    });
}
}
