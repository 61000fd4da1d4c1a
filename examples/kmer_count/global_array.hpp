// SPDX-License-Identifier: BSD-3-Clause
// An array in private memory that every rank can reach: allocated, zeroed and registered with ACP here,
// unregistered and freed together. Pages that nobody touches cost nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include <acp.h>

#include "failure.hpp"

namespace kmer {

template <typename T>
class GlobalArray {
    static_assert(std::is_trivially_copyable_v<T>, "other ranks see the elements' bytes only");

public:
    // Throws Failure with ACP's reason when the memory cannot be registered, std::bad_alloc.
    explicit GlobalArray(std::size_t size)
        : items_(static_cast<T*>(std::calloc(std::max<std::size_t>(size, 1), sizeof(T)))) {
        if (items_ == nullptr) throw std::bad_alloc();
        const std::size_t bytes = std::max<std::size_t>(size, 1) * sizeof(T);
        key_ = acp_register_memory(items_.get(), bytes, 0);
        if (key_ == ACP_ATKEY_NULL) {
            throw Failure("cannot register " + std::to_string(bytes) +
                          " bytes: " + acp_error_message());
        }
        ga_ = acp_query_ga(key_, items_.get());
    }

    GlobalArray(const GlobalArray&) = delete;
    GlobalArray& operator=(const GlobalArray&) = delete;

    ~GlobalArray() { acp_unregister_memory(key_); }

    // Where element `index` is, for this rank and for all.
    [[nodiscard]] T* at(std::size_t index) { return items_.get() + index; }

    [[nodiscard]] acp_ga_t ga(std::size_t index) const { return ga_ + index * sizeof(T); }

private:
    struct Free {
        void operator()(T* items) const { std::free(items); }
    };

    std::unique_ptr<T, Free> items_;
    acp_atkey_t key_ = ACP_ATKEY_NULL;
    acp_ga_t ga_ = ACP_GA_NULL;
};

}  // namespace kmer
