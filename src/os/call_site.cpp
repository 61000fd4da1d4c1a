// SPDX-License-Identifier: BSD-3-Clause
// Walks the stack by backtrace(3), and finds names by dladdr(3).
#include "os/call_site.hpp"

#include <array>
#include <bit>
#include <dlfcn.h>
#include <execinfo.h>
#include <span>
#include <sys/auxv.h>

#include "base/format.hpp"

namespace acp::os {

namespace {

constexpr int frames_max = 32;

std::uintptr_t number_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
}

// The offset of a call in its file, as addr2line takes it. A return address may be the first byte
// of the next function; the byte before it belongs to the call.
std::string offset_of(std::uintptr_t address, const Dl_info& info) {
    return base::hex(address - 1 - number_of(info.dli_fbase));
}

std::string file_of(const Dl_info& info) {
    return info.dli_fname != nullptr ? info.dli_fname : "?";
}

std::string describe(std::uintptr_t address, const Dl_info& info) {
    const std::string file = file_of(info);
    const std::string place = "addr2line -e " + file + " " + offset_of(address, info);
    if (info.dli_sname == nullptr) return file + " (" + place + ")";
    return std::string(info.dli_sname) + "+" + base::hex(address - number_of(info.dli_saddr)) +
           " in " + file + " (" + place + ")";
}

// Whether an object is the program itself: it contains the instruction at which the kernel started
// this process, which lies in a file of its own for a shared library.
bool is_program(const Dl_info& object) noexcept {
    Dl_info program{};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel passes addresses as numbers
    const auto* entry = reinterpret_cast<const void*>(getauxval(AT_ENTRY));
    return dladdr(entry, &program) != 0 && program.dli_fbase == object.dli_fbase;
}

// The frames of the program, which contains the library.
CallSite describe_stack(std::span<void* const> frames, const Dl_info& program) {
    CallSite site{0, file_of(program) + " (addr2line -fe " + file_of(program)};
    for (const void* frame : frames) {
        Dl_info info{};
        if (dladdr(frame, &info) == 0 || info.dli_fbase != program.dli_fbase) break;
        // The odd factor is 2^64 divided by the golden ratio, which mixes the bits well.
        constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
        site.identity = (std::rotl(site.identity, 5) ^ number_of(frame)) * odd;
        site.text += " " + offset_of(number_of(frame), info);
    }
    site.text += ")";
    return site;
}

}  // namespace

CallSite find_call_site() {
    std::array<void*, frames_max> memory{};
    const int count = backtrace(memory.data(), frames_max);
    Dl_info own{};
    if (count <= 0 || dladdr(memory[0], &own) == 0) return {};
    const std::span frames = std::span(memory).first(static_cast<std::size_t>(count));
    if (is_program(own)) return describe_stack(frames.subspan(1), own);
    for (const void* frame : frames) {
        Dl_info info{};
        if (dladdr(frame, &info) == 0 || info.dli_fbase == own.dli_fbase) continue;
        return {number_of(frame), describe(number_of(frame), info)};
    }
    return {};
}

}  // namespace acp::os
