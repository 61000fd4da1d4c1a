// SPDX-License-Identifier: BSD-3-Clause
// Lists in shared memory: elements of any length, which any thread of any process of a node
// inserts, removes, moves and reads at any position, concurrently. One object serves one thread,
// for all lists of one heap; a list is named by the block it begins with.
//
// Contract:
// - Inserting, taking out, and moving one element within a list or between two lists of the heap
//   take effect at one moment between the call and its return (they are linearizable). Every
//   element is in exactly one list at every moment.
// - No thread waits for another one: a thread that is stopped at any instruction delays no other
//   (list/turns.hpp).
// - Reading writes nothing. The bytes read of an element are its content at a time when it was in
//   the list. A read of an element that was taken out, or moved to another list, returns
//   ListEffect::stale.
// - A process that is killed at any instruction leaves no half change: its operation has taken
//   effect or not. recover() frees the blocks that it held, also those that it was about to free
//   (table/freeing.hpp).
// - Where there is no memory an insertion returns no_room, and the list is as before.
// - No thread may use a list while it is being destroyed; a call on a destroyed list returns
//   ListEffect::no_list.
// - A call retries only if an operation of another thread has completed since it began. If the
//   words of a list contradict each other and none has completed, the call fails
//   (ListEffect::damaged) and changes nothing.
//
// Atomic: std::atomic, or one of a test that is run by a scheduler or kills the process between two
// accesses.
// Tests: tests/unit/list.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/fence.hpp"

#include "list/ground.hpp"
#include "list/payload.hpp"
#include "list/turns.hpp"
#include "table/first_use.hpp"
#include "table/retired_blocks.hpp"

namespace acp::list {

// The result of a call.
enum class ListEffect : std::uint8_t {
    done,
    no_list,  // no list is there, or it was destroyed
    stale,    // the element was taken out, or is in another list
    end,      // there is no such element: the list is empty, or the position is its end
    no_room,  // there is no memory
    more,     // destroy() has taken out count_max elements, and others may be left
    // words of the list contradict each other, though no operation has changed it: the program has
    // overwritten them
    damaged,
};

// A position in a list: an element, or the end. A position of an element stays valid until the
// element is taken out or moved to another list.
struct Position {
    BlockNumber node = 0;  // the end's: the list
    // the element's mark; 0: the end
    std::uint64_t mark = 0;
};

// An element's bytes, or their address.
struct Payload {
    PlainBytes bytes;       // stored in the node: mark::size_max bytes at most
    bool is_apart = false;  // they are an ApartPayload, the address of a separate block
};

template <template <class> class Atomic = std::atomic>
class SharedLists {
public:
    static constexpr std::uint32_t usual_batch = 128;

    //   blocks        of the calling thread; outlives this
    //   participants  of the heap, zero at first; only the calling thread uses number `own`
    //   batch         blocks that this thread retires between two scans of the hazard words
    SharedLists(ListMemory<Atomic>& blocks,
                ListParticipants<Atomic> participants,
                std::uint32_t own,
                std::uint32_t batch = usual_batch) noexcept
        : ground_(blocks, participants, own), turns_(ground_), retired_(ground_), batch_(batch) {}

    ~SharedLists() = default;
    SharedLists(const SharedLists&) = delete;
    SharedLists& operator=(const SharedLists&) = delete;

    // Makes an empty list; recovery frees it if the process is killed before keep(). 0: there is no
    // room.
    //   maker  the process that owns it until its first use (table/first_use.hpp)
    [[nodiscard]] BlockNumber make(std::uint64_t maker = table::no_process) {
        auto& own = ground_.shown();
        const BlockNumber list =
            ground_.blocks().allocate(own.made, sizeof(ListHead<Atomic>), heap::granule_bytes);
        if (list == 0) return 0;
        const std::uint64_t first = first_sequence(list);
        auto& head = ground_.head(list);
        head.ring.next.store(link::to(list, first), std::memory_order_relaxed);
        head.ring.previous.store(link::to(list, first), std::memory_order_relaxed);
        head.count.store(count::of(0, first), std::memory_order_relaxed);
        head.turn.store(turn::idle(first), std::memory_order_relaxed);
        head.first.store(first, std::memory_order_relaxed);
        head.ring.mark.store(
            table::first_mark<Atomic>(ground_.blocks(), list, mark::of_list(list), maker),
            std::memory_order_release);
        return list;
    }

    // Called after the number of the new list was stored: recover() no longer frees the list.
    void keep() noexcept { ground_.shown().made.store(0, std::memory_order_release); }

    [[nodiscard]] bool is_list(BlockNumber list) const {
        return ground_.has_head(list) &&
               table::is_there<Atomic>(ground_.blocks(), ground_.head(list).ring.mark, list,
                                       mark::of_list(list));
    }

