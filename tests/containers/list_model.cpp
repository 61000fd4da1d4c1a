// SPDX-License-Identifier: BSD-3-Clause
// Two lists of a rank with std::list<std::string> as models: every call, at every place, on
// elements of the list and of the other one.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <list>
#include <vector>

#include <acp.h>

#include "containers/model.hpp"

namespace acp::test {

namespace {

using Texts = std::list<std::string>;

std::string bytes_of(const acp_element_t& element) {
    std::string bytes(element.size, '?');
    if (element.size == 0) return bytes;
    must(acp_wait(acp_get(bytes.data(), element.ga, element.size, ACP_HANDLE_NULL), -1) == ACP_OK,
         "acp_get of an element");
    return bytes;
}

int by_first_byte(const acp_element_t one, const acp_element_t other) {
    return bytes_of(one)[0] - bytes_of(other)[0];
}

bool is_first_byte_less(const std::string& one, const std::string& other) {
    return one[0] < other[0];
}

struct Pair {
    acp_list_t list{};
    Texts texts;

    [[nodiscard]] acp_list_it_t place(std::size_t at) const {
        return acp_advance_list_it(acp_begin_list(list), static_cast<int>(at));
    }

    [[nodiscard]] Texts::iterator iterator(std::size_t at) {
        return std::next(texts.begin(), static_cast<std::ptrdiff_t>(at));
    }
};

class ListModel final : public Model {
public:
    explicit ListModel(int rank) : rank_(rank) {
        for (Pair* pair : {&one_, &two_}) {
            pair->list = acp_create_list(rank);
            must(pair->list.ga != ACP_GA_NULL, "acp_create_list");
        }
    }

    void apply(const Step& step) override {
        const std::size_t at = step.which % (one_.texts.size() + 1);
        const std::string text = text_of(step.value);
        switch (step.what % 16) {
            case 0:
            case 1:
            case 2:
                must(acp_push_back_list(one_.list, text.data(), text.size(), rank_) == 0,
                     "acp_push_back_list");
                one_.texts.push_back(text);
                break;
            case 3:
                must(acp_push_front_list(one_.list, text.data(), text.size(), rank_) == 0,
                     "acp_push_front_list");
                one_.texts.push_front(text);
                break;
            case 4:
            case 5:
                insert(at, text);
                break;
            case 6:
                take(step.value % 2 == 0);
                break;
            case 7:
                erase(at, at + step.value % 3);
                break;
            case 8:
                must(acp_swap_list(one_.list, two_.list) == 0, "acp_swap_list");
                one_.texts.swap(two_.texts);
                break;
            default:
                apply_to_all(step, at);
        }
        must(acp_size_list(one_.list) == one_.texts.size(), "acp_size_list");
        must(acp_empty_list(one_.list) == (one_.texts.empty() ? 1 : 0), "acp_empty_list");
    }

    void compare() override {
        for (Pair* pair : {&one_, &two_}) {
            acp_list_it_t it = acp_begin_list(pair->list);
            for (const std::string& text : pair->texts) {
                must(it.elem != pair->list.ga, "the list ends early");
                must(bytes_of(acp_dereference_list_it(it)) == text, "an element");
                it = acp_increment_list_it(it);
            }
            must(it.elem == pair->list.ga, "the walk ends at the list's end");
            for (auto text = pair->texts.rbegin(); text != pair->texts.rend(); ++text) {
                it = acp_decrement_list_it(it);
                std::string read(text->size() + 5, '?');
                must(acp_read_list(it, read.data(), read.size()) ==
                         static_cast<std::int64_t>(text->size()),
                     "the size of an element, backward");
                must(read.substr(0, text->size()) == *text, "an element, backward");
            }
        }
    }

    void destroy() override {
        must(acp_destroy_list(one_.list) == 0 && acp_destroy_list(two_.list) == 0,
             "acp_destroy_list");
    }

private:
    void insert(std::size_t at, const std::string& text) {
        const acp_list_it_t made = acp_insert_list(one_.place(at), text.data(), text.size(), rank_);
        must(made.elem != ACP_GA_NULL, "acp_insert_list");
        must(bytes_of(acp_dereference_list_it(made)) == text, "the inserted bytes are read back");
        one_.texts.insert(one_.iterator(at), text);
    }

