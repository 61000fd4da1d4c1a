// SPDX-License-Identifier: BSD-3-Clause
// <acp/list.h>: single elements, iterators and properties of lists.
#include "api/list_calls.hpp"
#include "api/shared_range.hpp"
#include "message/request.hpp"

#include <acp/list.h>

namespace acp::api {

base::Result<data::Lists::Element> element_of(const void* pointer, std::size_t bytes, int rank) {
    const std::uint32_t procs = library().member->procs();
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs) {
        return base::Status(
            base::Code::argument,
            "rank " + std::to_string(rank) + " is not one of 0 to " + std::to_string(procs - 1));
    }
    if (pointer == nullptr && bytes != 0) {
        return base::Status(base::Code::argument,
                            "ptr is NULL, and size is " + std::to_string(bytes));
    }
    if (auto status = refuse_shared("ptr", pointer, bytes); !status.is_ok()) return status;
    return data::Lists::Element{
        pointer, bytes,
        library().gma->space().segment().process_of(static_cast<std::uint32_t>(rank))};
}

}  // namespace acp::api

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using api::place_of;
using base::Result;
using base::Status;
using data::ListPlace;
using data::Lists;

int push(const char* call, acp_list_t list, bool is_front, const void* ptr, size_t size, int rank) {
    return api::run_on_list(call, list.ga, [&](Lists& lists) -> Status {
        auto element = api::element_of(ptr, size, rank);
        if (!element.is_ok()) return std::move(element).failure();
        auto made = is_front ? lists.push_front(list.ga, element.value())
                             : lists.insert(Lists::end_of(list.ga), element.value());
        return made.is_ok() ? Status() : std::move(made).failure();
    });
}

Result<Lists::Taken> take_end(
    Lists& lists, acp_list_t list, bool is_front, void* ptr, size_t size) {
    if (ptr == nullptr && size != 0) {
        return Status(base::Code::argument, "ptr is NULL, and size is " + std::to_string(size));
    }
    if (Status status = api::refuse_shared("ptr", ptr, size); !status.is_ok()) return status;
    return is_front ? lists.take_first(list.ga, ptr, size) : lists.take_last(list.ga, ptr, size);
}

int pop(const char* call, acp_list_t list, bool is_front) {
    return api::run_on_list(call, list.ga, [&](Lists& lists) -> Status {
        auto taken = take_end(lists, list, is_front, nullptr, 0);
        return taken.is_ok() ? Status() : std::move(taken).failure();
    });
}

int64_t take(const char* call, acp_list_t list, bool is_front, void* ptr, size_t size) {
    return api::value_on_list(call, list.ga, int64_t{-1}, [&](Lists& lists) -> Result<int64_t> {
        auto taken = take_end(lists, list, is_front, ptr, size);
        if (!taken.is_ok()) return std::move(taken).failure();
        if (!taken.value().is_there) return int64_t{ACP_NONE};
        if (taken.value().bytes > size)
            return message::truncated("element", taken.value().bytes, size);
        return static_cast<int64_t>(taken.value().bytes);
    });
}

}  // namespace

