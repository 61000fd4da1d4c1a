// SPDX-License-Identifier: BSD-3-Clause
// Reads the lists first, then changes them in groups of steps.
#include "data/list_algorithms.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;

namespace {

// The most elements in one operation's result, if no bytes are wanted.
constexpr std::uint32_t stretch_max = 64;

std::vector<ListPlace> places_of(const std::vector<Lists::Met>& elements) {
    std::vector<ListPlace> places;
    places.reserve(elements.size());
    for (const Lists::Met& met : elements) places.push_back(met.at);
    return places;
}

// A stable merge of two neighbouring sorted parts that stays in bounds whatever compare() returns.
void merge_parts(std::vector<Lists::Met>& all,
                 std::size_t first,
                 std::size_t middle,
                 std::size_t end,
                 const ListAlgorithms::Compare& compare) {
    std::vector<Lists::Met> merged;
    std::size_t left = first;
    std::size_t right = middle;
    while (left < middle && right < end) {
        const bool is_left = compare(all[left].content, all[right].content) <= 0;
        merged.push_back(std::move(all[is_left ? left++ : right++]));
    }
    while (left < middle) merged.push_back(std::move(all[left++]));
    while (right < end) merged.push_back(std::move(all[right++]));
    std::move(merged.begin(), merged.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
}

void merge_sort(std::vector<Lists::Met>& all, const ListAlgorithms::Compare& compare) {
    for (std::size_t width = 1; width < all.size(); width *= 2) {
        for (std::size_t first = 0; first + width < all.size(); first += 2 * width) {
            merge_parts(all, first, first + width, std::min(first + 2 * width, all.size()),
                        compare);
        }
    }
}

}  // namespace

// Tests whether the list exists.
Status ListAlgorithms::look_for(GlobalAddress list) {
    auto size = lists_.size(list);
    return size.is_ok() ? Status() : std::move(size).failure();
}

// Tests whether the element, or the list at whose end the place is, exists.
Status ListAlgorithms::look_for(const ListPlace& at) {
    if (at.is_end()) return look_for(at.list);
    auto content = lists_.content(at);
    return content.is_ok() ? Status() : std::move(content).failure();
}

Result<std::vector<Lists::Met>> ListAlgorithms::range(const ListPlace& first,
                                                      const ListPlace& end,
                                                      std::uint32_t room_bytes) {
    if (first.list != end.list) {
        return Status(Code::argument, "the iterators are of different lists, " +
                                          allocator_.name_of(first.list) + " and " +
                                          allocator_.name_of(end.list));
    }
    std::vector<Lists::Met> met;
    if (first.is_end() && !end.is_end()) {
        return Status(Code::argument, "the range begins at the end of the list " +
                                          allocator_.name_of(first.list) +
                                          " and does not end there");
    }
    if (first.is_end() || first == end) {
        auto status = look_for(first);
        if (!status.is_ok()) return status;
        return met;
    }
    auto content = lists_.content(first);
    if (!content.is_ok()) return std::move(content).failure();
    met.push_back({first, content.value(), {}, false});
    while (true) {
        auto found = lists_.stretch(met.back().at, false, stretch_max, room_bytes);
        if (!found.is_ok() && found.failure().code() == Code::stale && met.size() > 1) {
            met.pop_back();  // it was taken out: retry behind the element before it
            continue;
        }
        if (!found.is_ok()) return std::move(found).failure();
        for (Lists::Met& one : found.value().elements) {
            if (one.at == end) return met;
            met.push_back(std::move(one));
        }
        if (!found.value().is_at_end) continue;
        if (end.is_end()) return met;
        auto of_end = lists_.content(end);
        if (!of_end.is_ok()) return std::move(of_end).failure();
        return Status(Code::argument, "the element " + base::hex(end.element) +
                                          " does not come behind " + base::hex(first.element) +
                                          " in the list " + allocator_.name_of(first.list));
    }
}

Result<std::vector<Lists::Met>> ListAlgorithms::all(GlobalAddress list, std::uint32_t room_bytes) {
    const ListPlace end = Lists::end_of(list);
    std::vector<Lists::Met> met;
    ListPlace at = end;
    while (true) {
        auto found = lists_.stretch(at, false, stretch_max, room_bytes);
        if (!found.is_ok() && found.failure().code() == Code::stale && !met.empty()) {
            met.pop_back();
            at = met.empty() ? end : met.back().at;
            continue;
        }
        if (!found.is_ok()) return std::move(found).failure();
        for (Lists::Met& one : found.value().elements) met.push_back(std::move(one));
        if (found.value().is_at_end) return met;
        if (!met.empty()) at = met.back().at;
    }
}

Result<std::vector<std::byte>> ListAlgorithms::bytes_of(const Lists::Met& met) {
    if (met.has_bytes && met.bytes.size() == met.content.bytes) return met.bytes;
    std::vector<std::byte> bytes(met.content.bytes);
    auto read = lists_.read(met.at, bytes.data(), bytes.size());
    if (!read.is_ok()) return std::move(read).failure();
    return bytes;
}

Result<std::vector<ListAlgorithms::Copied>> ListAlgorithms::copies(const ListPlace& first,
                                                                   const ListPlace& end) {
    auto met = range(first, end, allocator::list_inline_max);
    if (!met.is_ok()) return std::move(met).failure();
    std::vector<Copied> copied;
    for (const Lists::Met& one : met.value()) {
        auto owner = allocator_.owner_of(one.content.address);
        if (!owner.is_ok()) return std::move(owner).failure();
        auto bytes = bytes_of(one);
        if (!bytes.is_ok() && bytes.failure().code() == Code::stale) continue;  // taken out since
        if (!bytes.is_ok()) return std::move(bytes).failure();
        copied.push_back({std::move(bytes).value(), owner.value()});
    }
    return copied;
}

// Inserts copies in order before a place. If one fails the earlier ones stay.
Result<ListPlace> ListAlgorithms::put(const ListPlace& before, std::span<const Copied> copies) {
    ListPlace first = before;
    for (std::size_t i = 0; i < copies.size(); ++i) {
        auto made = lists_.insert(
            before, {copies[i].bytes.data(), copies[i].bytes.size(), copies[i].process});
        if (!made.is_ok()) return made;
        if (i == 0) first = made.value();
    }
    return first;
}

Status ListAlgorithms::assign(GlobalAddress list, const ListPlace& first, const ListPlace& end) {
    auto copied = copies(first, end);
    if (!copied.is_ok()) return std::move(copied).failure();
    auto old = lists_.size(list);
    if (!old.is_ok()) return std::move(old).failure();
    auto made = put(Lists::end_of(list), copied.value());
    if (!made.is_ok()) return std::move(made).failure();
    auto cleared = lists_.clear(list, old.value());
    return cleared.is_ok() ? Status() : std::move(cleared).failure();
}

Result<ListPlace> ListAlgorithms::insert(const ListPlace& before,
                                         const ListPlace& first,
                                         const ListPlace& end) {
    auto copied = copies(first, end);
    if (!copied.is_ok()) return std::move(copied).failure();
    if (copied.value().empty()) {
        auto status = look_for(before);
        if (!status.is_ok()) return status;
    }
    return put(before, copied.value());
}

Status ListAlgorithms::erase(const ListPlace& first, const ListPlace& end) {
    auto met = range(first, end);
    if (!met.is_ok()) return std::move(met).failure();
    return lists_.erase(first.list, places_of(met.value()));
}

Status ListAlgorithms::remove(GlobalAddress list, std::span<const std::byte> bytes) {
    auto met = all(list, allocator::list_inline_max);
    if (!met.is_ok()) return std::move(met).failure();
    Places found;
    for (const Lists::Met& one : met.value()) {
        if (one.content.bytes != bytes.size()) continue;
        auto its_bytes = bytes_of(one);
        if (!its_bytes.is_ok() && its_bytes.failure().code() == Code::stale) continue;
        if (!its_bytes.is_ok()) return std::move(its_bytes).failure();
        if (std::ranges::equal(its_bytes.value(), bytes)) found.push_back(one.at);
    }
    return lists_.erase(list, found);
}

Status ListAlgorithms::unique(GlobalAddress list) {
    auto met = all(list, allocator::list_inline_max);
    if (!met.is_ok()) return std::move(met).failure();
    Places found;
    std::vector<std::byte> before;
    bool has_before = false;
    for (const Lists::Met& one : met.value()) {
        auto bytes = bytes_of(one);
        if (!bytes.is_ok() && bytes.failure().code() == Code::stale) continue;
        if (!bytes.is_ok()) return std::move(bytes).failure();
        if (has_before && bytes.value() == before) found.push_back(one.at);
        before = std::move(bytes).value();
        has_before = true;
    }
    return lists_.erase(list, found);
}

Status ListAlgorithms::reverse(GlobalAddress list) {
    auto met = all(list);
    if (!met.is_ok()) return std::move(met).failure();
    Places places = places_of(met.value());
    std::reverse(places.begin(), places.end());
    return lists_.gather(list, places);
}

Status ListAlgorithms::sort(GlobalAddress list, const Compare& compare) {
    auto met = all(list);
    if (!met.is_ok()) return std::move(met).failure();
    merge_sort(met.value(), compare);
    return lists_.gather(list, places_of(met.value()));
}

bool ListAlgorithms::is_one_heap(GlobalAddress one, GlobalAddress other) const {
    const auto home = lists_.home_of(one);
    const auto other_home = lists_.home_of(other);
    return home.is_ok() && other_home.is_ok() && home.value() == other_home.value();
}

// Moves elements of any lists to the end of one, in order.
Status ListAlgorithms::append(GlobalAddress to, const Places& elements) {
    const bool are_here = std::ranges::all_of(
        elements, [&](const ListPlace& at) { return is_one_heap(to, at.list); });
    if (are_here) return lists_.gather(to, elements);
    for (const ListPlace& at : elements) {
        auto moved = lists_.move(Lists::end_of(to), at);
        if (!moved.is_ok() && moved.failure().code() == Code::stale) continue;
        if (!moved.is_ok()) return std::move(moved).failure();
    }
    return {};
}

Status ListAlgorithms::merge(GlobalAddress to, GlobalAddress from, const Compare& compare) {
    if (to == from) return look_for(to);
    auto first = all(to);
    if (!first.is_ok()) return std::move(first).failure();
    auto second = all(from);
    if (!second.is_ok()) return std::move(second).failure();
    std::vector<Lists::Met> merged = std::move(first).value();
    const std::size_t middle = merged.size();
    for (Lists::Met& one : second.value()) merged.push_back(std::move(one));
    merge_parts(merged, 0, middle, merged.size(), compare);
    return append(to, places_of(merged));
}

Status ListAlgorithms::splice(const ListPlace& before,
                              const ListPlace& first,
                              const ListPlace& end) {
    auto met = range(first, end);
    if (!met.is_ok()) return std::move(met).failure();
    const Places places = places_of(met.value());
    if (places.empty()) return look_for(before);
    for (const ListPlace& at : places) {
        if (before == at) {
            return {Code::argument, "the element " + base::hex(before.element) +
                                        " before which the range is to be lies in the range"};
        }
    }
    if (before.is_end()) return append(before.list, places);
    for (const ListPlace& at : places) {
        auto moved = lists_.move(before, at);
        if (!moved.is_ok()) return std::move(moved).failure();
    }
    return {};
}

Status ListAlgorithms::exchange(GlobalAddress one, GlobalAddress other) {
    if (one == other) return look_for(one);
    auto first = all(one);
    if (!first.is_ok()) return std::move(first).failure();
    auto second = all(other);
    if (!second.is_ok()) return std::move(second).failure();
    auto status = append(other, places_of(first.value()));
    return status.is_ok() ? append(one, places_of(second.value())) : std::move(status);
}

Result<ListPlace> ListAlgorithms::advance(const ListPlace& from, std::int64_t steps) {
    const bool is_backward = steps < 0;
    if (from.is_end() && !is_backward) return from;
    const std::uint64_t all =
        is_backward ? 0 - static_cast<std::uint64_t>(steps) : static_cast<std::uint64_t>(steps);
    std::vector<Lists::Met> met;  // the last ones on the way
    ListPlace at = from;
    for (std::uint64_t left = all; left > 0;) {
        const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, stretch_max));
        auto found = lists_.stretch(at, is_backward, most);
        if (!found.is_ok() && found.failure().code() == Code::stale && !met.empty()) {
            met.pop_back();  // it was taken out: look again behind the one before it
            at = met.empty() ? from : met.back().at;
            left = met.empty() ? all : left + 1;
            continue;
        }
        if (!found.is_ok()) return std::move(found).failure();
        auto& elements = found.value().elements;
        left -= elements.size();
        if (!elements.empty()) met = std::move(elements);
        if (!met.empty()) at = met.back().at;
        if (found.value().is_at_end && left > 0) return is_backward ? at : Lists::end_of(from.list);
    }
    return at;
}

Result<std::uint64_t> ListAlgorithms::distance(const ListPlace& first, const ListPlace& end) {
    auto met = range(first, end);
    if (!met.is_ok()) return std::move(met).failure();
    return met.value().size();
}

}  // namespace acp::data