    // Takes out elements, and destroys the list if fewer than `count_max` were left. done, more,
    // no_list, damaged. Elements with separate payload blocks: see settle().
    //   left(address)  is called with each such block that this process cannot free
    template <typename Left>
    ListEffect destroy(BlockNumber list, std::uint64_t count_max, const Left& left);

    // Destroys a list that was never used. false: there is none of this maker.
    //   begun()  is called once no other thread can use or destroy it
    template <typename Begun>
    bool destroy_unused(BlockNumber list, std::uint32_t maker, const Begun& begun);

    // The number of elements.
    [[nodiscard]] std::uint64_t size(BlockNumber list) const noexcept {
        return count::elements_in(ground_.head(list).count.load(std::memory_order_acquire));
    }

    [[nodiscard]] static Position end_of(BlockNumber list) noexcept { return {list, 0}; }

    // Inserts an element before a position. done, no_list, stale, no_room, damaged.
    //   made  position of the new element
    ListEffect insert(BlockNumber list,
                      const Position& before,
                      const Payload& payload,
                      Position& made) {
        return insert_at(list, before, Field::previous, payload, made);
    }

    ListEffect push_front(BlockNumber list, const Payload& payload, Position& made) {
        return insert_at(list, end_of(list), Field::next, payload, made);
    }

    // Makes a node that is in no list, for an element whose bytes follow by fill(): then link()
    // needs no memory. The calling thread makes no other node before link() is done, or drop(). If
    // the process is killed before that, recovery frees the node. 0: there is no room.
    //   bytes  in the node, at most mark::size_max
    [[nodiscard]] BlockNumber reserve(std::uint64_t bytes, bool is_apart) {
        auto& own = ground_.shown();
        const BlockNumber node = ground_.blocks().allocate(
            own.made, ListNode<Atomic>::head_bytes + bytes, heap::granule_bytes);
        if (node != 0) make_node_of(node, bytes, is_apart);
        return node;
    }

    // Makes a block of the caller, with room for node_bytes(bytes), such a node. If link() fails
    // the caller calls disown(), and the block is the caller's again.
    void adopt(BlockNumber node, std::uint64_t bytes, bool is_apart) noexcept {
        make_node_of(node, bytes, is_apart);
    }

    void disown() noexcept { ground_.shown().made.store(0, std::memory_order_release); }

    [[nodiscard]] static constexpr std::uint64_t node_bytes(std::uint64_t bytes) noexcept {
        return ListNode<Atomic>::head_bytes + bytes;
    }

    //   bytes  as many as the node was made for
    void fill(BlockNumber node, const PlainBytes& bytes) const noexcept {
        write_payload(ground_.node(node), bytes);
    }

    // Inserts that node before a position. done, no_list, stale, damaged: the node is still in no
    // list, and the thread may link it elsewhere.
    ListEffect link(BlockNumber node, BlockNumber list, const Position& before, Position& made) {
        return link_at(node, list, before, Field::previous, made);
    }

    // Frees that node, which is in no list.
    void drop(BlockNumber node) {
        ground_.unlink_and_free(node, table::Spare::second_word, [&] { disown(); });
    }

    // Whether an element is at a position, or the position is the list's end. done, no_list, stale.
    [[nodiscard]] ListEffect find(BlockNumber list, const Position& at) const {
        if (at.node != list) return read(list, at, [](auto&, std::uint64_t, bool) {});
        return is_list(list) ? ListEffect::done : ListEffect::no_list;
    }

    // An element that was taken out. It belongs to the calling thread until settle(), which the
    // thread calls before its next call here.
    struct Taken {
        BlockNumber node = 0;
        std::uint64_t bytes = 0;  // bytes in the node
        bool is_apart = false;
        // the position that followed it
        Position next;
    };

    // Takes out the element at a position. done, no_list, stale, end, damaged.
    ListEffect take(BlockNumber list, const Position& at, Taken& taken) {
        if (at.node == list) return is_list(list) ? ListEffect::end : ListEffect::no_list;
        return take_any(
            list,
            [&](const TurnPlan& plan, BlockNumber& node) {
                node = at.node;
                return is_element(plan, 0, at);
            },
            taken);
    }

    // done, no_list, end
    ListEffect take_first(BlockNumber list, Taken& taken) {
        return take_end(list, Field::next, taken);
    }

    ListEffect take_last(BlockNumber list, Taken& taken) {
        return take_end(list, Field::previous, taken);
    }

    // Copies the first bytes of an element that was taken out.
    void read_taken(const Taken& taken, void* to, std::uint64_t count) const noexcept {
        read_payload(ground_.node(taken.node), to, count);
    }

