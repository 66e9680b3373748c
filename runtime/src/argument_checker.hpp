// SPDX-License-Identifier: MIT
//
// The single checks of arguments that calls are made of.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor_shape.hpp"
#include "text.hpp"

namespace heed::detail {

inline constexpr std::int64_t largest_extent = INT32_MAX;
/// What decides the type of a tensor's elements.
enum class typed_by : std::uint8_t { the_kernel, the_declaration };

/// Writes messages: the name of the variant, then what is wrong.
class checker {
  public:
    /// `memory`: where tensors lie, inputs aside.
    checker(const variant_description &variant, const char *pass, device_kind memory = device_kind::cpu)
        : variant_(variant), pass_(pass), memory_(memory) {}

    template <typename... Piece>
    [[noreturn]] void refuse(const Piece &...pieces) const {
        throw invalid_argument_error(text(variant_.name, ": ", pieces...));
    }

    /// Rank, type, sizes and pointer that every tensor must have. `shape` names the dimensions.
    void tensor_is_sound(std::string_view name, const tensor &argument, data_type type, int rank,
                         std::string_view shape, typed_by decided_by) const {
        tensor_is_sound(name, argument, type, rank, shape, decided_by, memory_);
    }
    void tensor_is_sound(std::string_view name, const tensor &argument, data_type type, int rank,
                         std::string_view shape, typed_by decided_by, device_kind memory) const {
        if (!argument.given()) {
            refuse(name, " is missing, it must be ", shape, ". Fix: pass it");
        }
        if (argument.rank != rank) {
            refuse(name, " has rank ", argument.rank, ", it must be ", shape, ". Fix: pass ", rank,
                   " extents, 1 where there is one element only");
        }
        if (argument.type != type) {
            refuse(name, " holds ", name_of(argument.type), ", the kernel was compiled for ", name_of(type), ". Fix: ",
                   decided_by == typed_by::the_declaration
                       ? text("pass ", name_of(type))
                       : text("pass query, key, value and output of types that the library has, ", types_text(),
                              ", or add others to DTYPES of heed_add_kernels"));
        }
        if (rank > 0 && argument.extents == nullptr) {
            refuse(name, " has no extents, it must be ", shape, ". Fix: pass as many as it has dimensions");
        }
        bool empty = false;
        offset_range range;
        for (int i = 0; i < rank; ++i) {
            const axis axis{extent_of(argument, i), stride_of(argument, i)};
            if (axis.extent < 0) {
                refuse(name, " has extent ", axis.extent, " in dimension ", i,
                       ", extents are not negative: ", extents_text(argument),
                       ". Fix: pass the number of elements there");
            }
            if (axis.extent > largest_extent) {
                refuse(name, " has extent ", axis.extent, " in dimension ", i, ", the largest possible is ",
                       largest_extent, ": ", extents_text(argument), ". Fix: pass its parts in several calls");
            }
            empty = empty || axis.extent == 0;
            extend(range, {std::max<std::int64_t>(axis.extent, 1), axis.stride});
        }
        if (empty) {
            return;
        }
        if (argument.data == nullptr) {
            refuse(name, " is a null pointer but has elements: ", extents_text(argument),
                   ". Fix: pass the address of the first");
        }
        const int element_bytes = bytes_of(type);
        if (has_addresses(memory) &&
            reinterpret_cast<std::uintptr_t>(argument.data) % static_cast<std::uintptr_t>(element_bytes) != 0) {
            refuse(name, " starts at an address that is not a multiple of ", element_bytes, ", the size of an ",
                   name_of(type), " element. Fix: pass a copy at such an address");
        }
        if (range.too_large) {
            refuse(name, " spans more memory than an address can reach: extents ", extents_text(argument), ", strides ",
                   strides_text(argument),
                   ". Fix: pass strides in elements, not in bytes, of the tensor that there is");
        }
    }

