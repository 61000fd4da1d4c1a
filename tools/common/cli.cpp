// SPDX-License-Identifier: BSD-3-Clause
// Each call handed to CLI11, and its exceptions made ours.
#include "common/cli.hpp"

#include <CLI/CLI.hpp>
#include <deque>
#include <iostream>
#include <sstream>

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
    std::visit(
        [this](const auto& bounds) { of(its_)->check(CLI::Range(bounds.first, bounds.second)); },
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

void App::set_version_flag(const std::string& names, const std::string& version) {
    inside_->app->set_version_flag(names, version);
}

void App::set_version_flag(const std::string& names,
                           const std::string& version,
                           const std::string& help) {
    inside_->app->set_version_flag(names, version, help);
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
    return keep(inside_->app->add_option(names, target, help));
}

Option* App::add_option(const std::string& names, std::uint32_t& target, const std::string& help) {
    return keep(inside_->app->add_option(names, target, help));
}

Option* App::add_option(const std::string& names, std::uint64_t& target, const std::string& help) {
    return keep(inside_->app->add_option(names, target, help));
}

Option* App::add_option(const std::string& names, double& target, const std::string& help) {
    return keep(inside_->app->add_option(names, target, help));
}

Option* App::add_option(const std::string& names,
                        std::optional<std::uint64_t>& target,
                        const std::string& help) {
    return keep(inside_->app->add_option(names, target, help));
}

Option* App::add_option(const std::string& names,
                        std::vector<std::string>& target,
                        const std::string& help) {
    return keep(inside_->app->add_option(names, target, help));
}

Option* App::add_option(const std::string& names,
                        std::vector<int>& target,
                        const std::string& help) {
    return keep(inside_->app->add_option(names, target, help));
}

Option* App::add_option(const std::string& names,
                        std::vector<std::uint64_t>& target,
                        const std::string& help) {
    return keep(inside_->app->add_option(names, target, help));
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

void App::parse_by(const std::function<void()>& parse) {
    try {
        parse();
    } catch (const CLI::ParseError& error) {
        std::ostringstream standard_output;
        std::ostringstream standard_error;
        const int code = inside_->app->exit(error, standard_output, standard_error);
        const auto fill = [&](auto ours) {
            ours.is_for_standard_output = standard_error.str().empty();
            ours.output =
                ours.is_for_standard_output ? standard_output.str() : standard_error.str();
            ours.code = code;
            return ours;
        };
        if (dynamic_cast<const CLI::Success*>(&error) != nullptr) throw fill(Success(error.what()));
        throw fill(ParseError(error.what()));
    }
}

void App::parse(int argc, const char* const* argv) {
    parse_by([&] { inside_->app->parse(argc, argv); });
}

void App::parse(std::vector<std::string> words) {
    parse_by([&] { inside_->app->parse(std::move(words)); });
}

int App::exit(const ParseError& error) {
    if (error.output.empty() && !error.is_for_standard_output) {  // the tool's own
        std::cerr << error.what() << "\nRun with --help for more information.\n";
    } else {
        (error.is_for_standard_output ? std::cout : std::cerr) << error.output << std::flush;
    }
    return error.code;
}

}  // namespace acp::cli
