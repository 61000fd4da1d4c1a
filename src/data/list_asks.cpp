// SPDX-License-Identifier: BSD-3-Clause
// Issues operations, waits, and reports that no list was there.
#include "data/list_asks.hpp"

#include <utility>

#include "data/ask.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;

Result<std::size_t> ListAsks::ask(GlobalAddress list,
                                  std::uint32_t home,
                                  std::uint32_t operation,
                                  std::span<const std::byte> arguments,
                                  std::span<std::byte> result) const {
    std::uint32_t told = 0;
    auto status = data::ask(gma_, {home, operation, arguments, result, &told});
    if (status.code() == Code::stale && list != 0)
        return names_.failure(acp::list::ListEffect::no_list, {list, list, 0});
    if (!status.is_ok()) return status;
    return std::size_t{told};
}

Status ListAsks::get(void* to, GlobalAddress from, std::uint64_t bytes) const {
    if (bytes == 0) return {};
    return data::get(gma_, to, from, bytes);
}

}  // namespace acp::data