    void input_is_sound(const input_description &input, const tensor &argument) const {
        const std::string shape = input.rank == 0 ? text("a single number, ", name_of(input.type))
                                                  : text("a tensor of rank ", input.rank, ", ", name_of(input.type));
        tensor_is_sound(text("input '", input.name, "'"), argument, input.type, input.rank, shape,
                        typed_by::the_declaration, device_kind::cpu);
    }

    void heads_are(std::string_view name, const tensor &argument, std::string_view key, std::int64_t expected) const {
        const std::int64_t heads = extent_of(argument, 1);
        if (heads != expected) {
            refuse(name, " has ", heads, " heads, the kernel was compiled for ", key, " = ", expected,
                   ". Heads are dimension 1 of the extents, ", extents_text(argument),
                   ". Fix: pass that many, or declare ", key, " = ", heads, "_c");
        }
    }

    void last_extent_is(std::string_view name, const tensor &argument, std::string_view key,
                        std::int64_t expected) const {
        const std::int64_t extent = extent_of(argument, 3);
        if (extent != expected) {
            refuse(name, " has ", key, " ", extent, ", the kernel was compiled for ", key, " = ", expected, ". ", key,
                   " is the last of the extents, ", extents_text(argument), ". Fix: pass that many, or declare ", key,
                   " = ", extent, "_c");
        }
    }

    void extent_agrees(std::string_view name, const tensor &argument, std::string_view other_name, const tensor &other,
                       int dimension, std::string_view what) const {
        const std::int64_t extent = extent_of(argument, dimension), other_extent = extent_of(other, dimension);
        if (extent != other_extent) {
            refuse(name, " has ", what, " ", extent, ", ", other_name, " has ", what, " ", other_extent,
                   ": they must agree. Extents: ", name, " ", extents_text(argument), ", ", other_name, " ",
                   extents_text(other), ". Fix: pass tensors of one call");
        }
    }

    void innermost_is_contiguous(std::string_view name, const tensor &argument, std::string_view what) const {
        const int last = argument.rank - 1;
        if (extent_of(argument, last) > 1 && stride_of(argument, last) != 1) {
            refuse(name, " has stride ", stride_of(argument, last), " in its last dimension (", what,
                   "), it must be 1: kernels move whole vectors of it. Fix: pass a copy whose last dimension is "
                   "contiguous");
        }
    }

    /// Refuses tensors in which two elements may be the same memory. Sorted by stride, each dimension must step over
    /// all that the smaller ones reach.
    void elements_are_distinct(std::string_view name, const tensor &argument) const {
        axis sorted[4];
        int count = 0;
        for (int i = 0; i < argument.rank; ++i) {
            axis next{extent_of(argument, i), 0};
            if (next.extent == 0) {
                return;
            }
            if (next.extent > 1) {
                next.stride = std::abs(stride_of(argument, i));
                int place = count++;
                for (; place > 0 && sorted[place - 1].stride > next.stride; --place) {
                    sorted[place] = sorted[place - 1];
                }
                sorted[place] = next;
            }
        }
        std::int64_t reach = 0;
        for (int i = 0; i < count; ++i) {
            if (sorted[i].stride <= reach) {
                refuse(name, " has elements that may share memory: a dimension of extent ", sorted[i].extent,
                       " has stride ", sorted[i].stride, ", inside the ", reach + 1,
                       " elements that the smaller strides reach. It is written in parallel, so every element "
                       "needs a place of its own. Extents ",
                       extents_text(argument), ", strides ", strides_text(argument),
                       ". Fix: pass strides that step over one another, or a tensor of its own");
            }
            reach += (sorted[i].extent - 1) * sorted[i].stride;
        }
    }

    /// Refuses two tensors that share memory for certain: both start at the same element, or both fill the memory that
    /// they span without gaps, and the two overlap. Tensors interleaved in one packed buffer pass. Of handles, each is
    /// memory of its own.
    void memory_is_separate(std::string_view name, const tensor &written, std::string_view other_name,
                            const tensor &other) const {
        if (!has_elements(written) || !has_elements(other)) {
            return;
        }
        const memory_span a = span_of(written), b = span_of(other);
        if (written.data == other.data ||
            (has_addresses(memory_) && a.without_gaps && b.without_gaps && a.first <= b.last && b.first <= a.last)) {
            refuse(name, " and ", other_name, " overlap: ", name, " would be written while ", other_name,
                   " is in use. Fix: give ", name, " memory of its own");
        }
    }

