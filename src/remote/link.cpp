// SPDX-License-Identifier: BSD-3-Clause
// A helper of all links.
#include "remote/link.hpp"

#include <algorithm>
#include <new>

namespace acp::remote {

void move_ended(std::vector<Ended>& from, std::vector<Ended>& into) noexcept {
    try {
        into.reserve(into.size() + from.size());
    } catch (const std::bad_alloc&) {
        // the next call moves the rest
    }
    const std::size_t count = std::min(from.size(), into.capacity() - into.size());
    const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
    into.insert(into.end(), from.begin(), end);
    from.erase(from.begin(), end);
}

}  // namespace acp::remote
