// SPDX-License-Identifier: MIT

#include <heed/token_positions.hpp>

#include <HalideRuntime.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "call_context.hpp"
#include "text.hpp"
#include "view_memory.hpp"

extern "C" {
int heed_add_learned_positions(void *context, halide_buffer_t *tokens, halide_buffer_t *table, std::int32_t first,
                               halide_buffer_t *output);
int heed_add_sinusoidal_positions(void *context, halide_buffer_t *tokens, double theta, std::int32_t first,
                                  halide_buffer_t *output);
}

namespace heed {
namespace {

using detail::text;

constexpr std::int64_t halide_limit = INT32_MAX;

/// Rows (dim, row) as a kernel sees them.
struct rows {
    halide_dimension_t dimensions[2];
    halide_buffer_t buffer = {};

    rows(const float *data, std::int64_t count, std::int64_t dim, std::int64_t stride)
        : dimensions{{0, static_cast<std::int32_t>(dim), 1},
                     {0, static_cast<std::int32_t>(count), static_cast<std::int32_t>(count > 1 ? stride : 0)}} {
        buffer.host = reinterpret_cast<std::uint8_t *>(const_cast<float *>(data));
        buffer.type = {halide_type_float, 32};
        buffer.dimensions = 2;
        buffer.dim = dimensions;
    }
    rows(const rows &) = delete;
    rows &operator=(const rows &) = delete;
};

void check_tokens(const char *function, const view<const float, 3> &tokens, const view<float, 3> &output) {
    const auto refuse = [function](const auto &...pieces) {
        throw invalid_argument_error(text(function, ": ", pieces...));
    };
    static const char *const dimensions[] = {"batch", "length", "dim"};
    for (int i = 0; i < 3; ++i) {
        const std::int64_t extent = tokens.extents()[i];
        if (extent != output.extents()[i]) {
            refuse("tokens have ", dimensions[i], " ", extent, ", output has ", dimensions[i], " ", output.extents()[i],
                   ": they must agree");
        }
        if (extent < 0 || extent > halide_limit) {
            refuse("tokens have ", dimensions[i], " ", extent, ", which must be between 0 and ", halide_limit);
        }
    }
    if (tokens.extents()[2] > 1 && (tokens.strides()[2] != 1 || output.strides()[2] != 1)) {
        refuse("the elements of a token must lie side by side, but the strides of dim are ", tokens.strides()[2],
               " in tokens and ", output.strides()[2], " in output. Fix: copy the tensor into a contiguous one");
    }
    if (!detail::elements_are_distinct(output)) {
        refuse(
            "output has elements that may share memory, but each is written on its own. Fix: give output memory for "
            "every element");
    }
    bool same_strides = true;
    for (int i = 0; i < 3; ++i) {
        same_strides = same_strides && (tokens.extents()[i] <= 1 || tokens.strides()[i] == output.strides()[i]);
    }
    if (tokens.data() == output.data() && !same_strides) {
        refuse(
            "output starts where tokens do, but has other strides: it would be written while tokens are in use. "
            "Fix: give output memory of its own, or the strides of tokens");
    }
    const bool empty = tokens.extents()[0] == 0 || tokens.extents()[1] == 0 || tokens.extents()[2] == 0;
    if (!empty && (tokens.data() == nullptr || output.data() == nullptr)) {
        refuse(tokens.data() == nullptr ? "tokens" : "output", " is a null pointer but has elements");
    }
}

/// Calls `run(tokens, output, first row, count)` for as many rows at a time as 32-bit offsets reach.
template <typename Run>
void for_rows(const char *function, const view<const float, 3> &tokens, const view<float, 3> &output,
              std::int64_t table_stride, const Run &run) {
    const std::int64_t length = tokens.extents()[1], dim = tokens.extents()[2];
    if (dim == 0) {
        return;
    }
    detail::install_halide_hooks();
    detail::call_context context;
    const detail::context_scope scope(&context);
    const std::int64_t stride =
        std::max({std::abs(tokens.strides()[1]), std::abs(output.strides()[1]), std::abs(table_stride)});
    const std::int64_t together = stride > halide_limit / std::max<std::int64_t>(length, 1) ? 1 : length;
    for (std::int64_t batch = 0; batch < tokens.extents()[0]; ++batch) {
        for (std::int64_t row = 0; row < length; row += together) {
            rows from(tokens.data() + batch * tokens.strides()[0] + row * tokens.strides()[1], together, dim,
                      tokens.strides()[1]);
            rows to(output.data() + batch * output.strides()[0] + row * output.strides()[1], together, dim,
                    output.strides()[1]);
            if (run(&context, from.buffer, to.buffer, row) != 0 || !context.error_text.empty()) {
                throw kernel_error(text(function, ": the kernel failed: ", context.error_text));
            }
        }
    }
}

}  // namespace

void add_learned_positions(const view<const float, 3> &tokens, const view<const float, 2> &table,
                           const view<float, 3> &output, std::int64_t first_position) {
    constexpr const char *function = "heed::add_learned_positions";
    check_tokens(function, tokens, output);
    const std::int64_t length = tokens.extents()[1], dim = tokens.extents()[2];
    if (table.extents()[1] != dim) {
        throw invalid_argument_error(
            text(function, ": tokens have dim ", dim, ", the table has dim ", table.extents()[1], ": they must agree"));
    }
    if (first_position < 0 || first_position > table.extents()[0] - length) {
        throw invalid_argument_error(text(function, ": the table has ", table.extents()[0],
                                          " positions, the call reads ", first_position, " to ",
                                          first_position + length - 1, ". Fix: pass a longer table or fewer tokens"));
    }
    if (dim > 1 && table.strides()[1] != 1) {
        throw invalid_argument_error(
            text(function, ": the rows of the table must be contiguous, but their stride is ", table.strides()[1]));
    }
    if (length > 0 && dim > 0 && table.data() == nullptr) {
        throw invalid_argument_error(text(function, ": table is a null pointer but has elements"));
    }
    for_rows(function, tokens, output, table.strides()[0],
             [&](void *context, halide_buffer_t &from, halide_buffer_t &to, std::int64_t row) {
                 rows part(table.data() + (first_position + row) * table.strides()[0], from.dim[1].extent, dim,
                           table.strides()[0]);
                 return heed_add_learned_positions(context, &from, &part.buffer, 0, &to);
             });
}

void add_sinusoidal_positions(const view<const float, 3> &tokens, const view<float, 3> &output,
                              std::int64_t first_position, double theta) {
    constexpr const char *function = "heed::add_sinusoidal_positions";
    check_tokens(function, tokens, output);
    if (first_position < 0 || first_position > halide_limit - tokens.extents()[1]) {
        throw invalid_argument_error(
            text(function, ": first_position is ", first_position, ", positions go from 0 to ", halide_limit));
    }
    if (!(theta > 0) || std::isinf(theta)) {
        throw invalid_argument_error(text(function, ": theta must be a positive number"));
    }
    for_rows(function, tokens, output, 0,
             [&](void *context, halide_buffer_t &from, halide_buffer_t &to, std::int64_t row) {
                 return heed_add_sinusoidal_positions(context, &from, theta,
                                                      static_cast<std::int32_t>(first_position + row), &to);
             });
}

}  // namespace heed
