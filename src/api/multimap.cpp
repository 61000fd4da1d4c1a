// SPDX-License-Identifier: BSD-3-Clause
// <acp/multimap.h>.
#include <vector>

#include "api/hashed_functions.hpp"
#include "data/ask.hpp"

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::bytes_at;
using api::ContainerName;
using base::Code;
using base::Result;
using base::Status;
using data::Bytes;
using data::EntryPlace;
using data::Hashed;
using data::KeyEntries;
using table::Effect;

// An iterator to an entry of a key, or the end.
Result<acp_multimap_it_t> iterator_to(Hashed& hashed,
                                      const ContainerName& name,
                                      const acp_multimap_t& map,
                                      const KeyEntries& found) {
    if (found.count != 0) return api::iterator_at(map, found.last, data::Scope::all);
    auto end = data::HashedWalk(hashed).end(name, data::Scope::all);
    if (!end.is_ok()) return std::move(end).failure();
    return api::iterator_at(map, end.value(), data::Scope::all);
}

}  // namespace

extern "C" {

ACP_HASHED_FUNCTIONS(multimap)

acp_multimap_it_t acp_insert_multimap(
    acp_multimap_t map, const void* key, size_t key_size, const void* value, size_t value_size) {
    const Bytes bytes = bytes_at(key, key_size);
    return api::call_with_key(
        "acp_insert_multimap", api::no_iterator(map), map, bytes,
        [&](Hashed& hashed, const ContainerName& name) -> Result<acp_multimap_it_t> {
            auto stored = api::value_of(value, value_size);
            if (!stored.is_ok()) return std::move(stored).failure();
            EntryPlace place;
            auto put = hashed.put(name, {bytes, stored.value(), data::PutMode::add, {}}, &place);
            if (!put.is_ok()) return std::move(put).failure();
            return api::iterator_at(map, place, data::Scope::all);
        });
}

acp_multimap_ib_t acp_find_multimap(acp_multimap_t map, const void* key, size_t key_size) {
    const Bytes bytes = bytes_at(key, key_size);
    return api::call_with_key(
        "acp_find_multimap", acp_multimap_ib_t{api::no_iterator(map), -1}, map, bytes,
        [&](Hashed& hashed, const ContainerName& name) -> Result<acp_multimap_ib_t> {
            auto first = hashed.next_of_key(name, bytes, {});
            if (!first.is_ok()) return std::move(first).failure();
            auto it = iterator_to(hashed, name, map, first.value());
            if (!it.is_ok()) return std::move(it).failure();
            return acp_multimap_ib_t{it.value(), first.value().count != 0 ? 1 : 0};
        });
}

acp_multimap_it_t acp_increment_key_multimap_it(acp_multimap_it_t it) {
    return api::call_hashed(
        "acp_increment_key_multimap_it", api::no_iterator(it.map), it.map,
        [&](Hashed& hashed, const ContainerName& name) -> Result<acp_multimap_it_t> {
            if (it.rank < 0) return it;
            if (auto status = api::check_iterator<acp_multimap_t>(it); !status.is_ok())
                return status;
            if (it.elem == ACP_GA_NULL) return it;
            std::vector<std::byte> key(it.key_size);
            const acp_element_t element =
                api::pair_at<acp_multimap_t>("acp_increment_key_multimap_it", it).first;
            auto status = data::get(*api::library().gma, key.data(), element.ga, element.size);
            if (!status.is_ok()) return status;
            auto next = hashed.next_of_key(name, key, {it.slot, it.tie});
            if (!next.is_ok()) return std::move(next).failure();
            return iterator_to(hashed, name, it.map, next.value());
        });
}

int64_t acp_count_multimap(acp_multimap_t map, const void* key, size_t key_size) {
    const Bytes bytes = bytes_at(key, key_size);
    return api::call_with_key(
        "acp_count_multimap", std::int64_t{-1}, map, bytes,
        [&](Hashed& hashed, const ContainerName& name) -> Result<std::int64_t> {
            std::int64_t count = 0;
            for (table::WalkPlace after;;) {
                auto next = hashed.next_of_key(name, bytes, after, allocator::key_entries_max);
                if (!next.is_ok()) return std::move(next).failure();
                count += static_cast<std::int64_t>(next.value().count);
                if (next.value().count < allocator::key_entries_max) return count;
                after = next.value().last.walk;
            }
        });
}

int acp_read_multimap_it(acp_multimap_it_t it, void* value, size_t* value_size) {
    return api::call_hashed("acp_read_multimap_it", -1, it.map,
                            [&](Hashed& hashed, const ContainerName& name) -> Result<int> {
                                auto room = api::room_of(value, value_size);
                                if (!room.is_ok()) return std::move(room).failure();
                                auto status = api::check_iterator<acp_multimap_t>(it);
                                if (!status.is_ok()) return status;
                                if (it.elem == ACP_GA_NULL)
                                    return Status(Code::argument, "the iterator is at no entry");
                                auto read = hashed.read(name, api::place_of<acp_multimap_t>(it),
                                                        room.value());
                                if (!read.is_ok()) return std::move(read).failure();
                                if (read.value().effect != Effect::done) return 0;
                                *value_size = read.value().value_bytes;
                                return 1;
                            });
}

int64_t acp_remove_multimap(acp_multimap_t map, const void* key, size_t key_size) {
    const Bytes bytes = bytes_at(key, key_size);
    return api::call_with_key(
        "acp_remove_multimap", std::int64_t{-1}, map, bytes,
        [&](Hashed& hashed, const ContainerName& name) -> Result<std::int64_t> {
            for (std::int64_t erased = 0;; ++erased) {
                auto one = hashed.erase(name, bytes);
                if (!one.is_ok()) return std::move(one).failure();
                if (one.value().effect != Effect::done) return erased;
            }
        });
}

int64_t acp_for_each_local_multimap(acp_multimap_t map,
                                    int (*visit)(const void* key,
                                                 size_t key_size,
                                                 const void* value,
                                                 size_t value_size,
                                                 void* argument),
                                    void* argument) {
    return api::for_each_local(
        "acp_for_each_local_multimap", map, visit != nullptr, [&](Bytes key, Bytes value) {
            return visit(key.data(), key.size(), value.data(), value.size(), argument) == 0;
        });
}

acp_pair_t acp_dereference_multimap_it(acp_multimap_it_t it) {
    return api::pair_at<acp_multimap_t>("acp_dereference_multimap_it", it);
}
}
