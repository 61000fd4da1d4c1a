// SPDX-License-Identifier: BSD-3-Clause
// <acp/set.h>.
#include "api/hashed_functions.hpp"

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::BatchKind;
using api::bytes_at;
using api::ContainerName;
using base::Result;
using data::Bytes;
using data::EntryPlace;
using data::Hashed;
using table::Effect;

}  // namespace

extern "C" {

ACP_HASHED_FUNCTIONS(set)

acp_set_it_t acp_insert_set(acp_set_t set, const void* key, size_t key_size) {
    const Bytes bytes = bytes_at(key, key_size);
    data::EntryResult at_once;
    acp_set_it_t it;  // the object that is returned: see set_iterator
    if (api::run_at_once(set, bytes, 0, at_once, it, [&](const data::TablePlace& place) {
            return data::putting(place, {bytes, {}, data::PutMode::insert, {}});
        })) [[likely]] {
        return it;
    }
    it = api::call_with_key(
        "acp_insert_set", api::no_iterator(set), set, bytes,
        [=](Hashed& hashed, const ContainerName& name) -> Result<acp_set_it_t> {
            EntryPlace place;
            auto put = hashed.put(name, {bytes, {}, data::PutMode::insert, {}}, &place);
            if (!put.is_ok()) return std::move(put).failure();
            return api::iterator_at(set, place, data::Scope::all);
        });
    return it;
}

int acp_insert_if_absent_set(acp_set_t set, const void* key, size_t key_size) {
    const Bytes bytes = bytes_at(key, key_size);
    data::EntryResult at_once;
    if (api::run_at_once(set, bytes, 0, at_once, [&](const data::TablePlace& place) {
            return data::putting(place, {bytes, {}, data::PutMode::insert, {}});
        })) [[likely]] {
        return at_once.effect == Effect::done ? 1 : 0;
    }
    return api::call_with_key(
        "acp_insert_if_absent_set", -1, set, bytes,
        [=](Hashed& hashed, const ContainerName& name) -> Result<int> {
            auto put = hashed.put(name, {bytes, {}, data::PutMode::insert, {}}, nullptr);
            if (!put.is_ok()) return std::move(put).failure();
            return put.value().effect == Effect::done ? 1 : 0;
        });
}

acp_set_ib_t acp_find_set(acp_set_t set, const void* key, size_t key_size) {
    acp_set_ib_t found;
    api::find("acp_find_set", set, bytes_at(key, key_size), found);
    return found;
}

int acp_contains_set(acp_set_t set, const void* key, size_t key_size) {
    const Bytes bytes = bytes_at(key, key_size);
    data::EntryResult at_once;
    if (api::run_at_once<data::TableCalls::Finding>(set, bytes, 0, at_once,
                                                    [&](const data::TablePlace& place) {
                                                        return data::finding(place, bytes, {});
                                                    })) [[likely]] {
        return at_once.effect == Effect::done ? 1 : 0;
    }
    return api::call_with_key("acp_contains_set", -1, set, bytes,
                              [=](Hashed& hashed, const ContainerName& name) -> Result<int> {
                                  auto found = hashed.find(name, bytes, {}, nullptr);
                                  if (!found.is_ok()) return std::move(found).failure();
                                  return found.value().effect == Effect::done ? 1 : 0;
                              });
}

int acp_remove_set(acp_set_t set, const void* key, size_t key_size) {
    return api::remove("acp_remove_set", set, bytes_at(key, key_size));
}

int64_t acp_find_many_set(acp_set_t set, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_find_many_set", set, BatchKind::find, count, entries);
}

int64_t acp_insert_many_set(acp_set_t set, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_insert_many_set", set, BatchKind::insert, count, entries);
}

int64_t acp_remove_many_set(acp_set_t set, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_remove_many_set", set, BatchKind::erase, count, entries);
}

int64_t acp_for_each_local_set(acp_set_t set,
                               int (*visit)(const void* key, size_t key_size, void* argument),
                               void* argument) {
    return api::for_each_local(
        "acp_for_each_local_set", set, visit != nullptr,
        [&](Bytes key, Bytes) { return visit(key.data(), key.size(), argument) == 0; });
}

acp_element_t acp_dereference_set_it(acp_set_it_t it) {
    return api::pair_at<acp_set_t>("acp_dereference_set_it", it).first;
}
}
