// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed::runner {

namespace {

std::string index_text(const row_address &address) {
    return fmt::format("{}, {}, {}", address.batch, address.head, address.row);
}

// The error of one number that should be `expected`, as a multiple of `unit`. Infinite if only one of both is NaN or
// inf.
double error_of(double actual, double expected, double unit) {
    if (std::isnan(actual) || std::isnan(expected))
        return std::isnan(actual) == std::isnan(expected) ? 0.0 : std::numeric_limits<double>::infinity();
    if (actual == expected) return 0.0;
    return unit > 0.0 ? std::fabs(actual - expected) / unit : std::numeric_limits<double>::infinity();
}

// Half a unit in the last place, relative.
double rounding_of(data_type type) {
    return type == data_type::f16 ? 0x1p-11 : type == data_type::bf16 ? 0x1p-8 : 0.0;
}

std::string check_tensor(const tensor &written, const char *name) {
    std::vector<bool> inside(written.all_count(), false);
    const auto &[extents, strides] = written.shape;
    const std::int64_t columns = extents.size() == 4 ? extents[3] : 1;
    for (std::int64_t b = 0; b < extents[0]; ++b)
        for (std::int64_t h = 0; h < extents[1]; ++h)
            for (std::int64_t i = 0; i < extents[2]; ++i)
                for (std::int64_t d = 0; d < columns; ++d) {
                    const float *element = written.row(b, h, i) + d;
                    inside[static_cast<std::size_t>(element - written.all())] = true;
                    if (is_untouched(*element))
                        return fmt::format("{}[{}, {}, {}, {}] was not written", name, b, h, i, d);
                }
    for (std::size_t i = 0; i < inside.size(); ++i)
        if (!inside[i] && !is_untouched(written.all()[i]))
            return fmt::format("{}: element {} of its memory is outside of the view, but was written", name, i);
    return {};
}

}  // namespace

void comparison::merge(const comparison &other) {
    output_error = std::max(output_error, other.output_error);
    log_sum_exp_error = std::max(log_sum_exp_error, other.log_sum_exp_error);
    share_of_bar = std::max(share_of_bar, other.share_of_bar);
    if (failure.empty()) failure = other.failure;
}

comparison compare(const problem &of, const results &actual, const expectation &expected,
                   const std::vector<bool> &not_a_number, bool log_sum_exp) {
    comparison result;
    const int columns = of.variant->value_dim;
    const double roundings = score_roundings * std::sqrt(std::max(1.0, of.variant->head_dim / 128.0));
    const auto note = [&](double error, double allowed, double &largest, const auto &text) {
        largest = std::max(largest, error);
        result.share_of_bar = std::max(result.share_of_bar, error / allowed);
        if (!(error <= allowed) && result.failure.empty()) result.failure = text();
    };
    for (std::size_t r = 0; r < expected.rows.size(); ++r) {
        const row_address &address = expected.rows[r];
        const bool sees_nan = r < not_a_number.size() && not_a_number[r];
        const double from_sums = std::max(error_bar, roundings * 0x1p-24 * expected.score_magnitude[r]);
        const double allowed = from_sums + rounding_of(of.types.output);
        const bool nothing_visible = expected.log_sum_exp[r] == -std::numeric_limits<double>::infinity();
        const float *row = actual.output.row(address.batch, address.head, address.row);
        for (int d = 0; d < columns; ++d) {
            const double value =
                sees_nan ? std::nan("")
                         : expected.values[r * static_cast<std::size_t>(columns) + static_cast<std::size_t>(d)];
            const double error = error_of(row[d], value, nothing_visible ? 0.0 : expected.largest);
            note(error, allowed, result.output_error, [&] {
                return fmt::format("output[{}, {}] is {:.9g}, expected {:.9g} (error {:.1e}, allowed {:.1e})",
                                   index_text(address), d, row[d], value, error, allowed);
            });
        }
        if (!log_sum_exp) continue;
        const double lse = sees_nan ? std::nan("") : expected.log_sum_exp[r];
        const float actual_lse = *actual.log_sum_exp.row(address.batch, address.head, address.row);
        const double error = error_of(actual_lse, lse, std::isfinite(lse) ? std::max(1.0, std::fabs(lse)) : 0.0);
        note(error, from_sums, result.log_sum_exp_error, [&] {
            return fmt::format("log_sum_exp[{}] is {:.9g}, expected {:.9g} (error {:.1e}, allowed {:.1e})",
                               index_text(address), actual_lse, lse, error, from_sums);
        });
    }
    return result;
}

std::string find_stray_writes(const results &actual, bool log_sum_exp) {
    std::string text = check_tensor(actual.output, "output");
    if (!text.empty()) return text;
    if (log_sum_exp) return check_tensor(actual.log_sum_exp, "log_sum_exp");
    const float *unasked = actual.log_sum_exp.all();
    return std::all_of(unasked, unasked + actual.log_sum_exp.all_count(), is_untouched)
               ? ""
               : "log_sum_exp was written, but nobody asked for it";
}

}  // namespace heed::runner
