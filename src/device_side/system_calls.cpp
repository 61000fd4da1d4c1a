// SPDX-License-Identifier: BSD-3-Clause
// The carrier of a thread, and <acp/device_side.h>: the words of each call. Calls that 64-bit ARM has
// not are made of those that both processors have. One file, so that a program that sets carriers
// has these functions of its own, and not those of libacp.
#include "device_side/system_calls.hpp"

#include <cerrno>
#include <concepts>

#include "os/process.hpp"
#include "os/system_call.hpp"

#include <acp/device_side.h>

namespace acp::device_side {

using call::SystemCall;
using call::SystemCallWords;

namespace {

struct ThreadCarrier {
    Carry carry = nullptr;
    void* carrier = nullptr;
};

thread_local constinit ThreadCarrier own_carrier;

}  // namespace

void set_carrier(Carry carry, void* carrier) noexcept {
    // The only thread of a forked child has no carrier: that is its parent's.
    [[maybe_unused]] static const bool is_watched =
        os::call_in_forked_child([] { own_carrier = {}; });
    own_carrier = {carry, carrier};
}

std::int64_t make_call(SystemCall call, const SystemCallWords& words) noexcept {
    const ThreadCarrier to = own_carrier;
    if (to.carry != nullptr) return to.carry(to.carrier, call, words);
    const std::int64_t number = call::number_of(call);
    return number < 0 ? -ENOSYS : os::system_call(number, words);
}

std::int64_t make_call_by_number(std::int64_t number, const SystemCallWords& words) noexcept {
    SystemCall call{};
    if (!call::find_system_call(static_cast<std::uint64_t>(number), call))
        return os::system_call(number, words);
    switch (call) {
        case SystemCall::fork:
        case SystemCall::vfork:
        case SystemCall::clone:
        case SystemCall::clone3:
            return -ENOSYS;
        default:
            return make_call(call, words);
    }
}

}  // namespace acp::device_side

namespace {

using acp::call::SystemCall;
using acp::call::SystemCallWords;

// A word of a call: integers extended with their sign, as the kernel takes them.
[[nodiscard]] std::uint64_t word(std::integral auto value) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

[[nodiscard]] std::uint64_t word(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
}

template <typename... T>
[[nodiscard]] std::int64_t make(SystemCall call, T... words) noexcept {
    return acp::device_side::make_call(call, SystemCallWords{word(words)...});
}

constexpr int current_folder = -100;  // AT_FDCWD

}  // namespace

extern "C" {

std::int64_t acp_sys_read(int descriptor, void* bytes, std::uint64_t count) {
    return make(SystemCall::read, descriptor, bytes, count);
}

std::int64_t acp_sys_write(int descriptor, const void* bytes, std::uint64_t count) {
    return make(SystemCall::write, descriptor, bytes, count);
}

std::int64_t acp_sys_pread(int descriptor, void* bytes, std::uint64_t count, std::int64_t offset) {
    return make(SystemCall::pread64, descriptor, bytes, count, offset);
}

std::int64_t acp_sys_pwrite(int descriptor,
                            const void* bytes,
                            std::uint64_t count,
                            std::int64_t offset) {
    return make(SystemCall::pwrite64, descriptor, bytes, count, offset);
}

std::int64_t acp_sys_open(const char* path, int flags, unsigned mode) {
    return make(SystemCall::openat, current_folder, path, flags, mode);
}

std::int64_t acp_sys_close(int descriptor) {
    return make(SystemCall::close, descriptor);
}

std::int64_t acp_sys_lseek(int descriptor, std::int64_t offset, int whence) {
    return make(SystemCall::lseek, descriptor, offset, whence);
}

std::int64_t acp_sys_dup(int descriptor) {
    return make(SystemCall::dup, descriptor);
}

std::int64_t acp_sys_fsync(int descriptor) {
    return make(SystemCall::fsync, descriptor);
}

std::int64_t acp_sys_unlink(const char* path) {
    return make(SystemCall::unlinkat, current_folder, path);
}

std::int64_t acp_sys_pipe(int descriptors[2]) {
    return make(SystemCall::pipe2, descriptors);
}

std::int64_t acp_sys_socket(int family, int type, int protocol) {
    return make(SystemCall::socket, family, type, protocol);
}

std::int64_t acp_sys_bind(int descriptor, const void* address, unsigned bytes) {
    return make(SystemCall::bind, descriptor, address, bytes);
}

std::int64_t acp_sys_listen(int descriptor, int backlog) {
    return make(SystemCall::listen, descriptor, backlog);
}

std::int64_t acp_sys_accept(int descriptor) {
    return make(SystemCall::accept, descriptor);
}

std::int64_t acp_sys_connect(int descriptor, const void* address, unsigned bytes) {
    return make(SystemCall::connect, descriptor, address, bytes);
}

std::int64_t acp_sys_shutdown(int descriptor, int how) {
    return make(SystemCall::shutdown, descriptor, how);
}

std::int64_t acp_sys_send(int descriptor, const void* bytes, std::uint64_t count, int flags) {
    return make(SystemCall::sendto, descriptor, bytes, count, flags);
}

std::int64_t acp_sys_recv(int descriptor, void* bytes, std::uint64_t count, int flags) {
    return make(SystemCall::recvfrom, descriptor, bytes, count, flags);
}

std::int64_t acp_sys_call(std::int64_t number, const std::uint64_t words[6]) {
    return acp::device_side::make_call_by_number(
        number, {words[0], words[1], words[2], words[3], words[4], words[5]});
}

}  // extern "C"
