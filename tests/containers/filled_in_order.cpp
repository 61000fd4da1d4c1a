// SPDX-License-Identifier: BSD-3-Clause
// Lists, vectors and deques for filled.hpp.
#include <algorithm>
#include <cstring>
#include <list>
#include <vector>

#include "containers/filled.hpp"
#include "containers/model.hpp"

namespace acp::test {

namespace {

class FilledList final : public Filled {
public:
    FilledList(int rank, int elements, std::size_t bytes)
        : list_(acp_create_list(rank)), elements_(elements), bytes_(bytes) {
        must(list_.ga != ACP_GA_NULL, "acp_create_list");
        middle_ = acp_end_list(list_);
        middle_number_ = numbers_.end();
    }

    bool put(Place place, std::uint32_t number) override {
        const std::string content = content_of(number, bytes_);
        const auto* const bytes = content.data();
        if (place == Place::back) {
            if (!is_done(acp_push_back_list(list_, bytes, bytes_, elements_) == 0, "push_back"))
                return false;
            numbers_.push_back(number);
        } else if (place == Place::front) {
            if (!is_done(acp_push_front_list(list_, bytes, bytes_, elements_) == 0, "push_front"))
                return false;
            numbers_.push_front(number);
        } else {
            const acp_list_it_t made = acp_insert_list(middle_, bytes, bytes_, elements_);
            if (!is_done(made.elem != ACP_GA_NULL, "insert")) return false;
            const auto made_number = numbers_.insert(middle_number_, number);
            // Alternates: the next element goes before this one, the one after it behind.
            if (number % 2 == 0) middle_ = made;
            if (number % 2 == 0) middle_number_ = made_number;
        }
        return true;
    }

    bool clear() override {
        if (!is_done(acp_clear_list(list_) == 0, "acp_clear_list")) return false;
        numbers_.clear();
        middle_ = acp_end_list(list_);
        middle_number_ = numbers_.end();
        return true;
    }

    void thin_out() override {
        acp_list_it_t it = acp_begin_list(list_);
        for (auto number = numbers_.begin(); number != numbers_.end();) {
            it = acp_erase_list(it);
            must(it.elem != ACP_GA_NULL, "acp_erase_list");
            number = numbers_.erase(number);
            if (number == numbers_.end()) break;
            it = acp_increment_list_it(it);
            ++number;
        }
        middle_ = acp_end_list(list_);
        middle_number_ = numbers_.end();
    }

    void compare() override {
        must(acp_size_list(list_) == numbers_.size(), "acp_size_list");
        acp_list_it_t it = acp_begin_list(list_);
        std::string read(bytes_ + 1, '?');
        for (const std::uint32_t number : numbers_) {
            must(it.elem != list_.ga, "the list ends early");
            must(acp_read_list(it, read.data(), read.size()) == static_cast<std::int64_t>(bytes_),
                 "the size of an element");
            must(read.compare(0, bytes_, content_of(number, bytes_)) == 0, "an element's bytes");
            it = acp_increment_list_it(it);
        }
        must(it.elem == list_.ga, "the list has more elements than were put");
    }

    void destroy() override { must(acp_destroy_list(list_) == 0, "acp_destroy_list"); }

    [[nodiscard]] bool grows() const override { return true; }

    [[nodiscard]] bool copies_to_insert() const override { return false; }

private:
    acp_list_t list_;
    int elements_;
    std::size_t bytes_;
    std::list<std::uint32_t> numbers_;
    acp_list_it_t middle_{};
    std::list<std::uint32_t>::iterator middle_number_;
};

struct OfVector {
    using Handle = acp_vector_t;
    static constexpr auto create = acp_create_vector;
    static constexpr auto destroy = acp_destroy_vector;
    static constexpr auto push_back = acp_push_back_vector;
    static constexpr auto insert = acp_insert_vector;
    static constexpr auto pop_back = acp_pop_back_vector;
    static constexpr auto read = acp_read_vector;
    static constexpr auto size = acp_size_vector;
    static constexpr auto clear = acp_clear_vector;

