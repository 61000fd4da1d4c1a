// SPDX-License-Identifier: BSD-3-Clause
// Moves one element between lists of two heaps: allocates all memory that the copy needs, takes the
// element out of its list, and links the copy. A call that finds no room has therefore changed
// nothing, and a call that has taken the element allocates nothing. If another thread erases the
// element before which the copy goes, the copy becomes the last element of its list. If
// this process is killed in between, the element is lost, and recovery frees the memory as after
// an insertion (data/lists.hpp). One object per element. Any thread; blocks while it waits for
// other nodes.
// Tests: tests/containers/full_splice.cpp, tests/conformance/list_container_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/list_calls.hpp"
#include "data/list_names.hpp"
#include "data/list_taking.hpp"
#include "gma/gma.hpp"

#include "allocator/list_operations.hpp"

namespace acp::data {

class ListMoving {
public:
    struct Move {
        ListPlace before;
        ListPlace element;
        std::uint32_t stored = 0;    // the process on which the element's bytes are
        std::span<std::byte> bytes;  // room for all of them
    };

    //   all outlive this
    ListMoving(gma::Gma& gma, Allocator& allocator, const ListCalls& calls, const Move& move)
        : gma_(gma), allocator_(allocator), calls_(calls), move_(move) {}

    ~ListMoving() = default;
    ListMoving(const ListMoving&) = delete;
    ListMoving& operator=(const ListMoving&) = delete;

    // Returns the element's new place. Errors: those of Lists::take() and Lists::insert()
    base::Result<ListPlace> run();

    // Whether run() has failed after it took the element out: its bytes are in Move::bytes. That
    // happens if the node of the new list was lost, or the list destroyed, after run() began.
    [[nodiscard]] bool is_out() const noexcept { return is_out_; }

    // The place that followed the element.
    [[nodiscard]] const ListPlace& next() const noexcept { return next_; }

private:
    // A block that goes back to its heap unless a list has got it.
    class ReservedBlock {
    public:
        explicit ReservedBlock(Allocator& allocator) noexcept : allocator_(allocator) {}

        ~ReservedBlock() {
            if (block_.address != 0) allocator_.give_back(block_);
        }

        ReservedBlock(const ReservedBlock&) = delete;
        ReservedBlock& operator=(const ReservedBlock&) = delete;

        void set(const allocator::LentBlock& block) noexcept { block_ = block; }

        void give_away() noexcept { block_ = {}; }

        [[nodiscard]] const allocator::LentBlock& block() const noexcept { return block_; }

    private:
        Allocator& allocator_;
        allocator::LentBlock block_;
    };

    // Memory for the copy in heaps of this node.
    struct Reserved {
        acp::list::BlockNumber node = 0;
        char* memory = nullptr;         // the separate block, if the list's heap has it
        acp::list::ApartPayload apart;  // their block
    };

    base::Status prepare();
    base::Result<allocator::ListPlaced> on_node();
    base::Result<allocator::ListPlaced> by_gateway();
    base::Status take(std::optional<allocator::OwnedLists>& from, ReservedBlock& old);
    allocator::ListTaken take_here(allocator::OwnedLists& from,
                                   const acp::list::Position& element,
                                   ReservedBlock& old);
    acp::list::ListEffect reserve(allocator::NodeLists& lists,
                                  const ReservedBlock& far,
                                  Reserved& reserved);
    acp::list::ListEffect link(allocator::NodeLists& lists,
                               acp::list::BlockNumber list,
                               const Reserved& reserved,
                               allocator::ListPlaced& placed);
    base::Status put_apart(const ReservedBlock& apart);

    gma::Gma& gma_;
    Allocator& allocator_;
    const ListCalls& calls_;
    Move move_;
    std::uint32_t from_home_ = 0;
    std::uint32_t home_ = 0;
    std::uint32_t process_ = 0;  // the process that gets the bytes
    bool is_apart_ = false;
    acp::list::Position before_;
    std::uint32_t without_room_ = 0;  // after ListEffect::no_room: the process that has none
    bool is_out_ = false;
    ListPlace next_;
};

}  // namespace acp::data
