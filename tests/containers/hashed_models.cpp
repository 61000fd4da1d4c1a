// SPDX-License-Identifier: BSD-3-Clause
// Maps, multimaps, sets and multisets with models of the standard library.
#include <map>
#include <set>

#include <acp.h>

#include "containers/model.hpp"

namespace acp::test {

namespace {

std::string bytes_of(const acp_element_t& element) {
    std::string bytes(element.size, '?');
    if (element.size == 0) return bytes;
    must(acp_wait(acp_get(bytes.data(), element.ga, element.size, ACP_HANDLE_NULL), -1) == ACP_OK,
         "acp_get of an entry");
    return bytes;
}

class MapModel final : public Model {
public:
    explicit MapModel(int rank) : map_(acp_create_map(1, &rank, 1, rank)) {
        must(map_.ga != ACP_GA_NULL, "acp_create_map");
    }

    void apply(const Step& step) override {
        const std::string key = key_of(step.which);
        const std::string value = text_of(step.value);
        const auto known = model_.find(key);
        const bool is_there = known != model_.end();
        switch (step.what % 7) {
            case 0:
                must(acp_insert_if_absent_map(map_, key.data(), key.size(), value.data(),
                                              value.size()) == (is_there ? 0 : 1),
                     "acp_insert_if_absent_map");
                model_.emplace(key, value);
                break;
            case 1:
            case 2:
                must(acp_insert_or_assign_map(map_, key.data(), key.size(), value.data(),
                                              value.size()) == (model_.count(key) == 0 ? 1 : 0),
                     "acp_insert_or_assign_map");
                model_[key] = value;
                break;
            case 3:
                must(acp_remove_map(map_, key.data(), key.size()) == (is_there ? 1 : 0),
                     "acp_remove_map");
                model_.erase(key);
                break;
            case 4:
                add(key, step.value);
                break;
            case 5:
                if (step.value % 32 != 0) break;
                must(acp_clear_map(map_) == 0, "acp_clear_map");
                model_.clear();
                break;
            default:
                retrieve(key);
        }
    }

    void compare() override {
        must(acp_size_map(map_) == model_.size(), "acp_size_map");
        std::map<std::string, std::string> found;
        for (acp_map_it_t it = acp_begin_map(map_); it.elem != ACP_GA_NULL;
             it = acp_increment_map_it(it)) {
            const acp_pair_t entry = acp_dereference_map_it(it);
            must(found.emplace(bytes_of(entry.first), bytes_of(entry.second)).second,
                 "a walk comes to a key twice");
        }
        must(found == model_, "a walk finds the entries of the model");
        for (std::uint16_t which = 0; which < 40; ++which) retrieve(key_of(which));
    }

    void destroy() override { must(acp_destroy_map(map_) == 0, "acp_destroy_map"); }

private:
    void retrieve(const std::string& key) {
        std::string value(4'000, '?');
        std::size_t bytes = value.size();
        const auto known = model_.find(key);
        must(acp_retrieve_map(map_, key.data(), key.size(), value.data(), &bytes) ==
                 (known != model_.end() ? 1 : 0),
             "acp_retrieve_map");
        if (known == model_.end()) return;
        must(value.substr(0, bytes) == known->second, "a value");
    }

    // Values of 8 bytes are numbers. 1: the key had an entry; 0: it was inserted.
    void add(const std::string& key, std::uint64_t addend) {
        const auto known = model_.find(key);
        if (known != model_.end() && known->second.size() != sizeof addend) return;
        std::uint64_t number = 0;
        if (known != model_.end()) known->second.copy(reinterpret_cast<char*>(&number), 8);
        std::uint64_t old = 0;
        must(acp_fetch_add_map(map_, key.data(), key.size(), addend, &old) >= 0,
             "acp_fetch_add_map");
        must(old == number, "the number before");
        number += addend;
        model_[key] = std::string(reinterpret_cast<const char*>(&number), sizeof number);
    }

    acp_map_t map_;
    std::map<std::string, std::string> model_;
};

class MultimapModel final : public Model {
public:
    explicit MultimapModel(int rank) : map_(acp_create_multimap(1, &rank, 1, rank)) {
        must(map_.ga != ACP_GA_NULL, "acp_create_multimap");
    }

    void apply(const Step& step) override {
        const std::string key = key_of(step.which);
        const std::string value = text_of(step.value);
        switch (step.what % 6) {
            case 0:
            case 1:
            case 2:
                must(acp_insert_multimap(map_, key.data(), key.size(), value.data(), value.size())
                             .elem != ACP_GA_NULL,
                     "acp_insert_multimap");
                model_.emplace(key, value);
                break;
            case 3:
                must(acp_remove_multimap(map_, key.data(), key.size()) ==
                         static_cast<std::int64_t>(model_.erase(key)),
                     "acp_remove_multimap");
                break;
            case 4:
                erase_one(key);
                break;
            default:
                must(acp_count_multimap(map_, key.data(), key.size()) ==
                         static_cast<std::int64_t>(model_.count(key)),
                     "acp_count_multimap");
        }
    }

