// SPDX-License-Identifier: BSD-3-Clause
// <acp/memory.h>.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "api/library.hpp"
#include "os/process.hpp"

#include <acp/memory.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::check_in_use;
using api::guarded;
using api::keep;
using api::library;
using api::result_of;

// Whether the rank and colour of an address can be told: it names a process of this job.
base::Status check_address(const char* call, acp_ga_t address) {
    if (auto status = check_in_use(call); !status.is_ok()) {
        return status;
    }
    const gma::Gma& gma = *library().gma;
    if (address == 0 || gma.space().layout().process(address) >= library().member->procs()) {
        return {base::Code::address, std::string(call) + ": " + gma.space().explain(address, 0)};
    }
    return {};
}

//   address  names a process of this job
std::uint32_t rank_of(acp_ga_t address) {
    const local::Space& space = library().gma->space();
    return space.segment().rank_of(static_cast<std::uint32_t>(space.layout().process(address)));
}

// " by rank 2 on host"
std::string by_this_rank() {
    return " by rank " + std::to_string(library().member->rank()) + " on " + os::host_name();
}

// "acp_register_memory(0x7f..., 4096 bytes) by rank 2 on host"
std::string registration_phrase(const void* address, std::size_t bytes) {
    char place[32];
    std::snprintf(place, sizeof place, "0x%llx",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address)));
    return "acp_register_memory(" + std::string(address != nullptr ? place : "NULL") + ", " +
           std::to_string(bytes) + " bytes)" + by_this_rank();
}

template <typename T>
T value_or(base::Result<T> result, T fallback) {
    if (result.is_ok()) {
        return std::move(result).value();
    }
    keep(result.failure());
    return fallback;
}

}  // namespace

extern "C" {

acp_ga_t acp_query_starter_ga(int rank) {
    return guarded("acp_query_starter_ga", ACP_GA_NULL, [&]() -> acp_ga_t {
        auto status = check_in_use("acp_query_starter_ga");
        if (status.is_ok() &&
            (rank < 0 || static_cast<std::uint32_t>(rank) >= library().member->procs())) {
            status = {base::Code::argument, "acp_query_starter_ga: rank " + std::to_string(rank) +
                                                " is not one of 0 to " +
                                                std::to_string(library().member->procs() - 1)};
        }
        if (!status.is_ok()) {
            keep(status);
            return ACP_GA_NULL;
        }
        const local::Space& space = library().gma->space();
        return space.starter_address(space.segment().process_of(static_cast<std::uint32_t>(rank)));
    });
}

size_t acp_starter_size(void) {
    return guarded("acp_starter_size", std::size_t{0}, [&]() -> std::size_t {
        if (auto status = check_in_use("acp_starter_size"); !status.is_ok()) {
            keep(status);
            return 0;
        }
        return library().member->segment().shape().starter_bytes;
    });
}

acp_atkey_t acp_register_memory(void* address, size_t size, int color) {
    return guarded("acp_register_memory", ACP_ATKEY_NULL, [&]() -> acp_atkey_t {
        auto status = check_in_use("acp_register_memory");
        if (status.is_ok() && size == 0) {
            status = {base::Code::argument, "acp_register_memory: the size is 0 bytes"};
        } else if (status.is_ok() &&
                   (color < 0 || static_cast<std::uint32_t>(color) >= library().config.colors)) {
            status = {base::Code::argument, "acp_register_memory: colour " + std::to_string(color) +
                                                " is not one of 0 to " +
                                                std::to_string(library().config.colors - 1)};
        }
        if (!status.is_ok()) {
            keep(status);
            return ACP_ATKEY_NULL;
        }
        auto key = library().gma->register_memory(address, size, static_cast<std::uint32_t>(color));
        if (!key.is_ok()) {
            keep(std::move(key).failure().within(registration_phrase(address, size)));
            return ACP_ATKEY_NULL;
        }
        return key.value();
    });
}

int acp_unregister_memory(acp_atkey_t key) {
    return guarded("acp_unregister_memory", -1, [&] {
        if (auto status = check_in_use("acp_unregister_memory"); !status.is_ok()) {
            return result_of(status);
        }
        return result_of(
            library().gma->registry().remove(key).within("acp_unregister_memory" + by_this_rank()));
    });
}

acp_ga_t acp_query_ga(acp_atkey_t key, void* address) {
    return guarded("acp_query_ga", ACP_GA_NULL, [&]() -> acp_ga_t {
        if (auto status = check_in_use("acp_query_ga"); !status.is_ok()) {
            keep(status);
            return ACP_GA_NULL;
        }
        return value_or<acp_ga_t>(library().gma->registry().address_in(key, address), ACP_GA_NULL);
    });
}

void* acp_query_address(acp_ga_t ga) {
    // The common case first: one look into the table, no error to make.
    if (char* place = nullptr; api::fast_path.view.find_direct(ga, 1, place)) {
        return place;
    }
    return guarded("acp_query_address", static_cast<void*>(nullptr), [&]() -> void* {
        if (auto status = check_in_use("acp_query_address"); !status.is_ok()) {
            keep(status);
            return nullptr;
        }
        local::Place place;
        const base::Code code = library().gma->space().find(ga, 1, place);
        if (code == base::Code::address && library().gma->space().is_elsewhere(ga, 1)) {
            // For the agent, if the program uses the null pointer and crashes. relaxed: read after the process has ended
            library().member->slot().unmapped_rank_plus_1.store(rank_of(ga) + 1,
                                                                std::memory_order_relaxed);
            keep({base::Code::unsupported,
                  "acp_query_address: rank " + std::to_string(rank_of(ga)) +
                      " is on another node; copy its memory with acp_copy"});
        } else if (code != base::Code::ok) {
            keep({code, "acp_query_address: " + library().gma->space().explain(ga, 1)});
        } else if (place.direct == nullptr) {
            keep({base::Code::unsupported,
                  "acp_query_address: private memory of rank " + std::to_string(rank_of(ga)) +
                      " is not mapped in this process; copy it with acp_copy"});
        }
        return code == base::Code::ok ? place.direct : nullptr;
    });
}

int acp_query_rank(acp_ga_t ga) {
    return guarded("acp_query_rank", -1, [&] {
        if (auto status = check_address("acp_query_rank", ga); !status.is_ok()) {
            return result_of(status);
        }
        return static_cast<int>(rank_of(ga));
    });
}

int acp_query_color(acp_ga_t ga) {
    return guarded("acp_query_color", -1, [&] {
        if (auto status = check_address("acp_query_color", ga); !status.is_ok()) {
            return result_of(status);
        }
        return static_cast<int>(library().gma->space().layout().color(ga));
    });
}

int acp_colors(void) {
    return guarded("acp_colors", -1, [&] {
        if (auto status = check_in_use("acp_colors"); !status.is_ok()) {
            return result_of(status);
        }
        return static_cast<int>(library().config.colors);
    });
}
}