extern "C" {

acp_list_t acp_create_list(int rank) {
    return api::run<Gravity::misuse_ends>(
        "acp_create_list", acp_list_t{ACP_GA_NULL}, [&]() -> Result<acp_list_t> {
            const auto body = [&]() -> Result<acp_ga_t> {
                auto element = api::element_of(nullptr, 0, rank);
                if (!element.is_ok()) return std::move(element).failure();
                return api::lists().make(element.value().process);
            };
            auto made = body();
            if (made.is_ok()) return acp_list_t{made.value()};
            return std::move(made).failure().within("acp_create_list(rank " + std::to_string(rank) +
                                                    ")" + gma::by_rank(library().member->rank()));
        });
}

int acp_destroy_list(acp_list_t list) {
    return api::run_on_list("acp_destroy_list", list.ga,
                            [&](Lists& lists) { return lists.destroy(list.ga); });
}

int acp_push_back_list(acp_list_t list, const void* ptr, size_t size, int rank) {
    return push("acp_push_back_list", list, false, ptr, size, rank);
}

int acp_push_front_list(acp_list_t list, const void* ptr, size_t size, int rank) {
    return push("acp_push_front_list", list, true, ptr, size, rank);
}

int acp_pop_back_list(acp_list_t list) {
    return pop("acp_pop_back_list", list, false);
}

int acp_pop_front_list(acp_list_t list) {
    return pop("acp_pop_front_list", list, true);
}

int64_t acp_take_back_list(acp_list_t list, void* ptr, size_t size) {
    return take("acp_take_back_list", list, false, ptr, size);
}

int64_t acp_take_front_list(acp_list_t list, void* ptr, size_t size) {
    return take("acp_take_front_list", list, true, ptr, size);
}

acp_list_it_t acp_insert_list(acp_list_it_t it, const void* ptr, size_t size, int rank) {
    return api::place_on_list("acp_insert_list", it.list.ga,
                              [&](Lists& lists) -> Result<ListPlace> {
                                  auto element = api::element_of(ptr, size, rank);
                                  if (!element.is_ok()) return std::move(element).failure();
                                  return lists.insert(place_of(it), element.value());
                              });
}

acp_list_it_t acp_erase_list(acp_list_it_t it) {
    return api::place_on_list("acp_erase_list", it.list.ga, [&](Lists& lists) -> Result<ListPlace> {
        auto taken = lists.take(place_of(it), nullptr, 0);
        if (!taken.is_ok()) return std::move(taken).failure();
        return taken.value().next;
    });
}

int acp_splice_list(acp_list_it_t it, acp_list_it_t element) {
    return api::run_on_list("acp_splice_list", {it.list.ga, element.list.ga},
                            [&](Lists& lists) -> Status {
                                auto moved = lists.move(place_of(it), place_of(element));
                                return moved.is_ok() ? Status() : std::move(moved).failure();
                            });
}

int acp_empty_list(acp_list_t list) {
    return api::value_on_list("acp_empty_list", list.ga, -1, [&](Lists& lists) -> Result<int> {
        auto size = lists.size(list.ga);
        if (!size.is_ok()) return std::move(size).failure();
        return size.value() == 0 ? 1 : 0;
    });
}

size_t acp_size_list(acp_list_t list) {
    return api::value_on_list("acp_size_list", list.ga, SIZE_MAX,
                              [&](Lists& lists) { return lists.size(list.ga); });
}

acp_list_it_t acp_begin_list(acp_list_t list) {
    return api::place_on_list("acp_begin_list", list.ga, [&](Lists& lists) {
        return lists.neighbour(Lists::end_of(list.ga), false);
    });
}

acp_list_it_t acp_end_list(acp_list_t list) {
    return api::iterator_of(Lists::end_of(list.ga));
}

acp_list_it_t acp_increment_list_it(acp_list_it_t it) {
    return api::place_on_list("acp_increment_list_it", it.list.ga,
                              [&](Lists& lists) -> Result<ListPlace> {
                                  const ListPlace at = place_of(it);
                                  if (!at.is_end()) return lists.neighbour(at, false);
                                  auto size = lists.size(at.list);  // tests that the list exists
                                  if (!size.is_ok()) return std::move(size).failure();
                                  return at;
                              });
}

acp_list_it_t acp_decrement_list_it(acp_list_it_t it) {
    return api::place_on_list("acp_decrement_list_it", it.list.ga,
                              [&](Lists& lists) -> Result<ListPlace> {
                                  const ListPlace at = place_of(it);
                                  auto before = lists.neighbour(at, true);
                                  if (!before.is_ok() || !before.value().is_end()) return before;
                                  return at;
                              });
}

acp_element_t acp_dereference_list_it(acp_list_it_t it) {
    return api::value_on_list(
        "acp_dereference_list_it", it.list.ga, acp_element_t{ACP_GA_NULL, 0},
        [&](Lists& lists) -> Result<acp_element_t> {
            auto content = lists.content(place_of(it));
            if (!content.is_ok()) return std::move(content).failure();
            return acp_element_t{content.value().address, content.value().bytes};
        });
}

int64_t acp_read_list(acp_list_it_t it, void* ptr, size_t size) {
    return api::value_on_list(
        "acp_read_list", it.list.ga, int64_t{-1}, [&](Lists& lists) -> Result<int64_t> {
            if (ptr == nullptr && size != 0) {
                return Status(base::Code::argument,
                              "ptr is NULL, and size is " + std::to_string(size));
            }
            if (Status status = api::refuse_shared("ptr", ptr, size); !status.is_ok())
                return status;
            auto bytes = lists.read(place_of(it), ptr, size);
            if (!bytes.is_ok()) return std::move(bytes).failure();
            return static_cast<int64_t>(bytes.value());
        });
}
}
