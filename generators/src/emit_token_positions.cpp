// SPDX-License-Identifier: MIT
//
// emit_token_positions FOLDER TARGET: writes the kernels that add absolute positions to tokens, which do not depend on
// any variant: <folder>/heed_add_learned_positions.o and <folder>/heed_add_sinusoidal_positions.o.
#include <Halide.h>

#include <cmath>
#include <iostream>
#include <numbers>
#include <string>

#include <heed/halide_arithmetic.hpp>

namespace {

using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::Param;
using Halide::Target;
using Halide::Var;

constexpr int lanes = 4;

// Tokens are (dim, row); the first of them stands at position `first`.
void schedule(Func &sum, const ImageParam &tokens, const Var &dim) {
    sum.output_buffer().dim(0).set_bounds(0, tokens.dim(0).extent());
    sum.vectorize(dim, lanes, Halide::TailStrategy::GuardWithIf);
}

void write(Func sum, const std::vector<Halide::Argument> &arguments, const std::string &folder, const std::string &name,
           const Target &target) {
    sum.compile_to({{Halide::OutputFileType::object, folder + "/" + name + ".o"}}, arguments, name, target);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::cerr << "usage: " << argv[0] << " FOLDER TARGET\n";
        return 2;
    }
    try {
        const std::string folder = argv[1];
        const Target target = Target(argv[2])
                                  .with_feature(Target::NoRuntime)
                                  .with_feature(Target::UserContext)
                                  .with_feature(Target::LargeBuffers)
                                  .with_feature(Target::NoBoundsQuery);
        const Var dim("dim"), row("row");
        ImageParam tokens(Halide::Float(32), 2, "tokens"), table(Halide::Float(32), 2, "table");
        Param<int> first("first");

        Func learned("with_learned_positions");
        learned(dim, row) = tokens(dim, row) + table(dim, row + first);
        schedule(learned, tokens, dim);
        write(learned, {tokens, table, first}, folder, "heed_add_learned_positions", target);

        // Vaswani et al. 2017, section 3.5: sines in even elements, cosines in odd ones.
        Func turns("turns"), sinusoidal("with_sinusoidal_positions");
        Param<double> theta("theta");
        const Expr size = Halide::cast<double>(tokens.dim(0).extent());
        turns(dim) = Halide::exp(-Halide::cast<double>(dim / 2 * 2) / size * Halide::log(theta)) *
                     Expr(0.5 * std::numbers::inv_pi);
        const heed::arithmetic::tag tag;
        const Expr position = row + first;
        sinusoidal(dim, row) =
            tokens(dim, row) + Halide::select(dim % 2 == 0, heed::arithmetic::sin_of_turns(tag, position, turns(dim)),
                                              heed::arithmetic::cos_of_turns(tag, position, turns(dim)));
        turns.compute_root();
        schedule(sinusoidal, tokens, dim);
        write(sinusoidal, {tokens, theta, first}, folder, "heed_add_sinusoidal_positions", target);
    } catch (const Halide::Error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
