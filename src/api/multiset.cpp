// SPDX-License-Identifier: BSD-3-Clause
// <acp/multiset.h>.
#include <cstring>

#include "api/hashed_functions.hpp"

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::BatchKind;
using api::bytes_at;
using api::ContainerName;
using base::Code;
using base::Result;
using base::Status;
using data::Bytes;
using data::ChangeKind;
using data::ChangeWords;
using data::EntryPlace;
using data::EntryResult;
using data::Hashed;
using table::Effect;

// Changes the count of a key. make(EntryResult, EntryPlace) -> Result<T>
template <typename T, typename Make>
T count_key(const char* call,
            T failed,
            acp_multiset_t set,
            Bytes key,
            const ChangeWords& words,
            const Make& make) noexcept {
    return api::call_with_key(call, failed, set, key,
                              [&](Hashed& hashed, const ContainerName& name) -> Result<T> {
                                  EntryPlace place;
                                  auto changed = hashed.change(name, key, words, &place);
                                  if (!changed.is_ok()) return std::move(changed).failure();
                                  return make(changed.value(), place);
                              });
}

int take(const char* call, acp_multiset_t set, Bytes key, std::uint64_t number) noexcept {
    return count_key(call, -1, set, key, {ChangeKind::take_from_count, number, 0},
                     [](const EntryResult& result, const EntryPlace&) -> Result<int> {
                         return result.effect == Effect::done ? 1 : 0;
                     });
}

// More than any count.
constexpr std::uint64_t all_of_it = ~std::uint64_t{0};

// The result of a count after a failure.
constexpr std::uint64_t no_count = ~std::uint64_t{0};

}  // namespace

extern "C" {

ACP_HASHED_FUNCTIONS(multiset)

acp_multiset_it_t acp_insert_multiset(acp_multiset_t set, const void* key, size_t key_size) {
    return count_key("acp_insert_multiset", api::no_iterator(set), set, bytes_at(key, key_size),
                     {ChangeKind::count_and_mark, 1, 0},
                     [&](const EntryResult&, const EntryPlace& place) -> Result<acp_multiset_it_t> {
                         return api::iterator_at(set, place, data::Scope::all);
                     });
}

uint64_t acp_add_multiset(acp_multiset_t set, const void* key, size_t key_size, uint64_t number) {
    return count_key("acp_add_multiset", no_count, set, bytes_at(key, key_size),
                     {ChangeKind::add_to_count, number, 0},
                     [&](const EntryResult& result, const EntryPlace&) -> Result<std::uint64_t> {
                         return result.number;
                     });
}

acp_multiset_ib_t acp_find_multiset(acp_multiset_t set, const void* key, size_t key_size) {
    return api::find_long<acp_multiset_ib_t>("acp_find_multiset", set, bytes_at(key, key_size));
}

uint64_t acp_retrieve_multiset(acp_multiset_t set, const void* key, size_t key_size) {
    const Bytes bytes = bytes_at(key, key_size);
    return api::call_with_key(
        "acp_retrieve_multiset", no_count, set, bytes,
        [&](Hashed& hashed, const ContainerName& name) -> Result<std::uint64_t> {
            std::uint64_t count = 0;
            auto found =
                hashed.find(name, bytes, std::as_writable_bytes(std::span(&count, 1)), nullptr);
            if (!found.is_ok()) return std::move(found).failure();
            const bool is_there =
                found.value().effect == Effect::done && count != table::ended_count;
            return is_there ? count : 0;
        });
}

int acp_remove_multiset(acp_multiset_t set, const void* key, size_t key_size) {
    return take("acp_remove_multiset", set, bytes_at(key, key_size), 1);
}

int acp_remove_all_multiset(acp_multiset_t set, const void* key, size_t key_size) {
    return take("acp_remove_all_multiset", set, bytes_at(key, key_size), all_of_it);
}

int64_t acp_add_many_multiset(acp_multiset_t set, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_add_many_multiset", set, BatchKind::add_to_count, count, entries);
}

int64_t acp_find_many_multiset(acp_multiset_t set, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_find_many_multiset", set, BatchKind::find, count, entries);
}

int64_t acp_for_each_local_multiset(
    acp_multiset_t set,
    int (*visit)(const void* key, size_t key_size, uint64_t count, void* argument),
    void* argument) {
    return api::for_each_local(
        "acp_for_each_local_multiset", set, visit != nullptr, [&](Bytes key, Bytes value) {
            std::uint64_t count = 0;
            std::memcpy(&count, value.data(), std::min(value.size(), sizeof count));
            return visit(key.data(), key.size(), count, argument) == 0;
        });
}

acp_element_t acp_dereference_multiset_it(acp_multiset_it_t it) {
    return api::pair_at<acp_multiset_t>("acp_dereference_multiset_it", it).first;
}
}
