// SPDX-License-Identifier: MIT
//
// emit_yardsticks FOLDER NAME TARGET: writes the kernels that measure a device of Halide's target:
// <folder>/heed_{multiply_add,fill,read}_<name>.o.
#include <Halide.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::Param;
using Halide::RDom;
using Halide::Target;
using Halide::Var;

constexpr int threads = 256;

struct emitter {
    std::string folder, name;
    Target target;

    void write(Func result, const std::vector<Halide::Argument> &arguments, const std::string &kernel) const {
        const std::string symbol = "heed_" + kernel + "_" + name;
        result.output_buffer().dim(0).set_min(0);
        result.compile_to({{Halide::OutputFileType::object, folder + "/" + symbol + ".o"}}, arguments, symbol, target);
    }
};

/// Eight chains in each thread hide the latency: steps * 8 multiplications with an addition. Factor and summand are
/// arguments, or steps would be taken together by a compiler.
void emit_multiply_add(const emitter &to) {
    constexpr int chains = 8;
    const Var i("i"), chain("chain"), block("block"), thread("thread");
    Param<float> factor("factor"), summand("summand");
    Param<int> steps("steps");
    const RDom step(0, steps, "step"), every(0, chains, "every");
    Func value("value"), sum("sum"), result("result");
    value(chain, i) = Halide::cast<float>(chain + i % threads);
    value(chain, i) = value(chain, i) * factor + summand + Halide::cast<float>(0 * step);
    sum(i) += value(every, i);
    result(i) = sum(i);

    result.gpu_tile(i, block, thread, threads, Halide::TailStrategy::RoundUp);
    sum.compute_at(result, thread).store_in(Halide::MemoryType::Register);
    sum.update().unroll(every);
    value.compute_at(result, thread).store_in(Halide::MemoryType::Register).unroll(chain);
    value.update().reorder(chain, step).unroll(chain).unroll(step, 8);
    to.write(result, {factor, summand, steps}, "multiply_add");
}

void emit_fill(const emitter &to) {
    const Var i("i"), block("block"), thread("thread");
    Func result("result");
    result(i) = i;
    result.vectorize(i, 4, Halide::TailStrategy::RoundUp)
        .gpu_tile(i, block, thread, threads, Halide::TailStrategy::RoundUp);
    to.write(result, {}, "fill");
}

/// Each thread reads 16 bytes of every row of (column, row); together they read rows from end to end.
void emit_read(const emitter &to) {
    const Var column("column"), block("block"), thread("thread");
    ImageParam data(Halide::Int(32), 2, "data");
    data.set_host_alignment(16);
    data.dim(0).set_min(0);
    data.dim(1).set_min(0).set_stride(data.dim(1).stride() / 4 * 4);
    const RDom row(0, data.dim(1).extent(), "row");
    Func all("all"), result("result");
    all(column) = 0;
    all(column) = all(column) ^ data(column, row);
    result(column) = all(column);

    const Var lane("lane"), four("four");
    result.split(column, four, lane, 4, Halide::TailStrategy::RoundUp)
        .vectorize(lane)
        .gpu_tile(four, block, thread, threads, Halide::TailStrategy::RoundUp);
    all.compute_at(result, thread).store_in(Halide::MemoryType::Register).vectorize(column, 4);
    all.update().reorder(column, row).vectorize(column, 4).unroll(row, 8);
    to.write(result, {data}, "read");
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::cerr << "usage: " << argv[0] << " FOLDER NAME TARGET\n";
        return 2;
    }
    try {
        const emitter to{argv[1], argv[2],
                         Target(argv[3])
                             .with_feature(Target::NoRuntime)
                             .with_feature(Target::UserContext)
                             .with_feature(Target::NoBoundsQuery)};
        emit_multiply_add(to);
        emit_fill(to);
        emit_read(to);
    } catch (const Halide::Error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