    // Frees an element that was taken out. Returns 0, or the address of its separate payload block
    // if this process cannot free it or the payload is kept: then the block belongs to the caller.
    std::uint64_t settle(const Taken& taken, bool is_payload_kept = false) {
        const std::uint64_t left = free_payload(taken.node, is_payload_kept);
        retire(ground_.own(), taken.node);
        if (retired_.is_due(batch_)) reclaim();
        return left;
    }

    // Moves an element before a position in the same or another list of the heap. In another list
    // the element gets a new position. done, no_list, stale, end (`element` is no element),
    // damaged.
    //   moved  the element's position after the move
    ListEffect move(BlockNumber to,
                    const Position& before,
                    BlockNumber from,
                    const Position& element,
                    Position& moved);

    // The neighbour of a position. The end follows the last element and precedes the first one.
    // done, no_list, stale, damaged.
    ListEffect next(BlockNumber list, const Position& from, Position& to) const {
        return neighbour(list, from, Field::next, to);
    }

    ListEffect previous(BlockNumber list, const Position& from, Position& to) const {
        return neighbour(list, from, Field::previous, to);
    }

    // Reads an element: visit(node, bytes, is_apart), which copies by read_payload() and has no
    // other lasting effect, since it may run although the result is stale. done, no_list, stale,
    // end.
    template <typename Visit>
    ListEffect read(BlockNumber list, const Position& at, const Visit& visit) const {
        if (!is_list(list)) return ListEffect::no_list;
        if (at.node == list) return ListEffect::end;
        if (!is_at(at)) return ListEffect::stale;
        visit(ground_.node(at.node), mark::bytes_in(at.mark), mark::is_apart(at.mark));
        // The bytes of a separate block are read by plain loads, which the fence orders before the
        // check of the mark.
        base::fence(std::memory_order_acquire);
        return is_at(at) ? ListEffect::done : ListEffect::stale;
    }

    // Frees the elements that the calling thread has taken out and that no participant names.
    void reclaim() { (void)scan(ground_.own()); }

    // Publishes the separate payload block that the next insertion links: it is freed with the
    // element, or by recovery if the process is killed before that.
    [[nodiscard]] Atomic<std::uint64_t>& made_apart() noexcept {
        return ground_.shown().made_apart;
    }

    // Frees that block after the insertion has failed.
    void drop_made_apart() {
        auto& word = made_apart();
        const std::uint64_t address = word.load(std::memory_order_relaxed);
        const auto forget = [&] { word.store(0, std::memory_order_release); };
        if (!ground_.unlink_and_free_apart(address, forget)) forget();
    }

    // Completes the operation of a dead participant, and frees the blocks that it held. Any
    // survivor may call it, again if that survivor was killed in it. false: another live process is
    // recovering the participant, or a thread still names an element that it had taken out.
    //   is_dead(number)  whether the process of a participant is dead
    template <typename IsDead>
    bool recover(std::uint32_t dead, const IsDead& is_dead);

private:
    ListEffect insert_at(BlockNumber list,
                         const Position& before,
                         Field side,
                         const Payload& payload,
                         Position& made);

    ListEffect link_at(
        BlockNumber node, BlockNumber list, const Position& before, Field side, Position& made);
    void make_node_of(BlockNumber node, std::uint64_t bytes, bool is_apart) noexcept;

    template <typename Find>
    ListEffect take_any(BlockNumber list, const Find& find, Taken& taken);

    ListEffect take_end(BlockNumber list, Field direction, Taken& taken) {
        return take_any(
            list,
            [&](const TurnPlan& /*plan*/, BlockNumber& node) {
                node = neighbour_in(list, direction);
                return true;
            },
            taken);
    }

    // An element to be moved, its neighbours, and its destination: before `before`, behind
    // `beside`.
    struct Moving {
        BlockNumber to = 0;
        BlockNumber from = 0;
        Position before;
        Position element;
        BlockNumber left = 0;
        BlockNumber right = 0;
        BlockNumber beside = 0;
    };

    void plan_move(TurnPlan& plan, const Moving& moving, Position& moved) const noexcept;
    ListEffect neighbour(BlockNumber list,
                         const Position& from,
                         Field direction,
                         Position& to) const;
    std::uint64_t free_payload(BlockNumber node, bool is_kept = false);

    // Whether an element of any list is at a position, which may be any two words.
    [[nodiscard]] bool is_at(const Position& at) const noexcept {
        return mark::kind_of(at.mark) == mark::live && ground_.has_element(at.node, at.mark) &&
               at.mark != mark::of_list(at.node) && mark_of(at.node) == at.mark;
    }

    // Whether an element of a list of the plan is at a position. Called after the plan began: the
    // caller's position was read before that.
    [[nodiscard]] bool is_element(const TurnPlan& plan,
                                  std::uint32_t which,
                                  const Position& at) const noexcept {
        const std::uint64_t first =
            ground_.head(plan.lists[which]).first.load(std::memory_order_relaxed);
        return is_at(at) && mark::is_between(at.mark, first, turn::sequence_in(plan.idles[which]));
    }

