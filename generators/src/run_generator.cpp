// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include <heed/generator.hpp>

#include "emit.hpp"

namespace heed::generators {

Halide::Expr detail::halide_constant(std::int64_t value) {
    if (value != static_cast<std::int32_t>(value)) {
        throw std::out_of_range("a declaration has the whole number " + std::to_string(value) +
                                ", and kernels count positions in 32 bits; use a number between -2147483648 and "
                                "2147483647, or a real one");
    }
    return static_cast<int>(value);
}

Halide::Expr detail::constant_table(const std::vector<double> &numbers, const Halide::Expr &index) {
    // Halide loads vectors of constants as if they were aligned to a whole vector of AVX-512, but aligns them to 32
    // bytes only. From the second element on it knows that they are not.
    const int count = static_cast<int>(numbers.size());
    Halide::Buffer<double> table(count + 1);
    table(0) = 0.0;
    for (int i = 0; i < count; ++i) table(i + 1) = numbers[static_cast<std::size_t>(i)];
    return table(Halide::clamp(index, 0, count - 1) + 1);
}

namespace {

void write_file(const std::string &path, const std::string &text) {
    std::ofstream file(path, std::ios::binary);
    if (!(file << text << std::flush)) throw std::runtime_error("cannot write " + path);
}

kernel_choice parse_choice(const std::string &text) {
    kernel_choice choice;
    std::istringstream in(text);
    for (std::string *part : {&choice.pass, &choice.schedule, &choice.dtype, &choice.target}) {
        std::getline(in, *part, '/');
    }
    return choice;
}

const variant_source &find_variant(const generator_library &library, const std::string &name) {
    const auto found = std::find_if(library.variants.begin(), library.variants.end(),
                                    [&](const variant_source &variant) { return variant.name == name; });
    if (found == library.variants.end()) throw std::invalid_argument(library.name + " has no variant '" + name + "'");
    return *found;
}

}  // namespace

int run_generator(const generator_library &library, int argc, char **argv) {
    CLI::App app("Writes the kernels of " + library.name + ". heed_add_kernels calls it.");
    app.require_subcommand(1);
    std::string variant, output, folder;
    kernel_choice choice;
    std::vector<std::string> choices;
    bool with_loops = false, with_device_code = false;

    CLI::App *kernel = app.add_subcommand("kernel", "Compile the kernel of one variant for one target");
    kernel->add_option("--variant", variant)->required();
    kernel->add_option("--pass", choice.pass)->required();
    kernel->add_option("--schedule", choice.schedule)->required();
    kernel->add_option("--dtype", choice.dtype)->required();
    kernel->add_option("--target", choice.target, "Halide target")->required();
    kernel->add_option("--output", output, "Path of the files without their endings")->required();
    kernel->add_flag("--stmt", with_loops, "Also write Halide's lowered loops");
    kernel->add_flag("--device-code", with_device_code, "Also write what the driver of a GPU compiles");
    kernel->callback([&] {
        const variant_source &source = find_variant(library, variant);
        emit_kernel(source, plan_kernel(library, source, choice), output, with_loops, with_device_code);
    });

    CLI::App *table = app.add_subcommand("table", "Write the source of the kernel table");
    table->add_option("choices", choices, "pass/schedule/dtype/target of all kernels of a variant")->required();
    table->add_option("--output", output, "File")->required();
    table->add_option("--blocks", folder, "Folder of the .block files of kernels of GPUs")->required();
    table->callback([&] {
        std::vector<kernel_choice> all;
        for (const std::string &text : choices) all.push_back(parse_choice(text));
        write_file(output, table_text(library, all, folder));
    });

    CLI::App *header = app.add_subcommand("header", "Write the header that calls the kernels");
    header->add_option("--output", output, "File")->required();
    header->callback([&] { write_file(output, header_text(library)); });

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error);
    } catch (const Halide::Error &error) {  // not a std::exception
        std::cerr << library.name << ": " << error.what() << '\n';
        return 1;
    } catch (const std::exception &error) {
        std::cerr << library.name << ": " << error.what() << '\n';
        return 1;
    }
    return 0;
}

}  // namespace heed::generators
