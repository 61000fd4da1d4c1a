// SPDX-License-Identifier: BSD-3-Clause
// Walks the stack by backtrace(3), and finds names by dladdr(3).
#include "os/call_site.hpp"

#include <array>
#include <dlfcn.h>
#include <execinfo.h>

#include "base/format.hpp"

namespace acp::os {

namespace {

constexpr int frames_max = 32;

// A return address may be the first byte of the next function; the byte before it belongs to the
// call.
std::string describe(std::uintptr_t address, const Dl_info& info) {
    const std::string file = info.dli_fname != nullptr ? info.dli_fname : "?";
    const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    const std::string place = "addr2line -e " + file + " " + base::hex(address - 1 - base);
    if (info.dli_sname == nullptr) return file + " (" + place + ")";
    const auto symbol = reinterpret_cast<std::uintptr_t>(info.dli_saddr);
    return std::string(info.dli_sname) + "+" + base::hex(address - symbol) + " in " + file + " (" +
           place + ")";
}

}  // namespace

CallSite find_call_site() {
    std::array<void*, frames_max> frames{};
    const int count = backtrace(frames.data(), frames_max);
    Dl_info own{};
    if (count <= 0 || dladdr(frames[0], &own) == 0) return {};
    CallSite first;
    for (int i = 0; i < count; ++i) {
        Dl_info info{};
        const auto address = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]);
        if (dladdr(frames[static_cast<std::size_t>(i)], &info) == 0) continue;
        if (first.address == 0) first = {address, describe(address, info)};
        if (info.dli_fbase != own.dli_fbase) return {address, describe(address, info)};
    }
    return first;
}

}  // namespace acp::os
