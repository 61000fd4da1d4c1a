// SPDX-License-Identifier: BSD-3-Clause
// <acp/memory.h>.
#include <cstdint>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/library.hpp"
#include "api/registration.hpp"
#include "base/format.hpp"
#include "os/process.hpp"

#include <acp/memory.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using api::run;

// Whether an address has a valid rank and colour: it names a process of this job, one of its
// colours, and a generation, like every address of memory.
base::Status check_address(const char* call, acp_ga_t address) {
    const local::Space& space = library().gma->space();
    const memory::GaLayout& layout = space.layout();
    const std::uint32_t colors = base::color_count(library().config);
    if (layout.generation(address) == 0 || layout.process(address) >= library().member->procs()) {
        return {base::Code::address, std::string(call) + ": " + space.explain(address, 1)};
    }
    if (layout.color(address) >= colors) {
        return {base::Code::address, call + (": " + local::Space::range_name(address, 1)) +
                                         ": colour " + std::to_string(layout.color(address)) +
                                         " is not one of 0 to " + std::to_string(colors - 1)};
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
std::string registration_phrase(const char* call, const void* address, std::size_t bytes) {
    const std::string place =
        address != nullptr ? base::hex(reinterpret_cast<std::uintptr_t>(address)) : "NULL";
    return std::string(call) + "(" + place + ", " + base::in_bytes(bytes) + ")" + by_this_rank();
}

}  // namespace

base::Result<local::Key> api::add_registration(const char* call,
                                               void* address,
                                               std::size_t size,
                                               int color) {
    const auto refused = [&](base::Status why) {
        return std::move(why).within(registration_phrase(call, address, size));
    };
    if (size == 0) return refused({base::Code::argument, "the size is 0 bytes"});
    if (color < 0 || static_cast<std::uint32_t>(color) >= base::color_count(library().config)) {
        return refused(
            {base::Code::argument, "colour " + std::to_string(color) + " is not one of 0 to " +
                                       std::to_string(base::color_count(library().config) - 1)});
    }
    const dsm::SharedPages* const shared = library().shared_pages.get();
    if (shared != nullptr && shared->window().overlaps(address, size)) {
        return refused(
            {base::Code::argument,
             "the range is in shared pages, which have addresses already: acp_query_ga_dsm "
             "returns them"});
    }
    auto key = library().gma->register_memory(address, size, static_cast<std::uint32_t>(color));
    if (!key.is_ok()) return refused(std::move(key).failure());
    return key;
}

extern "C" {

acp_ga_t acp_query_starter_ga(int rank) {
    const auto body = [&]() -> base::Result<acp_ga_t> {
        if (rank < 0 || static_cast<std::uint32_t>(rank) >= library().member->procs()) {
            return base::Status(base::Code::argument,
                                "acp_query_starter_ga: rank " + std::to_string(rank) +
                                    " is not one of 0 to " +
                                    std::to_string(library().member->procs() - 1));
        }
        const local::Space& space = library().gma->space();
        return space.starter_address(space.segment().process_of(static_cast<std::uint32_t>(rank)));
    };
    return run<Gravity::misuse_ends>("acp_query_starter_ga", ACP_GA_NULL, body);
}

size_t acp_starter_size(void) {
    return run<Gravity::misuse_ends>("acp_starter_size", ~std::size_t{0}, []() -> std::size_t {
        return library().member->segment().shape().starter_bytes;
    });
}

acp_atkey_t acp_register_memory(void* address, size_t size, int color) {
    const auto body = [&]() -> base::Result<acp_atkey_t> {
        return api::add_registration("acp_register_memory", address, size, color);
    };
    return run<Gravity::misuse_ends>("acp_register_memory", ACP_ATKEY_NULL, body);
}

int acp_unregister_memory(acp_atkey_t key) {
    const bool is_ok = run<Gravity::misuse_ends>("acp_unregister_memory", false, [&] {
        auto status = library().gma->registry().remove(key);
        // The message takes memory: after the registration has ended nothing may fail.
        if (status.is_ok()) return status;
        return std::move(status).within("acp_unregister_memory" + by_this_rank());
    });
    return is_ok ? 0 : -1;
}

acp_ga_t acp_query_ga(acp_atkey_t key, const void* address) {
    return run<Gravity::misuse_ends>("acp_query_ga", ACP_GA_NULL, [&]() -> base::Result<acp_ga_t> {
        auto ga = library().gma->registry().address_in(key, address);
        return ga.is_ok() ? std::move(ga)
                          : std::move(ga).failure().within("acp_query_ga" + by_this_rank());
    });
}

void* acp_query_address(acp_ga_t ga) {
    // The common case first: one look into the table, no error to make.
    if (char* place = nullptr; api::fast_path.view.find_direct(ga, 1, place)) {
        return place;
    }
    const auto body = [&]() -> base::Result<void*> {
        const local::Space& space = library().gma->space();
        local::Place place;
        const base::Code code = space.find(ga, 1, place);
        if (code == base::Code::address && space.is_elsewhere(ga, 1)) {
            // For the agent, if the program uses the null pointer and crashes. relaxed, here and
            // below: read after the process has ended
            library().member->slot().unmapped_rank_plus_1.store(rank_of(ga) + 1,
                                                                std::memory_order_relaxed);
            return base::Status(base::Code::unsupported,
                                "acp_query_address: rank " + std::to_string(rank_of(ga)) +
                                    " is on another node; copy its memory with acp_copy");
        }
        if (code != base::Code::ok) {
            if (library().member->segment().shape().starter_bytes == 0) {
                library().member->slot().unmapped_rank_plus_1.store(node::no_starter_memory,
                                                                    std::memory_order_relaxed);
            }
            return base::Status(code, "acp_query_address: " + space.explain(ga, 1));
        }
        if (place.direct == nullptr) {
            return base::Status(base::Code::unsupported,
                                "acp_query_address: private memory of rank " +
                                    std::to_string(rank_of(ga)) +
                                    " is not mapped in this process; copy it with acp_copy");
        }
        return static_cast<void*>(place.direct);
    };
    return run<Gravity::misuse_ends>("acp_query_address", static_cast<void*>(nullptr), body);
}

int acp_query_rank(acp_ga_t ga) {
    return run<Gravity::misuse_ends>("acp_query_rank", -1, [&]() -> base::Result<int> {
        auto status = check_address("acp_query_rank", ga);
        return status.is_ok() ? base::Result<int>(static_cast<int>(rank_of(ga)))
                              : base::Result<int>(std::move(status));
    });
}

int acp_query_color(acp_ga_t ga) {
    return run<Gravity::misuse_ends>("acp_query_color", -1, [&]() -> base::Result<int> {
        auto status = check_address("acp_query_color", ga);
        return status.is_ok()
                   ? base::Result<int>(static_cast<int>(library().gma->space().layout().color(ga)))
                   : base::Result<int>(std::move(status));
    });
}

int acp_colors(void) {
    return run<Gravity::misuse_ends>(
        "acp_colors", -1, [] { return static_cast<int>(base::color_count(library().config)); });
}
}
