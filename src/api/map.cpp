// SPDX-License-Identifier: BSD-3-Clause
// <acp/map.h>.
#include "api/hashed_functions.hpp"
#include "api/replies.hpp"

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
using data::PutMode;
using table::Effect;

// Puts an entry. make(EntryResult, EntryPlace) -> Result<T> makes the caller's result.
template <typename T, typename Make>
T put(const char* call,
      T failed,
      const acp_map_t& map,
      acp_entry_t entry,
      PutMode mode,
      const Make& make) noexcept {
    const Bytes key = bytes_at(entry.key, entry.key_size);
    return api::call_with_key(
        call, failed, map, key, [=](Hashed& hashed, const ContainerName& name) -> Result<T> {
            auto value = api::value_of(entry.value, entry.value_size);
            if (!value.is_ok()) return std::move(value).failure();
            EntryPlace place;
            auto put = hashed.put(name, {key, value.value(), mode, {}}, &place);
            if (!put.is_ok()) return std::move(put).failure();
            return make(put.value(), place);
        });
}

// Puts an entry inline; false: put() must be called.
//   it  nothing, or becomes the entry's iterator
template <typename... It>
[[gnu::always_inline]] inline bool put_at_once(acp_map_t map,
                                               const acp_entry_t& entry,
                                               PutMode mode,
                                               EntryResult& result,
                                               It&... it) noexcept {
    const Bytes key = bytes_at(entry.key, entry.key_size);
    const Bytes value = bytes_at(entry.value, entry.value_size);
    if (value.data() == nullptr && !value.empty()) return false;
    if (api::is_in_shared_range(value.data())) [[unlikely]]
        return false;
    return api::run_at_once(map, key, value.size(), result, it...,
                            [&](const data::TablePlace& place) {
                                return data::putting(place, {key, value, mode, {}});
                            });
}

acp_entry_t entry_of(const void* key,
                     std::size_t key_size,
                     const void* value,
                     std::size_t value_size) noexcept {
    // A put only reads the value.
    return {key, key_size, const_cast<void*>(value), value_size, 0, 0};
}

// Changes a value of 8 bytes. make(EntryResult) -> Result<int>
template <typename Make>
int change(const char* call,
           const acp_map_t& map,
           Bytes key,
           ChangeWords words,
           const Make& make) noexcept {
    return api::call_with_key(call, -1, map, key,
                              [=](Hashed& hashed, const ContainerName& name) -> Result<int> {
                                  auto changed = hashed.change(name, key, words, nullptr);
                                  if (!changed.is_ok()) return std::move(changed).failure();
                                  if (changed.value().effect == Effect::no_number) {
                                      return data::no_number(key);
                                  }
                                  return make(changed.value());
                              });
}

// A retrieval from a map of which the calling thread has no valid view.
[[gnu::noinline]] int retrieve_without_view(const acp_map_t& map,
                                            Bytes key,
                                            void* value,
                                            std::size_t* value_size) noexcept {
    EntryResult at_once;
    if (api::is_room(value, value_size) &&
        api::run_at_once<data::TableCalls::Finding>(
            map, key, 0, at_once, [&](const data::TablePlace& place) {
                return data::finding(place, key, api::room_at(value, *value_size));
            })) [[likely]] {
        if (at_once.effect != Effect::done) return 0;
        *value_size = at_once.value_bytes;
        return 1;
    }
    return api::call_with_key("acp_retrieve_map", -1, map, key,
                              [=](Hashed& hashed, const ContainerName& name) -> Result<int> {
                                  auto room = api::room_of(value, value_size);
                                  if (!room.is_ok()) return std::move(room).failure();
                                  auto found = hashed.find(name, key, room.value(), nullptr);
                                  if (!found.is_ok()) return std::move(found).failure();
                                  if (found.value().effect != Effect::done) return 0;
                                  *value_size = found.value().value_bytes;
                                  return 1;
                              });
}

}  // namespace

