// SPDX-License-Identifier: BSD-3-Clause
// The lists of a process's heap as typed operations (local/typed_operation.hpp): a process of the
// same node runs them itself, the gateway of the owner's node runs them for other nodes. Elements
// that do not fit into one operation have separate payload blocks; if such a block is on another
// node than the list, the caller reads it itself. All operations return stale if no list is at the
// address that they name. Any thread.
// Tests: tests/unit/allocator/list_operations_test.cpp, list_reservation_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "local/typed_operation.hpp"

#include "allocator/heap_operations.hpp"
#include "allocator/node_lists.hpp"
#include "list/lists.hpp"

namespace acp::allocator {

// The most bytes of an element that are stored in its node.
inline constexpr std::uint32_t list_inline_max = 960;

// The list at an address in the heap of a process of this node; 0: none can begin there.
[[nodiscard]] list::BlockNumber list_at(const local::Space& space,
                                        std::uint32_t process,
                                        memory::GlobalAddress address) noexcept;

// "the list is 0x..."
[[nodiscard]] std::string list_named(memory::GlobalAddress list);

// The lists of one heap while an operation of the calling thread runs on them.
class OwnedLists : private OwnedHeap {
public:
    explicit OwnedLists(local::OperationContext& context) noexcept
        : OwnedHeap(context), lists_(heap(), thread()) {}

    //   heap    of a process of this node
    //   thread  the caller's number among the threads of its process
    OwnedLists(const local::Space& space, NodeHeap& heap, std::uint32_t thread) noexcept
        : OwnedHeap(space, heap, thread), lists_(heap, thread) {}

    ~OwnedLists() = default;
    OwnedLists(const OwnedLists&) = delete;
    OwnedLists& operator=(const OwnedLists&) = delete;

    [[nodiscard]] NodeLists& lists() noexcept { return lists_; }

    using OwnedHeap::heap;

    // The block of this heap at an address; 0: no list can begin there.
    [[nodiscard]] list::BlockNumber at(memory::GlobalAddress address) const noexcept {
        return list_at(space(), process(), address);
    }

    // 0: no list is there.
    [[nodiscard]] list::BlockNumber find(memory::GlobalAddress address) noexcept {
        const list::BlockNumber found = at(address);
        return found != 0 && lists_->is_list(found) ? found : 0;
    }

    [[nodiscard]] memory::GlobalAddress address_of(list::BlockNumber block) const noexcept {
        return OwnedHeap::address_of(list::offset_of(block));
    }

    // The offset of a block that a request names; no_block: it names none, or none of this heap.
    [[nodiscard]] heap::Offset block_at(memory::GlobalAddress address) const noexcept {
        return address != 0 ? offset_of(address) : heap::no_block;
    }

