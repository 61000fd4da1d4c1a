// SPDX-License-Identifier: BSD-3-Clause
// Reads the source by the kernel, for a program that is wrong may have unmapped it.
#include "gma/source_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "base/format.hpp"
#include "os/cross_memory.hpp"
#include "os/log_line.hpp"
#include "os/process.hpp"

namespace acp::gma {

namespace {

// Nothing: not all of it can be read.
std::optional<std::uint64_t> digest_of(const char* source, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;
    std::array<std::uint64_t, 512> words;  // NOLINT: written as far as read
    std::uint64_t digest = bytes;
    while (bytes != 0) {
        const std::uint64_t some = std::min<std::uint64_t>(bytes, sizeof words);
        words[(some - 1) / 8] = 0;  // what lies behind the last byte
        if (!os::read_process_whole(os::own_pid(), words.data(), source, some)) return std::nullopt;
        for (std::uint64_t i = 0; i < (some + 7) / 8; ++i) {
            digest = (digest ^ words[i]) * odd;
            digest ^= digest >> 32;
        }
        source += some;
        bytes -= some;
    }
    return digest;
}

}  // namespace

void SourceWatch::begin(std::uint32_t loan,
                        memory::IssuedBy call,
                        const char* source,
                        std::uint64_t bytes) noexcept {
    Watched& put = watched_[loan];
    put.source = nullptr;
    const std::optional<std::uint64_t> digest = digest_of(source, bytes);
    if (!digest) return;
    try {
        put.site = os::find_call_site();
    } catch (const std::exception&) {
        return;  // there is no memory for the place, so nothing could be reported
    }
    put.bytes = bytes;
    put.digest = *digest;
    put.call = call;
    put.source = source;
}

void SourceWatch::end(std::uint32_t loan) noexcept {
    Watched& put = watched_[loan];
    if (put.source == nullptr) return;
    const std::optional<std::uint64_t> digest = digest_of(put.source, put.bytes);
    if (digest != put.digest) {
        try {
            tell(put, digest ? "changed" : "was unmapped");
        } catch (const std::exception&) {
            std::fputs("acp: ACP_CHECK: the source of a put changed before the put had ended\n",
                       stderr);
        }
    }
    put.source = nullptr;
}

void SourceWatch::tell(const Watched& put, const char* what) {
    const bool is_told = std::find(places_told_.begin(), places_told_.end(), put.site.identity) !=
                         places_told_.end();
    if (is_told || places_told_.size() == places_told_max) return;
    places_told_.push_back(put.site.identity);
    memory::Command named;
    named.expected = memory::Command::note(put.call);
    const std::string call(memory::call_name(named));
    os::print_error(
        "acp: ACP_CHECK: rank %u on %s: the source of %s of %s %s before the put had "
        "ended: it is %s "
        "of this process at %s; complete the handle first, or use acp_put_copied or "
        "acp_wait_source; called from %s\n",
        rank_, os::host_name().c_str(), call.c_str(), base::in_bytes(put.bytes).c_str(), what,
        base::in_bytes(put.bytes).c_str(),
        base::hex(reinterpret_cast<std::uintptr_t>(put.source)).c_str(),
        put.site.text.empty() ? "an unknown place" : put.site.text.c_str());
}

}  // namespace acp::gma
