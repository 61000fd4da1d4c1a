// SPDX-License-Identifier: BSD-3-Clause
// Vectors and deques with std::string and std::deque<char> as models: every call that changes or
// returns bytes, at every place.
#include <algorithm>
#include <deque>

#include <acp.h>

#include "containers/model.hpp"

namespace acp::test {

namespace {

// The calls of the vector, under names that both models use.
struct OfVector {
    using Handle = acp_vector_t;
    using Bytes = std::string;
    static constexpr auto create = acp_create_vector;
    static constexpr auto destroy = acp_destroy_vector;
    static constexpr auto append = acp_append_vector;
    static constexpr auto pop_back = acp_pop_back_vector;
    static constexpr auto take_back = acp_take_back_vector;
    static constexpr auto read = acp_read_vector;
    static constexpr auto write = acp_write_vector;
    static constexpr auto insert = acp_insert_vector;
    static constexpr auto insert_range = acp_insert_range_vector;
    static constexpr auto erase = acp_erase_vector;
    static constexpr auto assign_range = acp_assign_range_vector;
    static constexpr auto swap = acp_swap_vector;
    static constexpr auto clear = acp_clear_vector;
    static constexpr auto reserve = acp_reserve_vector;
    static constexpr auto size = acp_size_vector;
    static constexpr auto capacity = acp_capacity_vector;
    static constexpr auto empty = acp_empty_vector;
    static constexpr auto at = acp_at_vector;
    static constexpr auto begin = acp_begin_vector;
    static constexpr auto end = acp_end_vector;
    static constexpr auto advance = acp_advance_vector_it;
    static constexpr auto distance = acp_distance_vector_it;
};

struct OfDeque {
    using Handle = acp_deque_t;
    using Bytes = std::deque<char>;
    static constexpr auto create = acp_create_deque;
    static constexpr auto destroy = acp_destroy_deque;
    static constexpr auto append = acp_append_deque;
    static constexpr auto pop_back = acp_pop_back_deque;
    static constexpr auto take_back = acp_take_back_deque;
    static constexpr auto read = acp_read_deque;
    static constexpr auto write = acp_write_deque;
    static constexpr auto insert = acp_insert_deque;
    static constexpr auto insert_range = acp_insert_range_deque;
    static constexpr auto erase = acp_erase_deque;
    static constexpr auto assign_range = acp_assign_range_deque;
    static constexpr auto swap = acp_swap_deque;
    static constexpr auto clear = acp_clear_deque;
    static constexpr auto reserve = acp_reserve_deque;
    static constexpr auto size = acp_size_deque;
    static constexpr auto capacity = acp_capacity_deque;
    static constexpr auto empty = acp_empty_deque;
    static constexpr auto at = acp_at_deque;
    static constexpr auto begin = acp_begin_deque;
    static constexpr auto end = acp_end_deque;
    static constexpr auto advance = acp_advance_deque_it;
    static constexpr auto distance = acp_distance_deque_it;
};

template <typename Of>
class SequenceModel : public Model {
public:
    explicit SequenceModel(int rank) : handle_(Of::create(0, rank)), other_(Of::create(0, rank)) {
        must(handle_.ga != ACP_GA_NULL && other_.ga != ACP_GA_NULL, "making it");
    }

