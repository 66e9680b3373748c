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
double rounding_of(data_type type) { return type == data_type::f16 ? 0x1p-11 : type == data_type::bf16 ? 0x1p-8 : 0.0; }

const char *name_of(computed what) { return what == computed::weights ? "weights" : "output"; }

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

double error_bar_of(data_type output) { return error_bar + rounding_of(output); }

void comparison::merge(const comparison &other) {
    output_error = std::max(output_error, other.output_error);
    log_sum_exp_error = std::max(log_sum_exp_error, other.log_sum_exp_error);
    share_of_bar = std::max(share_of_bar, other.share_of_bar);
    if (failure.empty()) failure = other.failure;
}

double rounding_in_cache(const variant_description &variant, const tensor_types &types) {
    const auto of_type = [](data_type type) { return type == data_type::i8 ? 1.0 / 127 : rounding_of(type); };
    const variant_readings &readings = variant.readings;
    return std::max(readings.modify_key != nullptr ? of_type(types.key) : 0.0,
                    readings.modify_value != nullptr ? of_type(types.value) : 0.0);
}

comparison compare(const problem &of, const results &actual, const expectation &expected, const nan_keys &not_a_number,
                   bool log_sum_exp, double in_cache) {
    comparison result;
    const bool are_weights = expected.what == computed::weights;
    const auto note = [&](double error, double allowed, double &largest, const auto &text) {
        largest = std::max(largest, error);
        result.share_of_bar = std::max(result.share_of_bar, error / allowed);
        if (!(error <= allowed) && result.failure.empty()) result.failure = text();
    };
    for (std::size_t r = 0; r < expected.rows.size(); ++r) {
        const row_address &address = expected.rows[r];
        const std::int64_t nan_key = r < not_a_number.size() ? not_a_number[r] : -1;
        const bool sees_nan = nan_key >= 0;
        const double from_scores = score_roundings * 0x1p-24 * expected.score_magnitude[r];
        const double from_cache = in_cache * (1 + expected.score_magnitude[r]);
        const double from_sums = std::max(error_bar, from_scores) + from_cache;
        // As many times the bar as the values of the row are larger than what they leave of each other.
        const double cancelled =
            expected.largest > 0.0 ? std::max(1.0, expected.value_magnitude[r] / expected.largest) : 1.0;
        const double allowed = std::max(error_bar * cancelled, from_scores) + from_cache + rounding_of(of.types.output);
        const bool nothing_visible = expected.log_sum_exp[r] == -std::numeric_limits<double>::infinity();
        const float *row = actual.output.row(address.batch, address.head, address.row);
        const double *expected_row = expected.values.data() + r * static_cast<std::size_t>(expected.columns);
        double sum = 0.0, expected_sum = 0.0, expected_magnitude = 0.0;
        for (std::int64_t d = 0; d < expected.columns; ++d) {
            if (are_weights && sees_nan && d != nan_key) continue;
            const double value = sees_nan ? std::nan("") : expected_row[d];
            sum += row[d];
            expected_sum += value;
            expected_magnitude += std::fabs(value);
            const bool exact = nothing_visible || (are_weights && value == 0.0);
            const double error = error_of(row[d], value, exact ? 0.0 : expected.largest);
            note(error, allowed, result.output_error, [&] {
                return fmt::format("{}[{}, {}] is {:.9g}, expected {:.9g} (error {:.1e}, allowed {:.1e})",
                                   name_of(expected.what), index_text(address), d, row[d], value, error, allowed);
            });
        }
        if (are_weights && !sees_nan) {
            // Half the smallest f16 for each weight: below 2^-14 their rounding is no share of the weight.
            const double tiny =
                of.types.output == data_type::f16 ? 0x1p-25 * static_cast<double>(expected.columns) : 0.0;
            const double unit = std::max(expected_magnitude, expected.largest);
            const double error = error_of(sum, expected_sum, unit),
                         allowed_sum = allowed + (unit > 0.0 ? tiny / unit : 0.0);
            note(error, allowed_sum, result.output_error, [&] {
                return fmt::format("weights[{}] sum to {:.9g}, expected {:.9g} (error {:.1e}, allowed {:.1e})",
                                   index_text(address), sum, expected_sum, error, allowed_sum);
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

std::string find_stray_writes(const results &actual, computed what, bool log_sum_exp) {
    std::string text = check_tensor(actual.output, name_of(what));
    if (!text.empty()) return text;
    if (log_sum_exp) return check_tensor(actual.log_sum_exp, "log_sum_exp");
    const float *unasked = actual.log_sum_exp.all();
    return std::all_of(unasked, unasked + actual.log_sum_exp.all_count(), is_untouched)
               ? ""
               : "log_sum_exp was written, but nobody asked for it";
}

}  // namespace heed::runner