    void take(bool is_front) {
        std::string taken(4'000, '?');
        const std::int64_t bytes = is_front
                                       ? acp_take_front_list(one_.list, taken.data(), taken.size())
                                       : acp_take_back_list(one_.list, taken.data(), taken.size());
        if (one_.texts.empty()) return must(bytes == ACP_NONE, "taking from an empty list");
        const std::string& wanted = is_front ? one_.texts.front() : one_.texts.back();
        must(bytes == static_cast<std::int64_t>(wanted.size()), "how much was taken");
        must(taken.substr(0, wanted.size()) == wanted, "the bytes taken are those of the model");
        if (is_front) {
            one_.texts.pop_front();
        } else {
            one_.texts.pop_back();
        }
    }

    void erase(std::size_t from, std::size_t to) {
        to = std::min(to, one_.texts.size());
        const acp_list_it_t behind = to == from + 1
                                         ? acp_erase_list(one_.place(from))
                                         : acp_erase_range_list(one_.place(from), one_.place(to));
        must(behind.elem != ACP_GA_NULL, "erasing");
        const auto next = one_.texts.erase(one_.iterator(from), one_.iterator(to));
        if (next == one_.texts.end()) return must(behind.elem == one_.list.ga, "the place behind");
        must(bytes_of(acp_dereference_list_it(behind)) == *next, "the place behind");
    }

    // Steps that visit many elements are rarer.
    void apply_to_all(const Step& step, std::size_t at) {
        if (step.value % 4 != 0) return walk(at);
        switch (step.what % 16) {
            case 9:
                must(acp_reverse_list(one_.list) == 0, "acp_reverse_list");
                return one_.texts.reverse();
            case 10:
                must(acp_sort_list(one_.list, by_first_byte) == 0, "acp_sort_list");
                return one_.texts.sort(is_first_byte_less);
            case 11:
                must(acp_unique_list(one_.list) == 0, "acp_unique_list");
                one_.texts.unique();
                return;
            case 12:
                return remove(at);
            case 13:
                return splice(at);
            case 14:
                must(acp_assign_list(two_.list, one_.list) == 0, "acp_assign_list");
                two_.texts = one_.texts;
                return;
            default:
                return step.which % 8 == 0 ? clear() : merge();
        }
    }

    void walk(std::size_t at) {
        const acp_list_it_t it = one_.place(at);
        must(acp_distance_list_it(acp_begin_list(one_.list), it) == static_cast<int>(at),
             "acp_distance_list_it");
        if (at == one_.texts.size()) return must(it.elem == one_.list.ga, "the end");
        must(bytes_of(acp_dereference_list_it(it)) == *one_.iterator(at), "an element");
    }

    void remove(std::size_t at) {
        if (at == one_.texts.size()) return;
        const std::string text = *one_.iterator(at);
        must(acp_remove_list(one_.list, text.data(), text.size()) == 0, "acp_remove_list");
        one_.texts.remove(text);
    }

    // Moves the elements from a place of the other list to its end before a place of this one.
    void splice(std::size_t at) {
        const std::size_t from = two_.texts.size() / 2;
        must(acp_splice_range_list(one_.place(at), two_.place(from), acp_end_list(two_.list)) == 0,
             "acp_splice_range_list");
        one_.texts.splice(one_.iterator(at), two_.texts, two_.iterator(from), two_.texts.end());
        if (two_.texts.empty()) return;
        must(acp_splice_list(acp_end_list(one_.list), acp_begin_list(two_.list)) == 0,
             "acp_splice_list");
        one_.texts.splice(one_.texts.end(), two_.texts, two_.texts.begin());
    }

    void merge() {
        for (Pair* pair : {&one_, &two_}) {
            must(acp_sort_list(pair->list, by_first_byte) == 0, "acp_sort_list");
            pair->texts.sort(is_first_byte_less);
        }
        must(acp_merge_list(one_.list, two_.list, by_first_byte) == 0, "acp_merge_list");
        one_.texts.merge(two_.texts, is_first_byte_less);
    }

    void clear() {
        must(acp_clear_list(one_.list) == 0, "acp_clear_list");
        one_.texts.clear();
    }

    int rank_;
    Pair one_;
    Pair two_;
};

}  // namespace

std::unique_ptr<Model> make_list_model(int rank) {
    return std::make_unique<ListModel>(rank);
}

}  // namespace acp::test
