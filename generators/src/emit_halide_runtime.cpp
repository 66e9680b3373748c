// SPDX-License-Identifier: MIT
//
// emit_halide_runtime FILE TARGET: writes Halide's runtime for a target as an object file.
#include <Halide.h>

#include <iostream>

int main(int argc, char **argv) {
    if (argc != 3) {
        std::cerr << "usage: " << argv[0] << " FILE TARGET\n";
        return 2;
    }
    try {
        Halide::compile_standalone_runtime({{Halide::OutputFileType::object, argv[1]}}, Halide::Target(argv[2]));
    } catch (const Halide::Error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