    void apply(const Step& step) override {
        const std::string text = text_of(step.value);
        const std::size_t at = bytes_.empty() ? 0 : step.which % (bytes_.size() + 1);
        const std::size_t count = std::min<std::size_t>(step.value % 200, bytes_.size() - at);
        switch (step.what % 12) {
            case 0:
            case 1:
                must(Of::append(handle_, text.data(), text.size()) ==
                         static_cast<std::int64_t>(bytes_.size()),
                     "append");
                bytes_.insert(bytes_.end(), text.begin(), text.end());
                break;
            case 2:
                take_back(step.value % 200);
                break;
            case 3: {
                const auto it = Of::insert(place(at), text.data(), text.size());
                must(Of::distance(Of::begin(handle_), it) == static_cast<std::int64_t>(at),
                     "where insert says it is");
                bytes_.insert(iterator(at), text.begin(), text.end());
                break;
            }
            case 4:
                must(Of::distance(Of::begin(handle_), Of::erase(place(at), count)) ==
                         static_cast<std::int64_t>(at),
                     "where erase says it is");
                bytes_.erase(iterator(at), iterator(at + count));
                break;
            case 5:
                write(at, text);
                break;
            case 6:
                read(at, step.value % 300);
                break;
            case 7:
                insert_range(at, count);
                break;
            case 8:
                must(Of::swap(handle_, other_) == 0, "swap");
                std::swap(bytes_, other_bytes_);
                break;
            case 9:
                reserve(step.value % 20'000);
                break;
            case 10:
                if (step.value % 16 != 0) break;
                must(Of::clear(handle_) == 0, "clear");
                bytes_.clear();
                break;
            default:
                assign(at, count);
        }
        must(Of::size(handle_) == bytes_.size(), "the size");
        must(Of::empty(handle_) == (bytes_.empty() ? 1 : 0), "whether it is empty");
        must(Of::capacity(handle_) >= bytes_.size(), "the capacity");
    }

    void compare() override {
        expect_content(handle_, bytes_);
        expect_content(other_, other_bytes_);
    }

    void destroy() override {
        must(Of::destroy(handle_) == 0 && Of::destroy(other_) == 0, "destroying it");
    }

protected:
    using Handle = typename Of::Handle;
    using Bytes = typename Of::Bytes;

    [[nodiscard]] Handle handle() const { return handle_; }

    [[nodiscard]] Bytes& bytes() { return bytes_; }

    static void expect_content(Handle handle, const Bytes& wanted) {
        std::string found(wanted.size() + 10, '?');
        must(Of::read(handle, 0, found.data(), found.size()) ==
                 static_cast<std::int64_t>(wanted.size()),
             "how many bytes there are");
        must(std::equal(wanted.begin(), wanted.end(), found.begin()), "the bytes");
    }

private:
    [[nodiscard]] auto place(std::size_t at) const {
        return Of::advance(Of::begin(handle_), static_cast<std::int64_t>(at));
    }

    [[nodiscard]] auto iterator(std::size_t at) {
        return bytes_.begin() + static_cast<std::ptrdiff_t>(at);
    }

    void take_back(std::size_t wanted) {
        std::string taken(wanted, '?');
        const std::size_t there = std::min(wanted, bytes_.size());
        must(Of::take_back(handle_, taken.data(), wanted) == static_cast<std::int64_t>(there),
             "how many bytes were taken");
        must(std::equal(bytes_.end() - static_cast<std::ptrdiff_t>(there), bytes_.end(),
                        taken.begin()),
             "the bytes taken are those of the model");
        bytes_.resize(bytes_.size() - there);
    }

    void write(std::size_t at, const std::string& text) {
        const bool fits = at + text.size() <= bytes_.size();
        must((Of::write(handle_, static_cast<std::int64_t>(at), text.data(), text.size()) == 0) ==
                 fits,
             "whether a write fits");
        if (fits) std::copy(text.begin(), text.end(), iterator(at));
    }

    void read(std::size_t at, std::size_t wanted) {
        std::string found(wanted, '?');
        const std::size_t there = std::min(wanted, bytes_.size() - at);
        must(Of::read(handle_, static_cast<std::int64_t>(at), found.data(), wanted) ==
                 static_cast<std::int64_t>(there),
             "how many bytes were read");
        must(std::equal(iterator(at), iterator(at + there), found.begin()),
             "the bytes read are those of the model");
        if (there == 0) return;
        char byte = '?';
        const acp_ga_t place = Of::at(handle_, static_cast<std::int64_t>(at));
        must(acp_wait(acp_get(&byte, place, 1, ACP_HANDLE_NULL), -1) == ACP_OK &&
                 byte == *iterator(at),
             "the byte at an index");
    }

    // Inserts a part of the other container.
    void insert_range(std::size_t at, std::size_t count) {
        count = std::min(count, other_bytes_.size());
        const auto first = Of::begin(other_);
        (void)Of::insert_range(place(at), first,
                               Of::advance(first, static_cast<std::int64_t>(count)));
        bytes_.insert(iterator(at), other_bytes_.begin(),
                      other_bytes_.begin() + static_cast<std::ptrdiff_t>(count));
    }

    // Replaces the other container by a part of this one.
    void assign(std::size_t at, std::size_t count) {
        must(Of::assign_range(other_, place(at), place(at + count)) == 0, "assigning a range");
        other_bytes_.assign(iterator(at), iterator(at + count));
    }

    void reserve(std::size_t size) {
        must(Of::reserve(handle_, size) == 0, "reserve");
        must(Of::capacity(handle_) >= size, "the capacity that was asked for");
    }

    Handle handle_;
    Handle other_;
    Bytes bytes_;
    Bytes other_bytes_;
};

using VectorModel = SequenceModel<OfVector>;

// A deque also has calls at its front.
class DequeModel final : public SequenceModel<OfDeque> {
public:
    using SequenceModel<OfDeque>::SequenceModel;

    void apply(const Step& step) override {
        if (step.value % 4 != 0) return SequenceModel<OfDeque>::apply(step);
        if (step.what % 2 == 0) {
            const std::string text = text_of(step.value);
            must(acp_push_front_deque(handle(), text.data(), text.size()) == 0, "push_front");
            bytes().insert(bytes().begin(), text.begin(), text.end());
            return;
        }
        const std::size_t wanted = step.value % 200;
        const std::size_t there = std::min(wanted, bytes().size());
        std::string taken(wanted, '?');
        must(acp_take_front_deque(handle(), taken.data(), wanted) ==
                 static_cast<std::int64_t>(there),
             "how many bytes were taken from the front");
        const auto end = bytes().begin() + static_cast<std::ptrdiff_t>(there);
        must(std::equal(bytes().begin(), end, taken.begin()),
             "the bytes taken from the front are those of the model");
        bytes().erase(bytes().begin(), end);
    }
};

}  // namespace

std::unique_ptr<Model> make_vector_model(int rank) {
    return std::make_unique<VectorModel>(rank);
}

std::unique_ptr<Model> make_deque_model(int rank) {
    return std::make_unique<DequeModel>(rank);
}

}  // namespace acp::test
