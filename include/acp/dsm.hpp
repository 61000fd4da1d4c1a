// SPDX-License-Identifier: BSD-3-Clause
// Shared pages for C++17 (acp_init_dsm(3)): owners for the results of the calls of acp/dsm.h. Header
// only.
//
//     acp::dsm::pages shared(std::size_t{1} << 30);     // all ranks
//     acp::dsm::array<double> grid(rows * width);       // all ranks; the same elements on each
//     for (double& own : own_rows(grid)) own = 1;
//     acp::dsm::barrier();                              // each rank sees what all have written
//
// Constructors, destructors, barrier() and calls of allocator are collective: one thread of each
// rank makes them, in the same order on all ranks. They block until all ranks have come.
// Failures throw acp::dsm::error, on all ranks alike unless a rank has died or has made another call
// (ACP_ERR_PEER, ACP_ERR_MISMATCH). Destructors do not throw. A rank that alone throws, and so
// destroys its owners, makes the calls of the other ranks fail by ACP_ERR_MISMATCH.
#ifndef ACP_DSM_HPP
#define ACP_DSM_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <acp/dsm.h>
#include <acp/error.h>
#include <acp/lock.h>

namespace acp::dsm {

// A failed call.
class error : public std::runtime_error {
public:
    // Takes the calling thread's last failure.
    error() : std::runtime_error(acp_error_message()), code_(acp_errno()) {}

    // ACP_ERR_...
    [[nodiscard]] int code() const noexcept { return code_; }

private:
    int code_;
};

// The shared pages of the job, from construction to destruction. One at a time.
class pages {
public:
    //   bytes  as in acp_init_dsm
    explicit pages(std::size_t bytes) {
        if (acp_init_dsm(bytes) != 0) throw error();
    }

    ~pages() { (void)acp_finalize_dsm(); }

    pages(const pages&) = delete;
    pages& operator=(const pages&) = delete;
};

// After it each rank reads what any rank has written to shared pages before it.
inline void barrier() {
    if (acp_barrier_dsm() != 0) throw error();
}

namespace detail {

// The bytes of elements; where their number does not fit, the most: no range is that long.
template <typename T>
constexpr std::size_t bytes_of(std::size_t count) noexcept {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return count <= most / sizeof(T) ? count * sizeof(T) : most;
}

}  // namespace detail

// acp_home_t.
enum class home : std::uint8_t {
    migrating = ACP_HOME_MIGRATING,
    block = ACP_HOME_BLOCK,
    cyclic = ACP_HOME_CYCLIC,
    rank = ACP_HOME_RANK,
    first_writer = ACP_HOME_FIRST_WRITER
};

// A barrier, at which the node of a rank becomes the home of the pages of elements (acp_set_home_dsm).
template <typename T>
void set_home(const T* first, std::size_t count, int rank) {
    if (acp_set_home_dsm(first, detail::bytes_of<T>(count), rank) != 0) throw error();
}

// The lowest rank of the home of an element's page. Not collective.
[[nodiscard]] inline int home_of(const void* element) {
    const int rank = acp_query_home_dsm(element);
    if (rank < 0) throw error();
    return rank;
}

// Fetches elements ahead of their first touch (acp_prefetch_dsm). Not collective.
template <typename T>
void prefetch(const T* first, std::size_t count) {
    if (acp_prefetch_dsm(first, detail::bytes_of<T>(count)) != 0) throw error();
}

// Begins to send what was written in elements ahead of the next barrier (acp_flush_dsm). Not collective.
template <typename T>
void flush(const T* first, std::size_t count) {
    if (acp_flush_dsm(first, detail::bytes_of<T>(count)) != 0) throw error();
}

// Exchanges writes to elements with their homes, between two barriers (acp_fence_dsm). Not collective.
template <typename T>
void fence(const T* first, std::size_t count) {
    if (acp_fence_dsm(first, detail::bytes_of<T>(count)) != 0) throw error();
}

// Bounds the copies of other nodes' pages that the calling rank's node keeps; 0: no bound
// (acp_set_cache_dsm). Not collective.
inline void set_cache(std::size_t bytes) {
    if (acp_set_cache_dsm(bytes) != 0) throw error();
}

// Whether barriers fetch a page again that another node has written (acp_set_update_dsm).
enum class update {
    learn = ACP_UPDATE_LEARN,
    always = ACP_UPDATE_ALWAYS,
    never = ACP_UPDATE_NEVER
};

// Chooses it for the pages of elements, for the calling rank (acp_set_update_dsm). Not collective.
template <typename T>
void set_update(const T* first, std::size_t count, update choice) {
    if (acp_set_update_dsm(first, detail::bytes_of<T>(count), static_cast<int>(choice)) != 0)
        throw error();
}

// A lock to which elements of shared pages are bound (acp_bind_dsm): its holders see them as of the last
// release. Its destructor binds none to it, and leaves the lock; the pages live longer.
class bound_lock {
public:
    //   lock  acp_create_lock; the same on all ranks
    template <typename T>
    bound_lock(acp_lock_t lock, T* first, std::size_t count) : lock_(lock) {
        if (acp_bind_dsm(lock, first, detail::bytes_of<T>(count)) != 0) throw error();
    }

