// SPDX-License-Identifier: MIT

#include <heed/merge.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "text.hpp"
#include "view_memory.hpp"

namespace heed {
namespace {

using detail::text;

constexpr double nothing = -std::numeric_limits<double>::infinity();  ///< the logarithm of an empty sum

template <typename... Piece>
[[noreturn]] void refuse(const Piece &...pieces) {
    throw invalid_argument_error(text("heed::merge: ", pieces...));
}

template <int Rank>
std::string text_of(const indices<Rank> &numbers) {
    std::string list;
    for (int i = 0; i < Rank; ++i) {
        detail::append(list, i == 0 ? "(" : ", ");
        detail::append(list, numbers[i]);
    }
    return list + ")";
}

template <int Rank>
bool has_elements(const indices<Rank> &extents) {
    bool all = true;
    for (int i = 0; i < Rank; ++i) {
        all = all && extents[i] > 0;
    }
    return all;
}

/// Refuses a tensor that is not there, is not of the shape of output_a or spans more than memory does.
template <typename T, int Rank>
void check_shape(std::string_view name, const view<T, Rank> &argument, const indices<4> &shape) {
    static const char *const dimensions[] = {"batch", "heads", "q_len", "value_dim"};
    if (!argument.given()) {
        refuse(name, " is missing. Fix: pass the results of both parts and output; only log_sum_exp can be left out");
    }
    const indices<Rank> &extents = argument.extents();
    detail::offset_range range;
    for (int i = 0; i < Rank; ++i) {
        if (extents[i] < 0) {
            refuse(name, " has ", dimensions[i], " ", extents[i],
                   ", extents are not negative. Fix: pass the extents of the tensor, ", text_of(extents),
                   " cannot be those");
        }
        if (extents[i] != shape[i]) {
            refuse(name, " has ", dimensions[i], " ", extents[i], ", output_a has ", dimensions[i], " ", shape[i],
                   ": they must agree, rows are merged one by one. Fix: pass results of the same queries. Extents: ",
                   name, " ", text_of(extents), ", output_a ", text_of(shape));
        }
        if (extents[i] > 0) {
            detail::extend(range, {extents[i], argument.strides()[i]});
        }
    }
    if (has_elements(extents) && argument.data() == nullptr) {
        refuse(name, " is a null pointer but has elements: ", text_of(extents), ". Fix: pass its memory");
    }
    if (has_elements(extents) && range.too_large) {
        refuse(name, " spans more memory than an address can reach: extents ", text_of(extents), ", strides ",
               text_of(argument.strides()), ". Fix: pass strides in elements");
    }
}

/// Refuses a result that is written while something else of it or of a part is still to be read.
template <int Rank>
void check_written(std::string_view name, const view<float, Rank> &written, std::string_view name_a,
                   const view<const float, Rank> &a, std::string_view name_b, const view<const float, Rank> &b) {
    if (!has_elements(written.extents())) {
        return;
    }
    if (!detail::elements_are_distinct(written)) {
        refuse(name, " has elements that may share memory, but each is written on its own: extents ",
               text_of(written.extents()), ", strides ", text_of(written.strides()),
               ". Fix: give it memory for every element");
    }
    const auto check_part = [&](std::string_view part_name, const view<const float, Rank> &part) {
        if (detail::overlap_otherwise_than_in_place(written, part)) {
            refuse(name, " and ", part_name, " overlap, but not element for element: ", name,
                   " would be written while ", part_name, " is in use. Fix: give ", name,
                   " memory of its own, or that of ", part_name, " with the same strides");
        }
    };
    check_part(name_a, a);
    check_part(name_b, b);
}

/// Refuses an output and a log_sum_exp that share memory: rows of one are written before later rows of the other are
/// read.
template <typename T, int Rank, typename U, int OtherRank>
void check_apart(std::string_view name, const view<T, Rank> &a, std::string_view other_name,
                 const view<U, OtherRank> &b) {
    if (detail::share_memory(a, b)) {
        refuse(name, " and ", other_name,
               " overlap: one of them would be written while the other is in use. Fix: give ", name,
               " memory of its own");
    }
}

/// A row of an output.
template <typename T>
struct row {
    T *data;
    std::int64_t stride;
};

template <typename T>
row<T> row_of(const view<T, 4> &output, std::int64_t batch, std::int64_t head, std::int64_t query) {
    const indices<4> &strides = output.strides();
    return {output.data() + batch * strides[0] + head * strides[1] + query * strides[2], strides[3]};
}

template <typename T>
T &element_of(const view<T, 3> &log_sum_exp, std::int64_t batch, std::int64_t head, std::int64_t query) {
    const indices<3> &strides = log_sum_exp.strides();
    return log_sum_exp.data()[batch * strides[0] + head * strides[1] + query * strides[2]];
}

/// result[i] = formula(a[i], b[i]); rows without gaps in a loop of their own, for which there are vector instructions.
template <typename Formula>
void write_row(const row<float> &result, const row<const float> &a, const row<const float> &b, std::int64_t count,
               const Formula &formula) {
    if (result.stride == 1 && a.stride == 1 && b.stride == 1) {
        for (std::int64_t i = 0; i < count; ++i) {
            result.data[i] = formula(a.data[i], b.data[i]);
        }
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        result.data[i * result.stride] = formula(a.data[i * a.stride], b.data[i * b.stride]);
    }
}

/// Merges one row and returns its log-sum-exp.
double merge_row(const row<const float> &a, double log_sum_exp_a, const row<const float> &b, double log_sum_exp_b,
                 const row<float> &result, std::int64_t count) {
    // A part that saw nothing takes no part, whatever its output holds.
    if (log_sum_exp_a == nothing && log_sum_exp_b == nothing) {
        write_row(result, a, b, count, [](float, float) { return 0.0f; });
        return nothing;
    }
    if (log_sum_exp_a == nothing || log_sum_exp_b == nothing) {
        const bool is_a = log_sum_exp_b == nothing;
        const double log_sum_exp = is_a ? log_sum_exp_a : log_sum_exp_b;
        if (std::isfinite(log_sum_exp)) {
            const row<const float> &only = is_a ? a : b;
            write_row(result, only, only, count, [](float element, float) { return element; });
            return log_sum_exp;
        }
    }
    // Infinity minus itself is NaN, as in a row whose largest score is infinite.
    const double largest = log_sum_exp_a > log_sum_exp_b ? log_sum_exp_a : log_sum_exp_b;
    const double sum_a = std::exp(log_sum_exp_a - largest), sum_b = std::exp(log_sum_exp_b - largest);
    const auto weight_a = static_cast<float>(sum_a / (sum_a + sum_b));
    const auto weight_b = static_cast<float>(sum_b / (sum_a + sum_b));
    write_row(result, a, b, count, [=](float of_a, float of_b) { return weight_a * of_a + weight_b * of_b; });
    return largest + std::log(sum_a + sum_b);
}

}  // namespace

void merge(const view<const float, 4> &output_a, const view<const float, 3> &log_sum_exp_a,
           const view<const float, 4> &output_b, const view<const float, 3> &log_sum_exp_b,
           const view<float, 4> &output, const view<float, 3> &log_sum_exp) {
    const indices<4> shape = output_a.extents();
    check_shape("output_a", output_a, shape);
    check_shape("log_sum_exp_a", log_sum_exp_a, shape);
    check_shape("output_b", output_b, shape);
    check_shape("log_sum_exp_b", log_sum_exp_b, shape);
    check_shape("output", output, shape);
    check_written("output", output, "output_a", output_a, "output_b", output_b);
    check_apart("output", output, "log_sum_exp_a", log_sum_exp_a);
    check_apart("output", output, "log_sum_exp_b", log_sum_exp_b);
    if (log_sum_exp.given()) {
        check_shape("log_sum_exp", log_sum_exp, shape);
        check_written("log_sum_exp", log_sum_exp, "log_sum_exp_a", log_sum_exp_a, "log_sum_exp_b", log_sum_exp_b);
        check_apart("log_sum_exp", log_sum_exp, "output", output);
        check_apart("log_sum_exp", log_sum_exp, "output_a", output_a);
        check_apart("log_sum_exp", log_sum_exp, "output_b", output_b);
    }
    for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
        for (std::int64_t head = 0; head < shape[1]; ++head) {
            for (std::int64_t query = 0; query < shape[2]; ++query) {
                const double merged = merge_row(
                    row_of(output_a, batch, head, query), double{element_of(log_sum_exp_a, batch, head, query)},
                    row_of(output_b, batch, head, query), double{element_of(log_sum_exp_b, batch, head, query)},
                    row_of(output, batch, head, query), shape[3]);
                if (log_sum_exp.given()) {
                    element_of(log_sum_exp, batch, head, query) = static_cast<float>(merged);
                }
            }
        }
    }
}

}  // namespace heed
