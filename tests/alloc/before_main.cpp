// SPDX-License-Identifier: BSD-3-Clause
// A program that gets no memory before main: loading the library allocates none, and the job works
// afterwards.
#include <cstdlib>
#include <new>

#include <acp.h>

namespace {

constinit bool is_in_main = false;

}  // namespace

void* operator new(std::size_t bytes) {
    void* const memory = is_in_main ? std::malloc(bytes) : nullptr;
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto whole = static_cast<std::size_t>(alignment);
    void* const memory =
        is_in_main ? std::aligned_alloc(whole, (bytes + whole - 1) / whole * whole) : nullptr;
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
    std::free(memory);
}

int main(int argc, char** argv) {
    is_in_main = true;
    if (acp_init(&argc, &argv) != 0) return 1;
    return acp_finalize() == 0 ? 0 : 1;
}
