// SPDX-License-Identifier: BSD-3-Clause
// The report's text: one write per rank, so that lines of several ranks do not mix.
#include "api/report.hpp"

#include <cstdio>
#include <string>

namespace acp::api {

void print_report(const node::Member& member, gma::Gma& gma) {
    const gma::Traffic traffic = gma.traffic();
    const std::uint32_t peer =
        member.slot_index() == 0 && member.segment().shape().local_procs > 1 ? 1 : 0;
    const gma::Path path = gma.private_path(peer);
    const std::string remote = member.segment().has_gateway()
                                   ? "; other nodes " + std::to_string(traffic.remote_commands) +
                                         " commands " + std::to_string(traffic.remote_bytes) + " B"
                                   : "";
    std::fprintf(
        stderr,
        "acp: rank %u: direct %llu commands %llu B; attach %llu, %llu B; forwarded %llu, %llu B%s; "
        "private memory of other ranks: %s%s%s\n",
        member.rank(), static_cast<unsigned long long>(traffic.direct_commands),
        static_cast<unsigned long long>(traffic.direct_bytes),
        static_cast<unsigned long long>(traffic.attach_commands),
        static_cast<unsigned long long>(traffic.attach_bytes),
        static_cast<unsigned long long>(traffic.forwarded_commands),
        static_cast<unsigned long long>(traffic.forwarded_bytes), remote.c_str(), path.name,
        path.reason.empty() ? "" : ": ", path.reason.c_str());
}

}  // namespace acp::api