    // The offset of a separate payload in this heap; no_block: it is in another heap.
    [[nodiscard]] heap::Offset apart_here(std::uint64_t apart) const noexcept {
        return apart != 0 && process_of_apart(apart) == process()
                   ? list::offset_of(block_of_apart(apart))
                   : heap::no_block;
    }

private:
    NodeLists lists_;
};

// A request that names a list and nothing else.
struct ListName {
    memory::GlobalAddress list = 0;
};

// The base of operations on one list: calls Operation::on(owner, list, call, reply) for the list that
// the input names. An operation whose output has an effect finds out by that whether a list is there;
// for the others this looks before. Operation::check_fields(call, shape), if there is one, checks the
// fields of a request.
template <typename Operation,
          typename InputType,
          typename OutputType,
          std::uint32_t tail_bytes = 0,
          std::uint32_t result_tail_bytes = 0>
struct ListOperation
    : local::OperationTypes<OwnedLists, InputType, OutputType, tail_bytes, result_tail_bytes> {
    using List = list::BlockNumber;

    static base::Code check(const local::OperationCall<InputType>& call,
                            const local::OwnerShape& shape) noexcept {
        if (shape.heap_bytes == 0) return base::Code::unsupported;
        if constexpr (requires { Operation::check_fields(call, shape); }) {
            return Operation::check_fields(call, shape);
        }
        return base::Code::ok;
    }

    static base::Code run(OwnedLists& owner,
                          const local::OperationCall<InputType>& call,
                          local::OperationReply<OutputType>& reply) noexcept {
        if constexpr (requires { reply->effect; }) {
            const List list = owner.at(call->list);
            if (list == 0) return base::Code::stale;
            const base::Code code = Operation::on(owner, list, call, reply);
            return reply->effect == list::ListEffect::no_list ? base::Code::stale : code;
        } else {
            const List list = owner.find(call->list);
            return list != 0 ? Operation::on(owner, list, call, reply) : base::Code::stale;
        }
    }

    static std::string places_of(const InputType& input) { return list_named(input.list); }
};

struct ListToMake {
    std::uint64_t maker = NodeHeap::nobody;  // index of the process in the job
};

struct MadeList {
    memory::GlobalAddress list = 0;  // 0: there is no room
};

// Makes an empty list, on loan to its maker until it is used (table/first_use.hpp).
struct MakeList : InHeapOperation<MakeList, OwnedLists, ListToMake, MadeList> {
    static constexpr local::OperationName name{"list.make", "making a list"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct ListInsert {
    memory::GlobalAddress list = 0;
    list::Position before;       // node 0 stands for the end, in all operations here
    std::uint32_t is_front = 0;  // 1: before the first element, wherever `before` is
    std::uint32_t is_apart = 0;  // 0 or 1
    // The process to which the separate block is on loan: it is in the list's heap, and belongs to
    // the list once the insertion is done.
    std::uint64_t lent_to = NodeHeap::nobody;
    // A block from ReserveNode that becomes the node, or 0. The list owns the block once the
    // insertion is done; after any other result the loan continues.
    memory::GlobalAddress node = 0;
    std::uint64_t node_lent_to = NodeHeap::nobody;
};

struct ListPlaced {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    list::Position at;
};

// Inserts an element. The tail is its bytes, or an ApartPayload if they are in a separate block.
struct InsertElement : ListOperation<InsertElement, ListInsert, ListPlaced, list_inline_max> {
    static constexpr local::OperationName name{"list.insert", "an insertion into a list"};
    static base::Code check_fields(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

struct ListReserve {
    memory::GlobalAddress list = 0;
    list::Position before;
    std::uint64_t bytes = 0;                   // bytes in the node: limit list_inline_max
    std::uint64_t process = NodeHeap::nobody;  // the caller's
};

struct ListReserved {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    LentBlock node;
};

// Lends the caller a block for the node of an element that it will insert before a position, which
// it has found in the list.
struct ReserveNode : ListOperation<ReserveNode, ListReserve, ListReserved> {
    static constexpr local::OperationName name{"list.reserve", "reserving room in a list"};
    static base::Code check_fields(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

enum class TakeWhich : std::uint64_t { at, first, last };

struct ListTake {
    memory::GlobalAddress list = 0;
    list::Position at;
    TakeWhich which = TakeWhich::at;
    std::uint64_t room_bytes = 0;
    std::uint64_t process = NodeHeap::nobody;  // the caller's
};

struct ListTaken {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t bytes = 0;  // length of the whole element
    // Not 0: the address of a separate block with the bytes, which do not follow. The caller reads
    // them, if it wants them, and frees or returns the block.
    std::uint64_t apart = 0;
    std::uint64_t lent_to = NodeHeap::nobody;  // the caller, if the block is on loan to it
    list::Position next;                       // the position that followed the element
};

// Takes an element out. Its first bytes follow the output, as many as the caller has room for.
struct TakeElement
    : ListOperation<TakeElement, ListTake, ListTaken, 0, local::tail_most<ListTaken>> {
    static constexpr local::OperationName name{"list.take", "taking an element of a list"};
    static base::Code check_fields(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

struct ListMove {
    memory::GlobalAddress list = 0;
    list::Position before;
    memory::GlobalAddress from = 0;  // the list of the element, of the same heap
    list::Position element;
};

// Moves an element before a position of a list. Returns its new position.
struct MoveElement : ListOperation<MoveElement, ListMove, ListPlaced> {
    static constexpr local::OperationName name{"list.move", "moving an element of a list"};
    static base::Code on(Owner& owner, List to, const Call& call, Reply& reply) noexcept;
};

struct ListStep {
    memory::GlobalAddress list = 0;
    list::Position from;
    std::uint64_t is_backward = 0;  // 0 or 1
};

// Returns the position next to another one: the end is next to the first and the last element.
struct FindNeighbour : ListOperation<FindNeighbour, ListStep, ListPlaced> {
    static constexpr local::OperationName name{"list.step", "a step of an iterator of a list"};
    static base::Code check_fields(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

struct ListRange {
    memory::GlobalAddress list = 0;
    list::Position from;
    std::uint32_t is_backward = 0;
    std::uint32_t count_max = 1;   // 1 or more
    std::uint32_t room_bytes = 0;  // bytes wanted of each element
    std::uint32_t reserved = 0;
};

struct ListRangeHead {
    list::ListEffect effect = list::ListEffect::
        done;  // result of the last step: not done if an element was taken out since
    std::array<std::uint8_t, 3> reserved{};
    std::uint32_t count = 0;
    std::uint64_t is_end = 0;  // 1: the end follows the last element returned
};

struct ListRecord {
    list::Position at;
    std::uint64_t bytes = 0;  // length of the whole element
    std::uint64_t apart = 0;  // not 0: address of a separate block with the bytes
};

// Reads elements behind a position, one after the other. A ListRecord for each follows the output,
// with its first bytes, up to the number requested and padded to a multiple of 8, unless they are in
// a separate block.
struct ReadRange
    : ListOperation<ReadRange, ListRange, ListRangeHead, 0, local::tail_most<ListRangeHead>> {
    static constexpr local::OperationName name{"list.range", "looking through a list"};
    static base::Code check_fields(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

struct ListReading {
    memory::GlobalAddress list = 0;
    list::Position at;
    std::uint64_t room_bytes = 0;
};

struct ListRead {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t bytes = 0;   // length of the whole element
    std::uint64_t place = 0;   // apart_address() of the block with the bytes
    std::uint64_t offset = 0;  // offset of the bytes in it
    std::uint64_t is_whole = 0;
};

// Reads the first bytes of an element, which follow the output.
struct ReadElement
    : ListOperation<ReadElement, ListReading, ListRead, 0, local::tail_most<ListRead>> {
    static constexpr local::OperationName name{"list.read", "reading an element of a list"};
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

struct ListCount {
    std::uint64_t elements = 0;
};

struct CountElements : ListOperation<CountElements, ListName, ListCount> {
    static constexpr local::OperationName name{"list.size", "asking for the size of a list"};
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

// How many elements one operation moves or takes out at most.
inline constexpr std::uint32_t list_members_max = 40;

struct ListMember {
    memory::GlobalAddress list = 0;
    list::Position at;
};

// Moves elements to the end of a list, one after the other, from it and from other lists of the heap:
// the tail is 1 to list_members_max ListMember. Returns how many it has moved; elements that were
// taken out since are skipped.
struct GatherElements
    : ListOperation<GatherElements, ListName, ListCount, list_members_max * sizeof(ListMember)> {
    static constexpr local::OperationName name{"list.gather", "ordering a list"};
    static base::Code check_fields(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code on(Owner& owner, List to, const Call& call, Reply& reply) noexcept;
};

// Followed by the addresses of blocks that the caller must free.
struct ListErased {
    std::uint64_t erased = 0;
    std::uint64_t left = 0;
};

inline constexpr std::uint32_t list_left_max = list_members_max * sizeof(std::uint64_t);

// Takes elements out: the tail is 1 to list_members_max list::Position.
struct EraseElements : ListOperation<EraseElements,
                                     ListName,
                                     ListErased,
                                     list_members_max * sizeof(list::Position),
                                     list_left_max> {
    static constexpr local::OperationName name{"list.erase", "erasing elements of a list"};
    static base::Code check_fields(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

struct ListClear {
    memory::GlobalAddress list = 0;
    std::uint64_t count_max = 0;  // limit: list_members_max
};

// Takes the first elements out.
struct ClearList : ListOperation<ClearList, ListClear, ListErased, 0, list_left_max> {
    static constexpr local::OperationName name{"list.clear", "clearing a list"};
    static base::Code check_fields(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

// Takes the first list_members_max elements out; if there are fewer, takes those and then the list.
struct DestroyList : ListOperation<DestroyList, ListName, ListErased, 0, list_left_max> {
    static constexpr local::OperationName name{"list.destroy", "destroying a list"};
    static base::Code on(Owner& owner, List list, const Call& call, Reply& reply) noexcept;
};

// The rows of this layer's lists.
inline constexpr const auto& list_operations = local::rows_of<MakeList,
                                                              DestroyList,
                                                              InsertElement,
                                                              ReserveNode,
                                                              TakeElement,
                                                              MoveElement,
                                                              FindNeighbour,
                                                              ReadRange,
                                                              ReadElement,
                                                              CountElements,
                                                              GatherElements,
                                                              EraseElements,
                                                              ClearList>;

}  // namespace acp::allocator