    /// `shape` and `rows` name its dimensions, of which the last are the rows of the query.
    void log_sum_exp_is_sound(const tensor &log_sum_exp, const tensor &query, std::string_view shape,
                              std::string_view rows) const {
        if (variant_.readings.weight_of_score != nullptr) {
            refuse(
                "log_sum_exp is given, but the variant's weights are a formula of the score, not a softmax: "
                "there is no sum to take the logarithm of. Fix: leave log_sum_exp out");
        }
        tensor_is_sound("log_sum_exp", log_sum_exp, data_type::f32, 3, shape, typed_by::the_declaration);
        heads_are("log_sum_exp", log_sum_exp, "heads", variant_.heads);
        extent_agrees("log_sum_exp", log_sum_exp, "query", query, 0, "batch");
        extent_agrees("log_sum_exp", log_sum_exp, "query", query, 2, rows);
    }

    void inputs_are_listed(const tensor *inputs, int count) const {
        if (count != variant_.input_count) {
            refuse("the call passes ", count, " inputs, the variant declares ", variant_.input_count,
                   ". Fix: pass them in the order of the declaration");
        }
        if (inputs == nullptr && count > 0) {
            refuse("the call passes ", count, " inputs, but the list of them is a null pointer. Fix: pass the list");
        }
        for (int i = 0; i < count; ++i) {
            input_is_sound(variant_.inputs[i], inputs[i]);
        }
    }

    /// Every element that is written is one of its own, and none of what the call reads: `read` by name, and inputs.
    void written_is_separate(std::string_view name, const tensor &written,
                             const std::vector<std::pair<const char *, tensor>> &read, const tensor *inputs) const {
        elements_are_distinct(name, written);
        for (const auto &[read_name, tensor] : read) {
            memory_is_separate(name, written, read_name, tensor);
        }
        for (int i = 0; i < variant_.input_count && has_addresses(memory_); ++i) {
            memory_is_separate(name, written, text("input '", variant_.inputs[i].name, "'"), inputs[i]);
        }
    }

    void input_covers_its_indices(int number, const tensor &argument, const call_sizes &sizes) const {
        const input_description &input = variant_.inputs[number];
        const std::string name = text("input '", input.name, "'");
        for (int i = 0; i < input.rank; ++i) {
            const index_range range = variant_.readings.input_index(sizes, number, i);
            const std::int64_t extent = extent_of(argument, i);
            // Indices that the declaration does not bound are clamped to the table, which needs an element for that.
            if (!range.known && extent == 0 && sizes.batch > 0 && sizes.q_len > 0 && sizes.kv_len > 0) {
                refuse(name, " is empty in dimension ", i, ", but a call with batch = ", sizes.batch,
                       ", q_len = ", sizes.q_len, ", kv_len = ", sizes.kv_len,
                       " reads it. Fix: pass a table with elements");
            }
            if (!range.known || range.lowest > range.highest) {
                continue;
            }
            if (range.lowest < 0 || range.highest >= extent) {
                refuse(name, " has extent ", extent, " in dimension ", i, ", a call with batch = ", sizes.batch,
                       ", q_len = ", sizes.q_len, ", kv_len = ", sizes.kv_len, " reads its elements ", range.lowest,
                       " to ", range.highest, ". Fix: ",
                       range.lowest >= 0 ? text("pass at least ", range.highest + 1, " there")
                       : is_negative_by_alignment(number, i, sizes)
                           ? text("the last query is at the last key, so the first of more queries than keys are at "
                                  "negative positions. Declare 'align = top_left' or 'query_start', or index by "
                                  "'q_row', which counts from 0; or pass at least ",
                                  sizes.q_len, " keys")
                           : text("change the index expression in the declaration, indices start at 0"));
            }
        }
    }

