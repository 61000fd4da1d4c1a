// SPDX-License-Identifier: BSD-3-Clause
// Each call handed to CLI11, what is looked at before, and its exceptions made ours.
#include "common/cli.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
#include <sstream>
#include <string_view>

#include "base/edit_distance.hpp"
#include "base/format.hpp"

#include "common/version.hpp"

namespace acp::cli {

namespace {

CLI::Option* of(void* option) {
    return static_cast<CLI::Option*>(option);
}

// A usage line of the tool's own where it has one.
class Layout : public CLI::Formatter {
public:
    std::string line;

    std::string make_usage(const CLI::App* app, std::string name) const override {
        return line.empty() ? CLI::Formatter::make_usage(app, std::move(name)) : line;
    }
};

std::string quoted(const std::string& text) {
    return "\"" + text + "\"";
}

template <typename Number>
std::string shortest(Number number) {
    std::ostringstream text;
    text << number;
    return text.str();
}

// As CLI11's, but it says what was seen, and takes no "nan".
template <typename Number>
CLI::Validator between(Number low, Number high) {
    const auto check = [low, high](const std::string& text) {
        Number value{};
        if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) {
            return std::string();
        }
        return "wants a number from " + shortest(low) + " to " + shortest(high) + ", not " +
               quoted(text);
    };
    return CLI::Validator(check, CLI::Range(low, high).get_description());
}

constexpr const char* number_name = "number";

template <typename Number>
CLI::Validator number() {
    const auto check = [](const std::string& text) {
        Number value{};
        const bool is_one = CLI::detail::lexical_cast(text, value);
        return is_one ? std::string() : "wants a number, not " + quoted(text);
    };
    return CLI::Validator(check, "").name(number_name);
}

// The subcommands in the order of their declaration.
std::string choices(const CLI::App& app) {
    std::string text;
    for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
        text += (text.empty() ? "" : ", ") + one->get_name();
    }
    return text;
}

// Looks through the words in the place of their later reader, and throws at the first that does not
// fit.
class Review {
public:
    Review(CLI::App& app, const std::vector<Word>& words) : app_(&app), words_(words) {}

    void run() {
        for (; at_ < words_.size() && words_[at_].text != "--"; ++at_) {
            const std::string& text = words_[at_].text;
            const bool is_option = text.size() > 1 && text[0] == '-' && !is_number(text);
            is_option ? take_option() : take_plain(text);
        }
        if (app_->get_require_subcommand_min() > 0 && !is_help_) {
            throw ParseError("one of these words is missing: " + choices(*app_));
        }
    }

private:
    struct Found {
        CLI::Option* option = nullptr;
        std::string name;
        std::optional<std::string> value;  // attached to it
    };

    static bool is_number(const std::string& text) {
        return text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9';
    }

    static bool is_value(const std::string& text) {
        return text.empty() || text[0] != '-' || text.size() == 1 || is_number(text);
    }

    Found option_in(const Word& word) const {
        const std::string& text = word.text;
        Found found;
        const bool is_long = text[1] == '-';
        const std::size_t end = is_long ? std::min(text.find('='), text.size()) : 2;
        found.name = text.substr(0, end);
        found.option = app_->get_option_no_throw(found.name);
        if (found.option == nullptr) throw ParseError(unknown(is_long ? found.name : text));
        if (is_long && end < text.size()) found.value = text.substr(end + 1);
        if (!is_long && text.size() > 2) found.value = text.substr(2);
        if (!word.typed.empty()) found.name = word.typed;
        return found;
    }

    std::string unknown(const std::string& name) const {
        std::vector<std::string_view> known;
        for (const CLI::Option* option : app_->get_options()) {
            for (const std::string& word : option->get_lnames()) known.push_back(word);
        }
        const std::string_view asked = std::string_view(name).substr(name.find_first_not_of('-'));
        const auto nearest = asked.size() > 1 ? base::nearest_word(asked, known) : std::nullopt;
        return "unknown option " + name +
               (nearest ? "; did you mean --" + std::string(*nearest) + "?" : "");
    }