    // The word in a node with the address of its separate payload.
    [[nodiscard]] Atomic<std::uint64_t>& payload_word(BlockNumber node) const noexcept {
        return *reinterpret_cast<Atomic<std::uint64_t>*>(ground_.node(node).payload());
    }

    [[nodiscard]] std::uint64_t mark_of(BlockNumber node) const noexcept {
        return ground_.node(node).mark.load(std::memory_order_acquire);
    }

    [[nodiscard]] BlockNumber neighbour_in(BlockNumber node, Field direction) const noexcept {
        return link::node_in(ground_.word(node, direction).load(std::memory_order_acquire));
    }

    // Plans that a link of a node names `target`.
    void relink(TurnPlan& plan,
                BlockNumber node,
                Field direction,
                BlockNumber target) const noexcept {
        const std::uint64_t sequence = turn::sequence_in(plan.idles[0]) + 1;
        plan.add({place::of(node, direction),
                  ground_.word(node, direction).load(std::memory_order_acquire),
                  link::to(target, sequence)});
    }

    // Plans that the number of elements changes by `by`, which may be -1.
    void recount(TurnPlan& plan, BlockNumber list, std::uint64_t by) const noexcept {
        const std::uint64_t old = ground_.head(list).count.load(std::memory_order_acquire);
        plan.add({place::of(list, Field::count), old,
                  count::of(count::elements_in(old) + by, turn::sequence_in(plan.idles[0]) + 1)});
    }

    // Plans that the two neighbours of a node are linked to each other.
    void unlink(TurnPlan& plan, BlockNumber before, BlockNumber after) const noexcept {
        relink(plan, before, Field::next, after);
        relink(plan, after, Field::previous, before);
    }

    // Begins a plan on one list. done, no_list, damaged.
    [[nodiscard]] ListEffect begin(TurnPlan& plan, BlockNumber list) const {
        plan = TurnPlan();
        return add_list(plan, 0, list);
    }

    // Retires a node or a head that a participant has claimed, so that the late compare-and-swap of
    // a helper never changes memory of a new owner; the caller knows that it is not retired yet.
    //   owner  the calling thread's participant, or a dead one
    void retire(std::uint32_t owner, BlockNumber block) const {
        auto& node = ground_.node(block);
        node.next.store(link::after(retired_.last_of(owner)), std::memory_order_release);
        retired_.add(owner, block,
                     ListNode<Atomic>::head_bytes +
                         mark::bytes_in(node.mark.load(std::memory_order_relaxed)));
        ground_.participants()[owner].taken.store(0, std::memory_order_release);
    }

    // Frees the blocks that a participant has retired and that no participant names. True if none
    // is left.
    bool scan(std::uint32_t owner) const noexcept {
        return retired_.scan(owner, [](BlockNumber) { return std::uint64_t{0}; }) &&
               retired_.last_of(owner) == 0;
    }

    // Begins a plan on two lists, which may be the same.
    [[nodiscard]] ListEffect begin_both(TurnPlan& plan, BlockNumber one, BlockNumber other) const {
        const ListEffect begun = begin(plan, std::min(one, other));
        if (begun != ListEffect::done || one == other) return begun;
        return add_list(plan, 1, std::max(one, other));
    }

    // Adds a list to a plan as number `which`; the second one has the larger block number.
    [[nodiscard]] ListEffect add_list(TurnPlan& plan, std::uint32_t which, BlockNumber list) const {
        if (!is_list(list)) return ListEffect::no_list;
        plan.lists[which] = list;
        plan.idles[which] = turns_.idle_of(list);
        if (!is_list(list)) return ListEffect::no_list;
        return turn::is_busy(plan.idles[which]) ? ListEffect::damaged : ListEffect::done;
    }

    // The number at which a list's operations begin: different for each list, so that the marks of
    // different lists differ.
    [[nodiscard]] std::uint64_t first_sequence(BlockNumber list) noexcept {
        auto& number = ground_.shown().number;
        const std::uint64_t next = number.load(std::memory_order_relaxed) + 1;
        number.store(next, std::memory_order_relaxed);
        std::uint64_t mixed = list ^ std::uint64_t{ground_.own()} << number_bits ^ next << 50;
        mixed = (mixed ^ next) * 0x9e3779b97f4a7c15;
        mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93;
        constexpr std::uint32_t free_bits = 4;  // so that the number can grow
        return (mixed ^ mixed >> 32) >> free_bits | 1;
    }

    ListGround<Atomic> ground_;
    Turns<Atomic> turns_;
    table::RetiredBlocks<Atomic, ListGround<Atomic>> retired_;
    std::uint32_t batch_;
};

}  // namespace acp::list

#include "list/changes.hpp"
#include "list/recovery.hpp"
