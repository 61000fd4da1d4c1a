// SPDX-License-Identifier: BSD-3-Clause
// acp_register_all: every rank registers its part, all agree on success, and then the ranks
// exchange the addresses (api/gather.hpp).
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "api/boundary.hpp"
#include "api/fatal.hpp"
#include "api/gather.hpp"
#include "api/library.hpp"
#include "api/registration.hpp"

#include <acp/memory.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;

constexpr const char* this_call = "acp_register_all";

// The caller's part while it is not certain that all ranks succeed.
class Part {
public:
    Part() noexcept = default;
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    // Errors: as acp_register_memory.
    base::Status add(void* address, std::size_t size, int color) {
        if (size == 0) return {};
        auto key = api::add_registration(this_call, address, size, color);
        if (!key.is_ok()) return std::move(key).failure();
        key_ = key.value();
        return {};
    }

    ~Part() {
        if (!is_kept_ && key_ != ACP_ATKEY_NULL) {
            (void)library().gma->registry().remove(key_);  // it is a live key
        }
    }

    // The key, which is the address of the part's first byte.
    [[nodiscard]] acp_atkey_t key() const noexcept { return key_; }

    void keep() noexcept { is_kept_ = true; }

private:
    acp_atkey_t key_ = ACP_ATKEY_NULL;
    bool is_kept_ = false;
};

// The caller's arguments, and the place of the result.
struct Wanted {
    void* address = nullptr;
    std::size_t size = 0;
    int color = 0;
    acp_ga_t* addresses = nullptr;
    acp_atkey_t* key = nullptr;
};

base::Status register_part(const Wanted& wanted, Part& part) {
    if (wanted.addresses == nullptr || wanted.key == nullptr) {
        return api::in_call(
            this_call,
            {base::Code::argument, wanted.key == nullptr ? "key is NULL" : "addresses is NULL"});
    }
    return part.add(wanted.address, wanted.size, wanted.color);
}

base::Status register_all(const Wanted& wanted) {
    Part part;
    std::vector<std::uint64_t> addresses;
    auto status = api::gather_words(
        {this_call, api::WorldCall::register_all, 1},
        [&](std::span<std::uint64_t> own) -> base::Status {
            auto registered = register_part(wanted, part);
            own[0] = part.key();
            return registered;
        },
        addresses);
    if (!status.is_ok()) return status;
    std::copy(addresses.begin(), addresses.end(), wanted.addresses);
    *wanted.key = part.key();
    part.keep();
    return {};
}

}  // namespace

extern "C" {

int acp_register_all(void* address, size_t size, int color, acp_ga_t* addresses, acp_atkey_t* key) {
    if (!library().life.begin_meeting()) [[unlikely]] {
        api::refuse(this_call, true);
        return -1;
    }
    const api::MeetingCall meeting;
    const bool is_ok = api::run_always<Gravity::reported>(this_call, false, [&] {
        return register_all({address, size, color, addresses, key});
    });
    return is_ok ? 0 : -1;
}
}
