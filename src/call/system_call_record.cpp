// SPDX-License-Identifier: BSD-3-Clause
// The sizes of arguments, and the requests of ioctl and fcntl.
#include "call/system_call_record.hpp"

#include <algorithm>
#include <limits>

namespace acp::call {

namespace {

constexpr std::uint16_t no_call = 0xffff;

// The table's index of each number of Linux.
[[nodiscard]] constexpr auto index_of_numbers(bool elsewhere) {
    std::array<std::uint16_t, system_call_numbers> index{};
    index.fill(no_call);
    for (std::size_t i = 0; i < system_call_count; ++i) {
        const SystemCallRow& row = system_call_rows[i];
        const std::int16_t number = elsewhere ? row.number_elsewhere : row.number;
        if (number >= 0) index[static_cast<std::size_t>(number)] = static_cast<std::uint16_t>(i);
    }
    return index;
}

constexpr auto index_x86_64 = index_of_numbers(false);
constexpr auto index_elsewhere = index_of_numbers(true);

struct RequestRow {
    std::uint64_t request = 0;
    ArgumentRow argument;
};

// Requests of ioctl that are older than their encoding of sizes: terminals, descriptors, sockets.
constexpr std::array ioctl_requests{
    RequestRow{0x5401, rows::out_fixed(36)},     // TCGETS
    RequestRow{0x5402, rows::in_fixed(36)},      // TCSETS
    RequestRow{0x5403, rows::in_fixed(36)},      // TCSETSW
    RequestRow{0x5404, rows::in_fixed(36)},      // TCSETSF
    RequestRow{0x5409, rows::value()},           // TCSBRK
    RequestRow{0x540a, rows::value()},           // TCXONC
    RequestRow{0x540b, rows::value()},           // TCFLSH
    RequestRow{0x540f, rows::out_fixed(4)},      // TIOCGPGRP
    RequestRow{0x5411, rows::out_fixed(4)},      // TIOCOUTQ
    RequestRow{0x5413, rows::out_fixed(8)},      // TIOCGWINSZ
    RequestRow{0x5414, rows::in_fixed(8)},       // TIOCSWINSZ
    RequestRow{0x541b, rows::out_fixed(4)},      // FIONREAD
    RequestRow{0x5421, rows::in_fixed(4)},       // FIONBIO
    RequestRow{0x5450, rows::value()},           // FIONCLEX
    RequestRow{0x5451, rows::value()},           // FIOCLEX
    RequestRow{0x5452, rows::in_fixed(4)},       // FIOASYNC
    RequestRow{0x8905, rows::out_fixed(4)},      // SIOCATMARK
    RequestRow{0x8906, rows::out_fixed(16)},     // SIOCGSTAMP
    RequestRow{0x8913, rows::in_out_fixed(40)},  // SIOCGIFFLAGS
    RequestRow{0x8915, rows::in_out_fixed(40)},  // SIOCGIFADDR
    RequestRow{0x8921, rows::in_out_fixed(40)},  // SIOCGIFMTU
    RequestRow{0x8927, rows::in_out_fixed(40)},  // SIOCGIFHWADDR
    RequestRow{0x8933, rows::in_out_fixed(40)},  // SIOCGIFINDEX
};

// Commands of fcntl. Leases (1024) and notices (1026) are not here: their signals go to the process
// that has asked for them.
constexpr std::array fcntl_requests{
    RequestRow{0, rows::value()},            // F_DUPFD
    RequestRow{1, rows::value()},            // F_GETFD
    RequestRow{2, rows::value()},            // F_SETFD
    RequestRow{3, rows::value()},            // F_GETFL
    RequestRow{4, rows::value()},            // F_SETFL
    RequestRow{5, rows::in_out_fixed(32)},   // F_GETLK
    RequestRow{6, rows::in_fixed(32)},       // F_SETLK
    RequestRow{7, rows::in_fixed(32)},       // F_SETLKW
    RequestRow{8, rows::value()},            // F_SETOWN
    RequestRow{9, rows::value()},            // F_GETOWN
    RequestRow{10, rows::value()},           // F_SETSIG
    RequestRow{11, rows::value()},           // F_GETSIG
    RequestRow{15, rows::in_fixed(8)},       // F_SETOWN_EX
    RequestRow{16, rows::out_fixed(8)},      // F_GETOWN_EX
    RequestRow{36, rows::in_out_fixed(32)},  // F_OFD_GETLK
    RequestRow{37, rows::in_fixed(32)},      // F_OFD_SETLK
    RequestRow{38, rows::in_fixed(32)},      // F_OFD_SETLKW
    RequestRow{1025, rows::value()},         // F_GETLEASE
    RequestRow{1030, rows::value()},         // F_DUPFD_CLOEXEC
    RequestRow{1031, rows::value()},         // F_SETPIPE_SZ
    RequestRow{1032, rows::value()},         // F_GETPIPE_SZ
    RequestRow{1033, rows::value()},         // F_ADD_SEALS
    RequestRow{1034, rows::value()},         // F_GET_SEALS
    RequestRow{1035, rows::out_fixed(8)},    // F_GET_RW_HINT
    RequestRow{1036, rows::in_fixed(8)},     // F_SET_RW_HINT
    RequestRow{1037, rows::out_fixed(8)},    // F_GET_FILE_RW_HINT
    RequestRow{1038, rows::in_fixed(8)},     // F_SET_FILE_RW_HINT
};

// Finds the argument of a request of one of the lists above. Requests of other drivers encode the
// sizes of their structures, but structures may contain addresses.
template <std::size_t N>
[[nodiscard]] bool find(const std::array<RequestRow, N>& requests,
                        std::uint64_t request,
                        ArgumentRow& argument) noexcept {
    const auto* const found =
        std::ranges::find(requests, request & 0xffffffffU, &RequestRow::request);
    if (found == requests.end()) return false;
    argument = found->argument;
    return true;
}

// Whether the options of a socket's level are plain bytes: those of others, and a few of these, have
// addresses in them.
[[nodiscard]] bool has_plain_options(std::uint64_t level, std::uint64_t option) noexcept {
    constexpr std::uint64_t ip = 0;
    constexpr std::uint64_t socket = 1;
    constexpr std::uint64_t tcp = 6;
    constexpr std::uint64_t udp = 17;
    constexpr std::uint64_t ipv6 = 41;
    constexpr std::uint64_t attach_filter = 26;
    constexpr std::uint64_t attach_reuseport_filter = 51;
    constexpr std::uint64_t zerocopy_receive = 35;
    constexpr std::uint64_t netfilter = 64;  // and more, of both IP
    switch (level & 0xffffffffU) {
        case ip:
        case ipv6:
            return (option & 0xffffffffU) < netfilter;
        case socket:
            return (option & 0xffffffffU) != attach_filter &&
                   (option & 0xffffffffU) != attach_reuseport_filter;
        case tcp:
            return (option & 0xffffffffU) != zerocopy_receive;
        case udp:
            return true;
        default:
            return false;
    }
}

}  // namespace

bool is_beyond_programs(std::uint64_t address, std::uint64_t bytes) noexcept {
    // With page tables of four levels, beyond which Linux gives no program memory unasked.
    const std::uint64_t end =
        is_elsewhere ? std::uint64_t{1} << 48U : (std::uint64_t{1} << 47U) - 4096;
    return address > end || bytes > end - address;
}

std::int64_t number_of(SystemCall call) noexcept {
    const SystemCallRow& row = row_of(call);
    return is_elsewhere ? row.number_elsewhere : row.number;
}

bool find_system_call(std::uint64_t number, SystemCall& call) noexcept {
    if (number >= system_call_numbers) return false;
    const std::uint16_t index = is_elsewhere ? index_elsewhere[number] : index_x86_64[number];
    if (index == no_call) return false;
    call = static_cast<SystemCall>(index);
    return true;
}

bool find_argument(SystemCall call,
                   const SystemCallWords& words,
                   std::size_t index,
                   ArgumentRow& argument) noexcept {
    argument = row_of(call).arguments[index];
    if (call == SystemCall::setsockopt || call == SystemCall::getsockopt)
        return has_plain_options(words[1], words[2]);
    if (argument.passing != Passing::by_request) return true;
    const std::uint64_t request = words[argument.word];
    return call == SystemCall::ioctl ? find(ioctl_requests, request, argument)
                                     : find(fcntl_requests, request, argument);
}

std::uint64_t extent_of(const ArgumentRow& argument, const SystemCallWords& words) noexcept {
    // The numbers of descriptors that a process can have, and more than one for which select has
    // room in the kernel.
    constexpr std::uint64_t bits_max = std::uint64_t{1} << 20U;
    constexpr std::uint64_t bits_of_word = 64;
    const std::uint64_t unit = is_elsewhere ? argument.unit_elsewhere : argument.unit;
    if (argument.extent == ArgumentExtent::fixed) return unit;
    const std::uint64_t count = words[argument.word];
    if (argument.extent == ArgumentExtent::bits) {
        const auto signed_count = static_cast<std::int32_t>(count & 0xffffffffU);
        if (signed_count <= 0) return 0;
        const std::uint64_t bits = std::min<std::uint64_t>(count & 0xffffffffU, bits_max);
        return (bits + bits_of_word - 1) / bits_of_word * sizeof(std::uint64_t);
    }
    if (argument.extent == ArgumentExtent::ints) {
        const auto signed_count = static_cast<std::int32_t>(count & 0xffffffffU);
        return signed_count < 0 ? 0 : static_cast<std::uint64_t>(signed_count) * unit;
    }
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    return count > most / unit ? most : count * unit;
}

std::uint64_t written_of(const ArgumentRow& argument,
                         const SystemCallWords& words,
                         std::int64_t result) noexcept {
    if (result < 0) return 0;
    const std::uint64_t bytes = extent_of(argument, words);
    if (argument.passing == Passing::in_out || argument.extent == ArgumentExtent::fixed)
        return bytes;
    const std::uint64_t unit = is_elsewhere ? argument.unit_elsewhere : argument.unit;
    const auto count = static_cast<std::uint64_t>(result);
    return count > bytes / unit ? bytes : count * unit;
}

}  // namespace acp::call
