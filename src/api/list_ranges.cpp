// SPDX-License-Identifier: BSD-3-Clause
// <acp/list.h>: whole lists and ranges of them, and advancing by several elements.
#include <limits>
#include <span>

#include "api/list_calls.hpp"
#include "api/shared_range.hpp"

#include <acp/list.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::library;
using api::place_of;
using base::Code;
using base::Result;
using base::Status;
using data::ListAlgorithms;
using data::ListPlace;
using data::Lists;

// Runs the body of a call on algorithms: body(algorithms) gives a Status.
template <typename Body>
int run_on_lists(const char* call, const api::ListArguments& list, const Body& body) noexcept {
    return api::run_on_list(call, list, [&](Lists& lists) {
        ListAlgorithms algorithms(lists, *library().allocator);
        return body(algorithms);
    });
}

template <typename Body>
acp_list_it_t place_on_lists(const char* call,
                             const api::ListArguments& list,
                             const Body& body) noexcept {
    return api::place_on_list(call, list, [&](Lists& lists) {
        ListAlgorithms algorithms(lists, *library().allocator);
        return body(algorithms);
    });
}

Result<ListAlgorithms::Compare> compare_by(acp_list_compare_t compare) {
    if (compare == nullptr) return Status(Code::argument, "compare is NULL");
    return ListAlgorithms::Compare(
        [compare](const Lists::Content& one, const Lists::Content& other) {
            return compare({one.address, one.bytes}, {other.address, other.bytes});
        });
}

}  // namespace

extern "C" {

acp_list_it_t acp_insert_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end) {
    return place_on_lists(
        "acp_insert_range_list", {it.list.ga, start.list.ga}, [&](ListAlgorithms& algorithms) {
            return algorithms.insert(place_of(it), place_of(start), place_of(end));
        });
}

acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end) {
    return place_on_lists("acp_erase_range_list", start.list.ga,
                          [&](ListAlgorithms& algorithms) -> Result<ListPlace> {
                              auto status = algorithms.erase(place_of(start), place_of(end));
                              if (!status.is_ok()) return status;
                              return place_of(end);
                          });
}

int acp_clear_list(acp_list_t list) {
    return api::run_on_list("acp_clear_list", list.ga, [&](Lists& lists) -> Status {
        auto size = lists.size(list.ga);
        if (!size.is_ok()) return std::move(size).failure();
        auto cleared = lists.clear(list.ga, size.value());
        return cleared.is_ok() ? Status() : std::move(cleared).failure();
    });
}

int acp_assign_list(acp_list_t list1, acp_list_t list2) {
    return run_on_lists(
        "acp_assign_list", {list1.ga, list2.ga}, [&](ListAlgorithms& algorithms) -> Status {
            auto first = api::lists().neighbour(Lists::end_of(list2.ga), false);
            if (!first.is_ok()) return std::move(first).failure();
            if (list1.ga == list2.ga) return {};
            return algorithms.assign(list1.ga, first.value(), Lists::end_of(list2.ga));
        });
}

int acp_assign_range_list(acp_list_t list, acp_list_it_t start, acp_list_it_t end) {
    return run_on_lists("acp_assign_range_list", {list.ga, start.list.ga},
                        [&](ListAlgorithms& algorithms) {
                            return algorithms.assign(list.ga, place_of(start), place_of(end));
                        });
}

int acp_splice_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end) {
    return run_on_lists("acp_splice_range_list", {it.list.ga, start.list.ga},
                        [&](ListAlgorithms& algorithms) {
                            return algorithms.splice(place_of(it), place_of(start), place_of(end));
                        });
}

int acp_merge_list(acp_list_t list1, acp_list_t list2, acp_list_compare_t compare) {
    return run_on_lists("acp_merge_list", {list1.ga, list2.ga},
                        [&](ListAlgorithms& algorithms) -> Status {
                            auto by = compare_by(compare);
                            if (!by.is_ok()) return std::move(by).failure();
                            return algorithms.merge(list1.ga, list2.ga, by.value());
                        });
}

int acp_remove_list(acp_list_t list, const void* ptr, size_t size) {
    return run_on_lists("acp_remove_list", list.ga, [&](ListAlgorithms& algorithms) -> Status {
        if (ptr == nullptr && size != 0) {
            return {Code::argument, "ptr is NULL, and size is " + std::to_string(size)};
        }
        if (Status status = api::refuse_shared("ptr", ptr, size); !status.is_ok()) return status;
        return algorithms.remove(list.ga, {static_cast<const std::byte*>(ptr), size});
    });
}

int acp_unique_list(acp_list_t list) {
    return run_on_lists("acp_unique_list", list.ga,
                        [&](ListAlgorithms& algorithms) { return algorithms.unique(list.ga); });
}

int acp_reverse_list(acp_list_t list) {
    return run_on_lists("acp_reverse_list", list.ga,
                        [&](ListAlgorithms& algorithms) { return algorithms.reverse(list.ga); });
}

int acp_sort_list(acp_list_t list, acp_list_compare_t compare) {
    return run_on_lists("acp_sort_list", list.ga, [&](ListAlgorithms& algorithms) -> Status {
        auto by = compare_by(compare);
        if (!by.is_ok()) return std::move(by).failure();
        return algorithms.sort(list.ga, by.value());
    });
}

int acp_swap_list(acp_list_t list1, acp_list_t list2) {
    return run_on_lists("acp_swap_list", {list1.ga, list2.ga}, [&](ListAlgorithms& algorithms) {
        return algorithms.exchange(list1.ga, list2.ga);
    });
}

acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n) {
    if (n == 0 || (n > 0 && place_of(it).is_end())) {  // it stays
        return api::place_on_list("acp_advance_list_it", it.list.ga,
                                  [&](Lists& lists) -> Result<ListPlace> {
                                      const ListPlace at = place_of(it);
                                      // Tests that the list exists.
                                      auto next = lists.neighbour(at, at.is_end());
                                      if (!next.is_ok()) return std::move(next).failure();
                                      return at;
                                  });
    }
    return place_on_lists("acp_advance_list_it", it.list.ga, [&](ListAlgorithms& algorithms) {
        return algorithms.advance(place_of(it), n);
    });
}

int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last) {
    return api::value_on_list(
        "acp_distance_list_it", first.list.ga, -1, [&](Lists& lists) -> Result<int> {
            ListAlgorithms algorithms(lists, *library().allocator);
            auto steps = algorithms.distance(place_of(first), place_of(last));
            if (!steps.is_ok()) return std::move(steps).failure();
            if (steps.value() > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
                return Status(Code::limit, "the distance is " + std::to_string(steps.value()) +
                                               " elements, more than the result, an int, can hold");
            }
            return static_cast<int>(steps.value());
        });
}
}