    void take_option() {
        Found found = option_in(words_[at_]);
        is_help_ = is_help_ || found.option == app_->get_help_ptr() ||
                   found.option == app_->get_version_ptr();
        if (found.option->get_items_expected_max() == 0) return;  // a flag
        const auto has_next = [&] {
            return at_ + 1 < words_.size() && is_value(words_[at_ + 1].text);
        };
        if (!found.value) {
            if (!has_next()) {
                throw ParseError(found.name + " lacks its value (" + found.option->get_type_name() +
                                 ")");
            }
            found.value = words_[++at_].text;
        }
        refuse_empty(found.name, *found.value);
        if (found.option->get_items_expected_max() == 1) {
            const auto [before, is_first] = given_.emplace(found.option, *found.value);
            if (!is_first) {
                throw ParseError(found.name + " was given twice (" + before->second + ", " +
                                 *found.value + ")");
            }
        } else if (found.option->get_allow_extra_args()) {
            while (has_next()) refuse_empty(found.name, words_[++at_].text);
        }
    }

    static void refuse_empty(const std::string& name, const std::string& value) {
        if (value.empty()) throw ParseError("the value of " + name + " is empty");
    }

    void take_plain(const std::string& text) {
        if (app_->get_require_subcommand_min() > 0) {
            const auto chosen = app_->get_subcommands(
                [&text](const CLI::App* one) { return one->get_name() == text; });
            if (chosen.empty()) throw ParseError(quoted(text) + " is none of " + choices(*app_));
            app_ = chosen.front();
            return;
        }
        ++plain_;
        const auto options =
            app_->get_options([](const CLI::Option* option) { return option->get_positional(); });
        if (plain_ > options.size()) throw ParseError(quoted(text) + " was not expected");
        refuse_empty(options[plain_ - 1]->get_name(), text);
    }

    CLI::App* app_;  // the subcommand's, once there is one
    const std::vector<Word>& words_;
    std::size_t at_ = 0;
    std::size_t plain_ = 0;  // words that are no options
    bool is_help_ = false;   // --help or --version is among them
    std::map<const CLI::Option*, std::string> given_;
};

}  // namespace

struct App::Inside {
    std::unique_ptr<CLI::App> own;  // of the whole command line; a subcommand has none
    CLI::App* app = nullptr;
    std::shared_ptr<Layout> layout;
    std::deque<Option> options;  // handed out by address
    std::vector<std::unique_ptr<App>> subcommands;
};

Option* Option::type_name(const std::string& name) {
    of(its_)->type_name(name);
    return this;
}

Option* Option::check(const Range& range) {
    of(its_)->get_validator(number_name)->active(false);  // the range says more
    std::visit(
        [this](const auto& bounds) { of(its_)->check(between(bounds.first, bounds.second)); },
        range.bounds);
    return this;
}

Option* Option::check(const IsMember& member) {
    of(its_)->check(CLI::IsMember(member.words));
    return this;
}

Option* Option::transform(const AsSizeValue& size) {
    of(its_)->transform(CLI::AsSizeValue(size.is_kilo_1000));
    return this;
}

Option* Option::delimiter(char between) {
    of(its_)->delimiter(between);
    return this;
}

Option* Option::group(const std::string& name) {
    of(its_)->group(name);
    return this;
}

Option* Option::required() {
    of(its_)->required();
    return this;
}

Option* Option::capture_default_str() {
    of(its_)->capture_default_str();
    return this;
}

Option* Option::allow_extra_args(bool may) {
    of(its_)->allow_extra_args(may);
    return this;
}

int Option::get_items_expected_min() const {
    return of(its_)->get_items_expected_min();
}

const std::vector<std::string>& Option::get_lnames() const {
    return of(its_)->get_lnames();
}

const std::vector<std::string>& Option::get_snames() const {
    return of(its_)->get_snames();
}

App::App(const std::string& description, const std::string& name)
    : inside_(std::make_unique<Inside>()) {
    inside_->own = std::make_unique<CLI::App>(description, name);
    inside_->app = inside_->own.get();
    inside_->layout = std::make_shared<Layout>();
    inside_->app->formatter(inside_->layout);
}

