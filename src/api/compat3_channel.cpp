// SPDX-License-Identifier: BSD-3-Clause
// <acp/compat3_channel.h>: waits that return how many bytes of a message were received, also if it
// was longer than the buffer.
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/ends.hpp"
#include "api/library.hpp"
#include "base/format.hpp"
#include "gma/commands.hpp"
#include "message/channels.hpp"

#define ACP_COMPAT3_KEEPS_NAMES
#include <acp/compat3_channel.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using message::Channels;

constexpr auto no_bytes_of_3_0 = static_cast<size_t>(-1);

base::Result<size_t> wait_as_3_0(std::uint64_t request) {
    auto ended = library().channels->wait(request, -1);
    const std::uint64_t bytes = ended.is_ok() ? ended.value().bytes : 0;
    const std::uint64_t channel = ended.is_ok() ? ended.value().channel : 0;
    base::Status failure =
        ended.is_ok() ? std::move(ended.value().status) : std::move(ended).failure();
    if (failure.is_ok() || failure.code() == base::Code::truncated)
        return static_cast<size_t>(bytes);
    return std::move(failure).within("acp_wait_ch(request " + base::hex(request) +
                                     (channel != 0 ? " of channel " + base::hex(channel) : "") +
                                     ")" + gma::by_rank(library().member->rank()));
}

}  // namespace

extern "C" {

size_t acp3_wait_ch(acp_request_t request) {
    const std::uint64_t number = api::number_of(request);
    if (Channels::has_ended_at_once(number) && library().life.is_usable())
        return Channels::length_of(number);
    return api::run<Gravity::misuse_ends>("acp_wait_ch", no_bytes_of_3_0,
                                          [&] { return wait_as_3_0(number); });
}

int acp3_waitall_ch(acp_request_t* requests, int count, size_t* sizes) {
    int result = 0;
    for (int i = 0; i < count; ++i) {
        const size_t size = requests[i] == ACP_REQUEST_NULL ? 0 : acp3_wait_ch(requests[i]);
        if (size == no_bytes_of_3_0) result = -1;
        if (sizes != nullptr) sizes[i] = size;
    }
    return result;
}

}  // extern "C"
