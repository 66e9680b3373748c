// SPDX-License-Identifier: MIT
#include "rows.hpp"

#include <utility>

namespace heed::generators {

using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::RDom;

// The name of an input may be that of another argument.
kernel_input::kernel_input(const input_source &source) {
    const std::string name = "input_" + source.name;
    if (source.rank == 0) {
        number = Halide::Parameter(source.type, false, 0, name);
    } else {
        table = ImageParam(source.type, source.rank, name);
        table.dim(0).set_stride(Expr());  // inputs have free strides throughout
    }
}

Halide::Argument kernel_input::argument() const {
    if (table.defined()) return table;
    return Halide::Argument(number.name(), Halide::Argument::InputScalar, number.type(), 0,
                            Halide::ArgumentEstimates{});
}

Expr kernel_input::operator()(const std::vector<Expr> &indices) const {
    if (!table.defined()) return Halide::Internal::Variable::make(number.type(), number.name(), number);
    // Never outside: rows and keys that pad the last tile have positions beyond the last one.
    std::vector<Expr> clamped;
    clamped.reserve(indices.size());
    for (int dimension = 0; dimension < table.dimensions(); ++dimension) {
        clamped.push_back(Halide::clamp(indices[indices.size() - 1 - dimension], 0, table.dim(dimension).extent() - 1));
    }
    return table(clamped);
}

// Each stage reads the one before at any element of the row, so stages are functions of `dim` until the last one is
// asked for. What a stage needs once per row or per position becomes a Func; a stage that is evaluated at several
// elements asks for the same ones in the same order.
Expr modified_element(const std::vector<row_stage> &stages, const element_values &values,
                      const function_of_dim &element, int row_size, const input_lookup &look_up,
                      const number_of_row &of_row, const position_index &positions, row_parts &parts) {
    // Means nest, and what is inside of one is asked for only as it is made; the counts then go on behind it.
    struct known_mean {
        Func mean;
        std::size_t next_mean = 0, next_table = 0;
    };
    struct asked_for {
        std::vector<known_mean> means;
        std::vector<Func> tables;
    };
    std::vector<asked_for> of_stage(stages.size());
    function_of_dim current = element;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        current = [&, i, before = current](const Expr &index) {
            std::size_t mean_count = 0, table_count = 0;
            row_access access;
            access.element = [&](const Expr &other) { return before(Halide::clamp(other, 0, row_size - 1)); };
            access.read = look_up;
            access.mean_over_dims = [&](const function_of_dim &of_dim) -> Expr {
                const std::size_t number = mean_count++;
                if (number == of_stage[i].means.size()) {
                    of_stage[i].means.emplace_back();
                    Func mean("row_mean");
                    const RDom dims(0, row_size, "dims_of_mean");
                    of_row(mean) = 0.0f;
                    of_row(mean) += of_dim(dims) * (1.0f / static_cast<float>(row_size));
                    of_stage[i].means[number] = {mean, mean_count, table_count};
                    parts.means.push_back(mean);
                }
                mean_count = of_stage[i].means[number].next_mean;
                table_count = of_stage[i].means[number].next_table;
                return of_row(of_stage[i].means[number].mean);
            };
            access.tabulated = [&](int, const function_of_place &of_place, const Expr &at, bool position_decides) {
                if (!position_decides || positions.variables.empty()) return of_place(at, Expr());
                if (table_count == of_stage[i].tables.size()) {
                    Func table("position_table");
                    const Halide::Var any_index("index");
                    std::vector<Halide::Var> variables{any_index};
                    variables.insert(variables.end(), positions.variables.begin(), positions.variables.end());
                    table(variables) = of_place(any_index, positions.position);
                    of_stage[i].tables.push_back(table);
                    parts.position_tables.push_back(table);
                }
                std::vector<Expr> place{at};
                place.insert(place.end(), positions.here.begin(), positions.here.end());
                return Expr(of_stage[i].tables[table_count++](place));
            };
            element_values here = values;
            here.dim = index;
            return stages[i](here, access);
        };
    }
    return current(values.dim);
}

}  // namespace heed::generators