    // All shared pages, also those that are allocated later.
    explicit bound_lock(acp_lock_t lock) : lock_(lock) {
        if (acp_bind_dsm(lock, nullptr, ACP_BIND_ALL) != 0) throw error();
    }

    ~bound_lock() { (void)acp_bind_dsm(lock_, nullptr, 0); }

    bound_lock(const bound_lock&) = delete;
    bound_lock& operator=(const bound_lock&) = delete;

    [[nodiscard]] acp_lock_t lock() const noexcept { return lock_; }

private:
    acp_lock_t lock_;
};

// The calling thread holds the lock, from construction to destruction: the elements that are bound to
// it are as of the last release. Not collective; waits for other holders.
class holding {
public:
    explicit holding(const bound_lock& bound) : lock_(bound.lock()), taken_(acp_lock(lock_)) {
        if (taken_ < 0) throw error();
    }

    ~holding() { (void)acp_unlock(lock_); }

    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;

    // Whether the holder before died; its writes are lost.
    [[nodiscard]] bool has_died() const noexcept { return taken_ == 1; }

private:
    acp_lock_t lock_;
    int taken_;
};

// Whether objects of the type may lie in shared pages: their bytes mean the same on every rank, and
// zero bytes are a valid object. Pointers into shared pages are such objects. The compiler cannot
// exclude pointers to private memory or functions, which mean something on one rank alone.
template <typename T>
inline constexpr bool is_shareable =
    std::is_trivially_copyable_v<T>&& std::is_trivially_destructible_v<T> &&
    !std::is_polymorphic_v<T>;

// An array that begins at a page. Its elements are zero bytes at first. The owner of it is moved, not
// copied.
template <typename T>
class array {
    static_assert(is_shareable<T>, "shared pages hold plain bytes: T must be trivially copyable");

public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    // No elements. Not collective.
    array() noexcept = default;

    // Throws error (the pages have no room), std::bad_array_new_length (the size in bytes does not
    // fit std::size_t).
    //   count  1 or more
    //   where, argument  acp_alloc_home_dsm
    explicit array(std::size_t count, home where = home::migrating, std::uint64_t argument = 0)
        : size_(count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw std::bad_array_new_length();
        const std::size_t bytes = count * sizeof(T);
        data_ = static_cast<T*>(
            where == home::migrating && argument == 0
                ? acp_alloc_dsm(bytes)
                : acp_alloc_home_dsm(bytes, static_cast<acp_home_t>(where), argument));
        if (data_ == nullptr) throw error();
    }

    // Not collective, like the assignment to an array without elements.
    array(array&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

    array& operator=(array&& other) noexcept {
        array moved(std::move(other));
        std::swap(data_, moved.data_);
        std::swap(size_, moved.size_);
        return *this;
    }

    // Frees the elements; not collective where there are none.
    ~array() {
        if (data_ != nullptr) (void)acp_free_dsm(data_);
    }

    // The functions below do not communicate. An access may wait for a page of another node.

    [[nodiscard]] T* data() noexcept { return data_; }

    [[nodiscard]] const T* data() const noexcept { return data_; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }

    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }

    [[nodiscard]] iterator begin() noexcept { return data_; }

    [[nodiscard]] iterator end() noexcept { return data_ + size_; }

    [[nodiscard]] const_iterator begin() const noexcept { return data_; }

    [[nodiscard]] const_iterator end() const noexcept { return data_ + size_; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

// For a container of fixed size whose elements lie in shared pages while its own members are private,
// as in std::vector<int, allocator<int>> v(1000): all ranks make it alike. Elements that get no value
// are not written, and stay zero; those that get one are written by all ranks. A container that grows
// copies its elements on every rank: call barrier() before and after.
template <typename T>
struct allocator {
    static_assert(is_shareable<T>, "shared pages hold plain bytes: T must be trivially copyable");

    using value_type = T;
    using is_always_equal = std::true_type;

    allocator() noexcept = default;

    template <typename Other>
    allocator(const allocator<Other>& /*other*/) noexcept {}

    // Throws std::bad_alloc (acp_errno() has the reason), std::bad_array_new_length.
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw std::bad_array_new_length();
        void* const elements = acp_alloc_dsm(count * sizeof(T));
        if (elements == nullptr) throw std::bad_alloc();
        return static_cast<T*>(elements);
    }

    void deallocate(T* elements, std::size_t /*count*/) noexcept { (void)acp_free_dsm(elements); }

    template <typename U>
    void construct(U* /*element*/) noexcept {}

    template <typename U, typename First, typename... Rest>
    void construct(U* element, First&& first, Rest&&... rest) {
        ::new (static_cast<void*>(element))
            U(std::forward<First>(first), std::forward<Rest>(rest)...);
    }

    template <typename Other>
    friend bool operator==(const allocator& /*one*/, const allocator<Other>& /*other*/) noexcept {
        return true;
    }

    template <typename Other>
    friend bool operator!=(const allocator& /*one*/, const allocator<Other>& /*other*/) noexcept {
        return false;
    }
};

}  // namespace acp::dsm

#endif
