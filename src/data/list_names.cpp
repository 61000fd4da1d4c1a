// SPDX-License-Identifier: BSD-3-Clause
// Resolves addresses, and describes invalid ones.
#include "data/list_names.hpp"

#include <utility>

#include "base/format.hpp"
#include "data/kind_at.hpp"

namespace acp::data {

using acp::list::ListEffect;
using acp::list::Position;
using base::Code;
using base::Result;
using base::Status;

Result<std::uint32_t> ListNames::home_of(GlobalAddress list) const {
    auto owner = allocator_.owner_of(list);
    if (!owner.is_ok()) return owner;
    const std::uint64_t heap_bytes = space_.segment().shape().heap_bytes;
    if (list - allocator_.start_of(owner.value()) >= heap_bytes) {
        return Status(Code::address, "global address " + allocator_.name_of(list) +
                                         ": it is no address that acp_create_list gave");
    }
    return owner;
}

Status ListNames::failure(ListEffect effect, const ListPlace& at) const {
    switch (effect) {
        case ListEffect::no_list: {
            auto other = refuse_other_kind(gma_, allocator_, at.list, "list");
            if (!other.is_ok()) return other;
            return {Code::stale, "no list is at global address " + allocator_.name_of(at.list) +
                                     ": it was destroyed, or never created"};
        }
        case ListEffect::end:
            return {Code::argument, "the iterator is the end of the list " +
                                        allocator_.name_of(at.list) + ": no element is there"};
        case ListEffect::damaged:
            return {Code::system, "the words of the list " + allocator_.name_of(at.list) +
                                      " contradict each other: the program has overwritten them "
                                      "(acp_heap_check tells more)"};
        default:
            return {Code::stale, "the element " + base::hex(at.element) + " is not in the list " +
                                     allocator_.name_of(at.list) +
                                     " any more: it was erased, or is in another list"};
    }
}

Result<Position> ListNames::position(const ListPlace& at) const {
    if (at.is_end()) return Position{};
    auto home = home_of(at.list);
    if (!home.is_ok()) return std::move(home).failure();
    const GlobalAddress offset = at.element - allocator_.start_of(home.value());
    if (offset >= space_.segment().shape().heap_bytes || offset % heap::granule_bytes != 0) {
        return Status(Code::argument, "the iterator's element " + base::hex(at.element) +
                                          " cannot be one of the list " +
                                          allocator_.name_of(at.list));
    }
    return Position{acp::list::number_of(offset), at.mark};
}

ListPlace ListNames::place(GlobalAddress list, const Position& at) const {
    const auto process = static_cast<std::uint32_t>(space_.layout().process(list));
    const GlobalAddress element = allocator_.start_of(process) + acp::list::offset_of(at.node);
    return element == list ? ListPlace{list, list, 0} : ListPlace{list, element, at.mark};
}

GlobalAddress ListNames::address_of(std::uint64_t apart) const noexcept {
    return allocator_.start_of(allocator::process_of_apart(apart)) +
           acp::list::offset_of(allocator::block_of_apart(apart));
}

std::uint64_t ListNames::apart_of(std::uint32_t process, GlobalAddress block) const noexcept {
    return allocator::apart_address(process,
                                    acp::list::number_of(block - allocator_.start_of(process)));
}

}  // namespace acp::data
