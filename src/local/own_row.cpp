// SPDX-License-Identifier: BSD-3-Clause
// Maps the own row a second time.
#include "local/own_row.hpp"

#include <utility>

namespace acp::local {

OwnRow::OwnRow(os::Mapping mapping) noexcept : mapping_(std::move(mapping)) {}

base::Result<OwnRow> OwnRow::open(const node::Segment& segment, std::uint32_t slot) {
    constexpr const char* what = "mapping the own row of the address table";
    auto room = os::Mapping::map_anonymous(bytes);
    if (!room.is_ok()) {
        return std::move(room).failure().within(what);
    }
    auto status = os::map_shared_over(room.value().data(), bytes, segment.file(),
                                      segment.layout().tables + slot * bytes);
    if (!status.is_ok()) {
        return std::move(status).within(what);
    }
    return OwnRow(std::move(room).value());
}

}  // namespace acp::local