    static int push_front(Handle vector, const void* bytes, std::size_t count) {
        return insert({vector, 0}, bytes, count).vector.ga != ACP_GA_NULL ? 0 : -1;
    }
};

struct OfDeque {
    using Handle = acp_deque_t;
    static constexpr auto create = acp_create_deque;
    static constexpr auto destroy = acp_destroy_deque;
    static constexpr auto push_back = acp_push_back_deque;
    static constexpr auto push_front = acp_push_front_deque;
    static constexpr auto insert = acp_insert_deque;
    static constexpr auto pop_back = acp_pop_back_deque;
    static constexpr auto read = acp_read_deque;
    static constexpr auto size = acp_size_deque;
    static constexpr auto clear = acp_clear_deque;
};

// Elements of one size, contiguous.
template <typename Of>
class FilledSequence final : public Filled {
public:
    FilledSequence(int rank, std::size_t bytes) : handle_(Of::create(0, rank)), bytes_(bytes) {
        must(handle_.ga != ACP_GA_NULL, "making it");
    }

    bool put(Place place, std::uint32_t number) override {
        const std::string content = content_of(number, bytes_);
        std::size_t at = front_.size() + back_.size();
        if (place == Place::back) {
            if (!is_done(Of::push_back(handle_, content.data(), bytes_) == 0, "push_back"))
                return false;
        } else if (place == Place::front) {
            if (!is_done(Of::push_front(handle_, content.data(), bytes_) == 0, "push_front"))
                return false;
        } else {
            at = front_.size() + back_.size() / 2;
            const auto index = static_cast<std::int64_t>(at * bytes_);
            const auto made = Of::insert({handle_, index}, content.data(), bytes_);
            if (!is_done(made.index == index, "insert")) return false;
        }
        if (place == Place::front) {
            front_.push_back(number);
        } else {
            back_.insert(back_.begin() + static_cast<std::ptrdiff_t>(at - front_.size()), number);
        }
        return true;
    }

    bool clear() override {
        if (!is_done(Of::clear(handle_) == 0, "clear")) return false;
        front_.clear();
        back_.clear();
        return true;
    }

    // Only elements at the ends are removed in place.
    void thin_out() override {
        const std::size_t count = back_.size() / 2;
        must(Of::pop_back(handle_, count * bytes_) == 0, "pop_back");
        back_.resize(back_.size() - count);
    }

    void compare() override {
        std::string wanted;
        for (auto number = front_.rbegin(); number != front_.rend(); ++number)
            wanted += content_of(*number, bytes_);
        for (const std::uint32_t number : back_) wanted += content_of(number, bytes_);
        must(Of::size(handle_) == wanted.size(), "the size");
        // Longer reads go between nodes through a block of the owner's heap, which has no room.
        std::string read(900, '?');
        for (std::size_t at = 0; at < wanted.size(); at += read.size()) {
            const std::size_t count = std::min(read.size(), wanted.size() - at);
            must(Of::read(handle_, static_cast<std::int64_t>(at), read.data(), count) ==
                     static_cast<std::int64_t>(count),
                 "read");
            must(wanted.compare(at, count, read, 0, count) == 0, "an element's bytes");
        }
    }

    void destroy() override { must(Of::destroy(handle_) == 0, "destroying it"); }

    [[nodiscard]] bool grows() const override { return bytes_ != 0; }

    [[nodiscard]] bool copies_to_insert() const override { return true; }

private:
    typename Of::Handle handle_;
    std::size_t bytes_;
    std::vector<std::uint32_t> front_;  // the last one first
    std::vector<std::uint32_t> back_;
};

}  // namespace

bool is_done(bool is_ok, const char* call) {
    must(is_ok || acp_errno() == ACP_ERR_MEMORY, call);
    return is_ok;
}

std::unique_ptr<Filled> make_filled_list(int rank, int elements, std::size_t bytes) {
    return std::make_unique<FilledList>(rank, elements, bytes);
}

std::unique_ptr<Filled> make_filled_vector(int rank, std::size_t bytes) {
    return std::make_unique<FilledSequence<OfVector>>(rank, bytes);
}

std::unique_ptr<Filled> make_filled_deque(int rank, std::size_t bytes) {
    return std::make_unique<FilledSequence<OfDeque>>(rank, bytes);
}

}  // namespace acp::test