    static std::string extents_text(const tensor &argument) {
        std::string list = "(";
        for (int i = 0; i < argument.rank; ++i) {
            append(list, i == 0 ? "" : ", ");
            append(list, extent_of(argument, i));
        }
        return list + ")";
    }

    static std::string strides_text(const tensor &argument) {
        std::string list = "(";
        for (int i = 0; i < argument.rank; ++i) {
            append(list, i == 0 ? "" : ", ");
            append(list, stride_of(argument, i));
        }
        return list + ")";
    }

  private:
    /// Whether it is only because there are fewer keys than queries that an index is negative.
    bool is_negative_by_alignment(int input, int dimension, const call_sizes &sizes) const {
        const index_range range =
            variant_.readings.input_index({sizes.batch, sizes.q_len, sizes.q_len}, input, dimension);
        return sizes.q_len > sizes.kv_len && range.known && range.lowest >= 0;
    }

    /// The types of the library's kernels for the pass, each as DTYPES of heed_add_kernels has it: query, key, value
    /// and output, or one for all.
    std::string types_text() const {
        std::string list;
        for (int i = 0; i < variant_.kernel_count; ++i) {
            const auto is_like = [&](const kernel_description &other) {
                return std::string_view(other.pass) == pass_ && other.types == variant_.kernels[i].types;
            };
            const bool is_listed = std::any_of(variant_.kernels, variant_.kernels + i, is_like);
            if (is_listed || !is_like(variant_.kernels[i])) {
                continue;
            }
            const tensor_types &types = variant_.kernels[i].types;
            append(list, list.empty() ? "" : " or ");
            append(list, name_of(types.query));
            if (!(types == tensor_types(types.query))) {
                append(list, text(":", name_of(types.key), ":", name_of(types.value), ":", name_of(types.output)));
            }
        }
        return list;
    }

    /// Addresses of the first and last element in memory.
    struct memory_span {
        std::uintptr_t first, last;
        bool without_gaps;
    };

    static memory_span span_of(const tensor &argument) noexcept {
        offset_range range;
        std::int64_t elements = 1;
        bool countable = true;
        for (int i = 0; i < argument.rank; ++i) {
            extend(range, {extent_of(argument, i), stride_of(argument, i)});
            countable = countable && !__builtin_mul_overflow(elements, extent_of(argument, i), &elements);
        }
        const auto start = reinterpret_cast<std::uintptr_t>(argument.data);
        const auto element_bytes = static_cast<std::uintptr_t>(bytes_of(argument.type));
        return {start + static_cast<std::uintptr_t>(range.lowest) * element_bytes,
                start + static_cast<std::uintptr_t>(range.highest) * element_bytes + (element_bytes - 1),
                countable && elements == range.highest - range.lowest + 1};
    }

    static bool has_elements(const tensor &argument) noexcept {
        return argument.given() && std::none_of(argument.extents, argument.extents + argument.rank,
                                                [](std::int64_t extent) { return extent == 0; });
    }

    const variant_description &variant_;
    std::string_view pass_;
    device_kind memory_;
};

inline tensor readable(const output_tensor &output) noexcept {
    return {output.data, output.type, output.rank, output.extents, output.strides};
}

inline tensor_shape shape_of(const tensor &argument) noexcept {
    tensor_shape shape;
    if (!argument.given()) {
        return shape;  // whatever its rank says
    }
    // Only output and log_sum_exp are written; Halide's buffers do not tell the two kinds apart.
    shape.data = static_cast<char *>(const_cast<void *>(argument.data));
    shape.rank = argument.rank;
    for (int i = 0; i < argument.rank; ++i) {
        const std::int64_t extent = extent_of(argument, i);
        shape.axes[i] = {extent, extent > 1 ? stride_of(argument, i) : 0};
    }
    return shape;
}

}  // namespace heed::detail
