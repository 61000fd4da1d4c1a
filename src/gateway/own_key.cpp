// SPDX-License-Identifier: BSD-3-Clause
// The file is written and read as one record; no process maps it.
#include "gateway/own_key.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "os/memory_file.hpp"
#include "os/pipe.hpp"
#include "os/secret_memory.hpp"

namespace acp::gateway {

namespace {

constexpr std::uint64_t magic = 0x41435034'4b455921ULL;  // "ACP4KEY!"

struct KeyRecord {
    std::uint64_t magic = 0;
    std::uint64_t job_id = 0;
    std::array<std::byte, own_key_bytes> key{};
};

base::Status no_key(const std::string& why) {
    return {base::Code::state,
            "the key for the way to other nodes cannot be read: " + why +
                "; a program that starts ranks must pass on the descriptors it inherits, or set "
                "ACP_GATEWAY=agent for the job"};
}

}  // namespace

base::Result<os::FileDescriptor> keep_own_key(const node::Segment& segment,
                                              std::span<const std::byte> job_key,
                                              base::Security security,
                                              crypto::CipherWish cipher) {
    auto suite = crypto::suite_for(security, cipher, crypto::BackendWish::automatic);
    if (!suite.is_ok()) return std::move(suite).failure();
    auto file = os::create_memory_file("acp-key", sizeof(KeyRecord));
    if (!file.is_ok()) return std::move(file).failure();
    KeyRecord record{magic, segment.shape().job_id, {}};
    constexpr std::string_view purpose = "acp1 ranks";
    suite.value()->derive(job_key, std::as_bytes(std::span(&record.job_id, 1)),
                          std::as_bytes(std::span(purpose)), record.key);
    auto status = os::write_at(file.value().get(), 0, std::as_bytes(std::span(&record, 1)));
    os::wipe(record.key);
    if (!status.is_ok()) return status;
    // relaxed: the agent starts the ranks after this
    segment.control().own_key.store(static_cast<std::uint32_t>(file.value().get()) + 1,
                                    std::memory_order_relaxed);
    return std::move(file).value();
}

bool has_inherited_own_key(const node::Segment& segment) {
    const std::uint32_t number = segment.control().own_key.load(std::memory_order_relaxed);
    return number == 0 || os::adopt_memory_file(static_cast<int>(number) - 1).is_ok();
}

base::Status read_own_key(const node::Segment& segment,
                          std::span<std::byte, own_key_bytes> into,
                          int given) {
    const std::uint32_t number = segment.control().own_key.load(std::memory_order_relaxed);
    if (number == 0) return no_key("there is none");
    const int fd = given >= 0 ? given : static_cast<int>(number) - 1;
    KeyRecord record;
    if (!os::read_at(fd, 0, std::as_writable_bytes(std::span(&record, 1))).is_ok()) {
        return no_key("descriptor " + std::to_string(fd) + " was closed");
    }
    if (record.magic != magic || record.job_id != segment.shape().job_id) {
        return no_key("descriptor " + std::to_string(fd) + " is another file by now");
    }
    std::copy(record.key.begin(), record.key.end(), into.begin());
    os::wipe(record.key);
    return os::set_close_on_exec(fd);
}

}  // namespace acp::gateway