    void compare() override {
        must(acp_size_multimap(map_) == model_.size(), "acp_size_multimap");
        std::multiset<std::pair<std::string, std::string>> found;
        for (acp_multimap_it_t it = acp_begin_multimap(map_); it.elem != ACP_GA_NULL;
             it = acp_increment_multimap_it(it)) {
            const acp_pair_t entry = acp_dereference_multimap_it(it);
            found.emplace(bytes_of(entry.first), bytes_of(entry.second));
        }
        must(found ==
                 std::multiset<std::pair<std::string, std::string>>(model_.begin(), model_.end()),
             "a walk finds the entries of the model");
    }

    void destroy() override { must(acp_destroy_multimap(map_) == 0, "acp_destroy_multimap"); }

private:
    void erase_one(const std::string& key) {
        const acp_multimap_ib_t found = acp_find_multimap(map_, key.data(), key.size());
        must(found.success == (model_.count(key) != 0 ? 1 : 0), "acp_find_multimap");
        if (found.success == 0) return;
        std::string value(4'000, '?');
        std::size_t bytes = value.size();
        must(acp_read_multimap_it(found.it, value.data(), &bytes) == 1, "acp_read_multimap_it");
        value.resize(bytes);
        (void)acp_erase_multimap(found.it);
        for (auto [it, end] = model_.equal_range(key); it != end; ++it) {
            if (it->second != value) continue;
            model_.erase(it);
            return;
        }
        must(false, "a value that was never stored");
    }

    acp_multimap_t map_;
    std::multimap<std::string, std::string> model_;
};

class SetModel final : public Model {
public:
    explicit SetModel(int rank) : set_(acp_create_set(1, &rank, 1, rank)) {
        must(set_.ga != ACP_GA_NULL, "acp_create_set");
    }

    void apply(const Step& step) override {
        const std::string key = step.value % 8 == 0 ? text_of(step.value) : key_of(step.which);
        const bool is_there = model_.count(key) != 0;
        switch (step.what % 4) {
            case 0:
            case 1:
                must(acp_insert_if_absent_set(set_, key.data(), key.size()) == (is_there ? 0 : 1),
                     "acp_insert_if_absent_set");
                model_.insert(key);
                break;
            case 2:
                must(acp_remove_set(set_, key.data(), key.size()) == (is_there ? 1 : 0),
                     "acp_remove_set");
                model_.erase(key);
                break;
            default:
                must(acp_contains_set(set_, key.data(), key.size()) == (is_there ? 1 : 0),
                     "acp_contains_set");
        }
    }

    void compare() override {
        must(acp_size_set(set_) == model_.size(), "acp_size_set");
        std::multiset<std::string> found;
        for (acp_set_it_t it = acp_begin_set(set_); it.elem != ACP_GA_NULL;
             it = acp_increment_set_it(it)) {
            found.insert(bytes_of(acp_dereference_set_it(it)));
        }
        must(found == std::multiset<std::string>(model_.begin(), model_.end()),
             "a walk finds the entries of the model");
    }

    void destroy() override { must(acp_destroy_set(set_) == 0, "acp_destroy_set"); }

private:
    acp_set_t set_;
    std::set<std::string> model_;
};

class MultisetModel final : public Model {
public:
    explicit MultisetModel(int rank) : set_(acp_create_multiset(1, &rank, 1, rank)) {
        must(set_.ga != ACP_GA_NULL, "acp_create_multiset");
    }

    void apply(const Step& step) override {
        const std::string key = key_of(step.which);
        const auto known = model_.find(key);
        const std::uint64_t count = known != model_.end() ? known->second : 0;
        std::uint64_t now = count;
        switch (step.what % 5) {
            case 0:
            case 1:
                now += 1 + step.value % 5;
                must(acp_add_multiset(set_, key.data(), key.size(), now - count) == now,
                     "acp_add_multiset");
                break;
            case 2:
                now -= count != 0 ? 1 : 0;
                must(acp_remove_multiset(set_, key.data(), key.size()) == (count != 0 ? 1 : 0),
                     "acp_remove_multiset");
                break;
            case 3:
                now = 0;
                must(acp_remove_all_multiset(set_, key.data(), key.size()) == (count != 0 ? 1 : 0),
                     "acp_remove_all_multiset");
                break;
            default:
                must(acp_retrieve_multiset(set_, key.data(), key.size()) == count,
                     "acp_retrieve_multiset");
        }
        model_[key] = now;
        if (now == 0) model_.erase(key);
    }

    void compare() override {
        std::map<std::string, std::uint64_t> found;
        for (acp_multiset_it_t it = acp_begin_multiset(set_); it.elem != ACP_GA_NULL;
             it = acp_increment_multiset_it(it)) {
            const std::string key = bytes_of(acp_dereference_multiset_it(it));
            found[key] = acp_retrieve_multiset(set_, key.data(), key.size());
        }
        must(found == model_, "a walk finds the entries of the model");
    }

    void destroy() override { must(acp_destroy_multiset(set_) == 0, "acp_destroy_multiset"); }

private:
    acp_multiset_t set_;
    std::map<std::string, std::uint64_t> model_;
};

}  // namespace

std::unique_ptr<Model> make_map_model(int rank) {
    return std::make_unique<MapModel>(rank);
}

std::unique_ptr<Model> make_multimap_model(int rank) {
    return std::make_unique<MultimapModel>(rank);
}

std::unique_ptr<Model> make_set_model(int rank) {
    return std::make_unique<SetModel>(rank);
}

std::unique_ptr<Model> make_multiset_model(int rank) {
    return std::make_unique<MultisetModel>(rank);
}

}  // namespace acp::test