App::App(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

App::~App() = default;

void App::set_help_flag(const std::string& names, const std::string& help) {
    inside_->app->set_help_flag(names, help);
}

void App::add_version_flag() {
    inside_->app->set_version_flag("--version", get_name() + " (ACP) " + tool::build_description(),
                                   "print the version and end");
}

void App::footer(const std::string& text) {
    inside_->app->footer(text);
}

void App::usage(const std::string& line) {
    inside_->layout->line = line;
}

void App::require_subcommand(int count) {
    inside_->app->require_subcommand(count);
}

Option* App::keep(void* option) const {
    return &inside_->options.emplace_back(option);
}

Option* App::add_flag(const std::string& names, bool& target, const std::string& help) {
    return keep(inside_->app->add_flag(names, target, help));
}

Option* App::add_option(const std::string& names, std::string& target, const std::string& help) {
    return keep(inside_->app->add_option(names, target, help));
}

Option* App::add_option(const std::string& names, int& target, const std::string& help) {
    return keep(inside_->app->add_option(names, target, help)->check(number<int>()));
}

Option* App::add_option(const std::string& names, std::uint32_t& target, const std::string& help) {
    return keep(inside_->app->add_option(names, target, help)->check(number<std::uint32_t>()));
}

Option* App::add_option(const std::string& names, std::uint64_t& target, const std::string& help) {
    return keep(inside_->app->add_option(names, target, help)->check(number<std::uint64_t>()));
}

Option* App::add_option(const std::string& names, double& target, const std::string& help) {
    return keep(inside_->app->add_option(names, target, help)->check(number<double>()));
}

Option* App::add_option(const std::string& names,
                        std::optional<std::uint64_t>& target,
                        const std::string& help) {
    return keep(inside_->app->add_option(names, target, help)->check(number<std::uint64_t>()));
}

Option* App::add_option(const std::string& names,
                        std::vector<std::string>& target,
                        const std::string& help) {
    return keep(inside_->app->add_option(names, target, help));
}

Option* App::add_option(const std::string& names,
                        std::vector<int>& target,
                        const std::string& help) {
    return keep(inside_->app->add_option(names, target, help)->check(number<int>()));
}

Option* App::add_option(const std::string& names,
                        std::vector<std::uint64_t>& target,
                        const std::string& help) {
    return keep(inside_->app->add_option(names, target, help)->check(number<std::uint64_t>()));
}

Option* App::add_text_function(const std::string& names,
                               const std::function<void(const std::string&)>& take,
                               const std::string& help) {
    return keep(inside_->app->add_option_function<std::string>(names, take, help));
}

App* App::add_subcommand(const std::string& name, const std::string& help) {
    auto inside = std::make_unique<Inside>();
    inside->app = inside_->app->add_subcommand(name, help);
    inside->layout = inside_->layout;
    inside_->subcommands.push_back(std::unique_ptr<App>(new App(std::move(inside))));
    return inside_->subcommands.back().get();
}

std::vector<const App*> App::get_subcommands() const {
    std::vector<const App*> chosen;
    for (const CLI::App* app : inside_->app->get_subcommands()) {
        for (const auto& ours : inside_->subcommands) {
            if (ours->inside_->app == app) chosen.push_back(ours.get());
        }
    }
    return chosen;
}

std::string App::get_name() const {
    return inside_->app->get_name();
}

Option* App::get_option_no_throw(const std::string& name) const {
    CLI::Option* option = inside_->app->get_option_no_throw(name);
    return option == nullptr ? nullptr : keep(option);
}

std::vector<const Option*> App::get_options() const {
    std::vector<const Option*> options;
    for (CLI::Option* option : inside_->app->get_options()) options.push_back(keep(option));
    return options;
}

Option* App::get_option(const std::string& name) const {
    return keep(inside_->app->get_option(name));
}

void App::parse(int argc, const char* const* argv) {
    std::vector<Word> words;
    for (int i = 1; i < argc; ++i) words.push_back({argv[i], ""});
    parse(words);
}

void App::parse(const std::vector<Word>& words) {
    Review(*inside_->app, words).run();
    std::vector<std::string> texts;  // CLI11 takes them last first
    for (auto word = words.rbegin(); word != words.rend(); ++word) texts.push_back(word->text);
    try {
        inside_->app->parse(std::move(texts));
    } catch (const CLI::Success& answer) {
        std::ostringstream output;
        Success ours(answer.what());
        ours.code = inside_->app->exit(answer, output, output);
        ours.output = output.str();
        throw Success(ours);
    } catch (const CLI::ParseError& error) {
        std::string text = error.what();  // "--watch: wants a number ..." of the checks above
        if (const std::size_t at = text.find(": wants "); at != std::string::npos)
            text.erase(at, 1);
        throw ParseError(text);
    }
}

int App::exit(const ParseError& error) const {
    if (dynamic_cast<const Success*>(&error) != nullptr) {
        std::cout << error.output << std::flush;
        return error.code;
    }
    const std::string name = get_name();
    std::cerr << name << ": " << base::printable(error.what()) << "\n"
              << name << ": hint: " << name << " --help lists what there is\n";
    return error.code;
}

}  // namespace acp::cli
