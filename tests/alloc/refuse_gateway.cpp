// SPDX-License-Identifier: BSD-3-Clause
// Loaded into every process of a job (LD_PRELOAD): refuses memory to the gateway's thread of an agent, from its request
// number REFUSE_FIRST on, REFUSE_COUNT times (0: for ever). Other threads, and the ranks, have what they ask for.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>

namespace {

std::atomic<std::uint64_t> requests{0};

std::uint64_t number_of(const char* name) noexcept {
    const char* text = std::getenv(name);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

bool is_refused() noexcept {
    char name[16] = {};
    if (prctl(PR_GET_NAME, name) != 0 || std::strcmp(name, "acp-gateway") != 0) return false;
    const std::uint64_t first = number_of("REFUSE_FIRST");
    const std::uint64_t count = number_of("REFUSE_COUNT");
    const std::uint64_t number = requests.fetch_add(1) + 1;
    return first != 0 && number >= first && (count == 0 || number - first < count);
}

}  // namespace

// NOLINTBEGIN: names and signatures are those of the C library
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t boundary, std::size_t bytes);

void* malloc(std::size_t bytes) {
    if (!is_refused()) return __libc_malloc(bytes);
    errno = ENOMEM;
    return nullptr;
}

void* calloc(std::size_t count, std::size_t bytes) {
    if (!is_refused()) return __libc_calloc(count, bytes);
    errno = ENOMEM;
    return nullptr;
}

void* realloc(void* memory, std::size_t bytes) {
    if (!is_refused()) return __libc_realloc(memory, bytes);
    errno = ENOMEM;
    return nullptr;
}

void* aligned_alloc(std::size_t boundary, std::size_t bytes) {
    if (!is_refused()) return __libc_memalign(boundary, bytes);
    errno = ENOMEM;
    return nullptr;
}
}
// NOLINTEND