extern "C" {

ACP_HASHED_FUNCTIONS(map)

acp_map_it_t acp_insert_map(
    acp_map_t map, const void* key, size_t key_size, const void* value, size_t value_size) {
    const acp_entry_t entry = entry_of(key, key_size, value, value_size);
    EntryResult at_once;
    acp_map_it_t it;  // the object that is returned: see set_iterator
    if (put_at_once(map, entry, PutMode::insert, at_once, it)) [[likely]]
        return it;
    it = put("acp_insert_map", api::no_iterator(map), map, entry, PutMode::insert,
             [map](const EntryResult&, const EntryPlace& place) -> Result<acp_map_it_t> {
                 return api::iterator_at(map, place, data::Scope::all);
             });
    return it;
}

int acp_insert_if_absent_map(
    acp_map_t map, const void* key, size_t key_size, const void* value, size_t value_size) {
    const acp_entry_t entry = entry_of(key, key_size, value, value_size);
    EntryResult at_once;
    if (put_at_once(map, entry, PutMode::insert, at_once)) [[likely]]
        return at_once.effect == Effect::done ? 1 : 0;
    return put("acp_insert_if_absent_map", -1, map, entry, PutMode::insert,
               [](const EntryResult& result, const EntryPlace&) -> Result<int> {
                   return result.effect == Effect::done ? 1 : 0;
               });
}

int acp_insert_or_assign_map(
    acp_map_t map, const void* key, size_t key_size, const void* value, size_t value_size) {
    const acp_entry_t entry = entry_of(key, key_size, value, value_size);
    EntryResult at_once;
    if (put_at_once(map, entry, PutMode::assign, at_once)) [[likely]]
        return at_once.was_there != 0 ? 0 : 1;
    return put("acp_insert_or_assign_map", -1, map, entry, PutMode::assign,
               [](const EntryResult& result, const EntryPlace&) -> Result<int> {
                   return result.was_there != 0 ? 0 : 1;
               });
}

int acp_replace_map(acp_map_t map,
                    const acp_entry_t* entry,
                    const void* desired,
                    size_t desired_size) {
    const acp_entry_t none{};
    const acp_entry_t& old = entry != nullptr ? *entry : none;
    const Bytes key = bytes_at(old.key, old.key_size);
    return api::call_with_key(
        "acp_replace_map", -1, map, key,
        [&](Hashed& hashed, const ContainerName& name) -> Result<int> {
            if (entry == nullptr) return Status(Code::argument, "entry is NULL");
            auto expected = api::value_of(old.value, old.value_size);
            auto value = api::value_of(desired, desired_size);
            if (!expected.is_ok()) return std::move(expected).failure();
            if (!value.is_ok()) return std::move(value).failure();
            EntryPlace place;
            auto result =
                hashed.put(name, {key, value.value(), PutMode::replace, expected.value()}, &place);
            if (!result.is_ok()) return std::move(result).failure();
            switch (result.value().effect) {
                case Effect::done:
                    return 1;
                case Effect::absent:
                    return ACP_NONE;
                case Effect::no_number:
                    return Status(
                        Code::argument,
                        "the new value has " + base::in_bytes(desired_size) +
                            ", and a value of 8 bytes is replaced by one of 8 bytes only");
                default:
                    return 0;
            }
        });
}

int acp_fetch_add_map(
    acp_map_t map, const void* key, size_t key_size, uint64_t addend, uint64_t* old) {
    const Bytes bytes = bytes_at(key, key_size);
    const ChangeWords words{ChangeKind::fetch_add_or_insert, addend, 0};
    EntryResult at_once;
    if (key_size <= data::changed_key_bytes_max &&
        api::run_at_once(
            map, bytes, 0, at_once,
            [&](const data::TablePlace& place) { return data::changing(place, bytes, words); }) &&
        at_once.effect != Effect::no_number) [[likely]] {
        if (old != nullptr) *old = at_once.number;
        return at_once.effect == Effect::done ? 0 : 1;
    }
    return change("acp_fetch_add_map", map, bytes, words,
                  [old](const EntryResult& result) -> Result<int> {
                      if (old != nullptr) *old = result.number;
                      return result.effect == Effect::done ? 0 : 1;
                  });
}

int acp_compare_exchange_map(
    acp_map_t map, const void* key, size_t key_size, uint64_t* expected, uint64_t desired) {
    const Bytes bytes = bytes_at(key, key_size);
    if (expected == nullptr) {
        return api::call_with_key("acp_compare_exchange_map", -1, map, bytes,
                                  [](Hashed&, const ContainerName&) -> Result<int> {
                                      return Status(Code::argument, "expected is NULL");
                                  });
    }
    return change("acp_compare_exchange_map", map, bytes,
                  {ChangeKind::compare_exchange, desired, *expected},
                  [&](const EntryResult& result) -> Result<int> {
                      if (result.effect == Effect::absent) return ACP_NONE;
                      if (result.effect == Effect::done) return 1;
                      *expected = result.number;
                      return 0;
                  });
}

acp_map_ib_t acp_find_map(acp_map_t map, const void* key, size_t key_size) {
    acp_map_ib_t found;
    api::find("acp_find_map", map, bytes_at(key, key_size), found);
    return found;
}

int acp_retrieve_map(
    acp_map_t map, const void* key, size_t key_size, void* value, size_t* value_size) {
    using Found = data::TableViews::Found;
    const Bytes bytes = bytes_at(key, key_size);
    if (api::is_room(value, value_size)) [[likely]] {
        std::uint64_t tables = 0;
        const Found found = api::find_by_view(
            map, bytes, tables,
            [&](const data::TableView&, std::uint64_t, const auto& record, std::uint64_t) {
                record.copy_value(value, *value_size);
                *value_size = record.value_bytes;
            });
        if (found != Found::unknown) [[likely]]
            return found == Found::there ? 1 : 0;
    }
    return retrieve_without_view(map, bytes, value, value_size);
}

int acp_remove_map(acp_map_t map, const void* key, size_t key_size) {
    const Bytes bytes = bytes_at(key, key_size);
    EntryResult at_once;
    if (api::run_at_once(map, bytes, 0, at_once, [&](const data::TablePlace& place) {
            return data::erasing(place, bytes);
        })) [[likely]] {
        return at_once.effect == Effect::done ? 1 : 0;
    }
    return api::remove("acp_remove_map", map, bytes_at(key, key_size));
}

int64_t acp_find_many_map(acp_map_t map, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_find_many_map", map, BatchKind::find, count, entries);
}

int64_t acp_insert_many_map(acp_map_t map, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_insert_many_map", map, BatchKind::insert, count, entries);
}

int64_t acp_assign_many_map(acp_map_t map, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_assign_many_map", map, BatchKind::assign, count, entries);
}

int64_t acp_remove_many_map(acp_map_t map, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_remove_many_map", map, BatchKind::erase, count, entries);
}

int64_t acp_fetch_add_many_map(acp_map_t map, size_t count, acp_entry_t* entries) {
    return api::call_many("acp_fetch_add_many_map", map, BatchKind::fetch_add_or_insert, count,
                          entries);
}

int64_t acp_for_each_local_map(acp_map_t map,
                               int (*visit)(const void* key,
                                            size_t key_size,
                                            const void* value,
                                            size_t value_size,
                                            void* argument),
                               void* argument) {
    return api::for_each_local(
        "acp_for_each_local_map", map, visit != nullptr, [&](Bytes key, Bytes value) {
            return visit(key.data(), key.size(), value.data(), value.size(), argument) == 0;
        });
}

acp_pair_t acp_dereference_map_it(acp_map_it_t it) {
    return api::pair_at<acp_map_t>("acp_dereference_map_it", it);
}

acp_handle_t acp_start_retrieve_map(acp_map_t map,
                                    const void* key,
                                    size_t key_size,
                                    acp_reply_t* reply) {
    const acp_entry_t entry = entry_of(key, key_size, nullptr, 0);
    return api::start("acp_start_retrieve_map", map, BatchKind::find, &entry, reply);
}

acp_handle_t acp_start_insert_map(acp_map_t map, const acp_entry_t* entry, acp_reply_t* reply) {
    return api::start("acp_start_insert_map", map, BatchKind::insert, entry, reply);
}

acp_handle_t acp_start_assign_map(acp_map_t map, const acp_entry_t* entry, acp_reply_t* reply) {
    return api::start("acp_start_assign_map", map, BatchKind::assign, entry, reply);
}

acp_handle_t acp_start_remove_map(acp_map_t map,
                                  const void* key,
                                  size_t key_size,
                                  acp_reply_t* reply) {
    const acp_entry_t entry = entry_of(key, key_size, nullptr, 0);
    return api::start("acp_start_remove_map", map, BatchKind::erase, &entry, reply);
}

acp_handle_t acp_start_fetch_add_map(acp_map_t map, const acp_entry_t* entry, acp_reply_t* reply) {
    return api::start("acp_start_fetch_add_map", map, BatchKind::fetch_add_or_insert, entry, reply);
}
}
