// SPDX-License-Identifier: BSD-3-Clause
// Memory that all ranks of a job on one machine see, whatever node they play: rank 0 makes a file
// without a name, the others open it by way of rank 0's process. It is independent of the memory
// under test, so that stores to it are visible also to ranks that make no ACP calls. Collective to
// make; any thread after that.
#pragma once

#include <cstddef>
#include <type_traits>

namespace acp::test {

class CommonMemory {
public:
    // Zeroed. Ends the process with a message when the system refuses.
    explicit CommonMemory(std::size_t bytes);
    CommonMemory(const CommonMemory&) = delete;
    CommonMemory& operator=(const CommonMemory&) = delete;
    ~CommonMemory();

    [[nodiscard]] void* data() const noexcept { return data_; }

private:
    void* data_;
    std::size_t bytes_;
};

// Common memory that holds one T, valid when zero.
template <typename T>
class Commons {
    static_assert(std::is_standard_layout_v<T> && std::is_trivially_destructible_v<T>);

public:
    [[nodiscard]] T& operator*() const noexcept { return *static_cast<T*>(memory_.data()); }

    [[nodiscard]] T* operator->() const noexcept { return static_cast<T*>(memory_.data()); }

private:
    CommonMemory memory_{sizeof(T)};
};

}  // namespace acp::test
