// SPDX-License-Identifier: BSD-3-Clause
// Finds the locks of both containers, and takes them.
#include "lock/move_leases.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace acp::lock {

using base::Code;
using base::Result;
using base::Status;
using data::ContainerKind;

MoveLeases::~MoveLeases() {
    // A failure means that the container's node is lost, or that the program has destroyed the
    // container.
    while (count_ != 0) (void)locks_.release(held_[--count_]);
}

Result<GlobalAddress> MoveLeases::lock_of(const data::ContainerName& name) {
    auto directory = hashed_.directories().fetch(name);
    if (!directory.is_ok()) return std::move(directory).failure();
    return locks_.of_container(name.directory, directory.value().head.id);
}

Status MoveLeases::take_one(GlobalAddress lock, bool& has_died, const LongWait& tell_long_wait) {
    auto taken = locks_.take(lock, -1, tell_long_wait);
    if (!taken.is_ok()) return std::move(taken).failure();
    held_[count_++] = lock;
    has_died = has_died || taken.value().has_died;
    return {};
}

Status MoveLeases::take(const data::ContainerName& into,
                        const data::ContainerName& from,
                        const LongWait& tell_long_wait) {
    auto first = lock_of(into);
    if (!first.is_ok()) return std::move(first).failure();
    auto second = lock_of(from);
    if (!second.is_ok()) return std::move(second).failure();
    const auto [low, high] = std::minmax(first.value(), second.value());
    bool has_died = false;
    auto status = take_one(low, has_died, tell_long_wait);
    if (status.is_ok()) status = take_one(high, has_died, tell_long_wait);
    // An entry of a map or a set that is in both containers is inserted once and erased.
    const bool is_harmless =
        from.kind == ContainerKind::map || from.kind == ContainerKind::set || !has_died;
    if (!status.is_ok() || is_harmless) return status;
    return {Code::peer, std::string("a rank died while it moved entries of this ") +
                            data::name_of(from.kind) +
                            ": the entry that it moved last may be in both containers, and the "
                            "others are in one. The next call moves what is left"};
}

}  // namespace acp::lock
