// SPDX-License-Identifier: MIT
//
// Tensors stored in two bytes: what is read counts as it is, sums have single precision, results are rounded once.
#include <verify.hpp>

#include "heed_storage_kernels.hpp"

#include <bit>
#include <cmath>
#include <cstring>

using namespace heed::tests;
using heed::bfloat16;
using heed::float16;

namespace {

// The numbers themselves, from the definition of the formats.

double value_of(int sign, int exponent, int fraction, int fraction_bits, int exponent_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1, last = (1 << exponent_bits) - 1;
    if (exponent == last) return fraction != 0 ? double{not_a_number} : sign != 0 ? -INFINITY : INFINITY;
    const double significand = std::ldexp(fraction, -fraction_bits) + (exponent != 0 ? 1 : 0);
    return (sign != 0 ? -1 : 1) * std::ldexp(significand, (exponent != 0 ? exponent : 1) - bias);
}

double value_of(float16 x) { return value_of(x.bits >> 15, x.bits >> 10 & 31, x.bits & 1023, 10, 5); }
double value_of(bfloat16 x) { return value_of(x.bits >> 15, x.bits >> 7 & 255, x.bits & 127, 7, 8); }
double value_of(float x) { return x; }

template <class T>
T from_bits(std::uint32_t bits) {
    T x;
    x.bits = static_cast<std::uint16_t>(bits);
    return x;
}

/// Positive finite numbers end before this one, infinity.
template <class T>
constexpr std::uint32_t infinity_bits = 0x7f80;
template <>
constexpr std::uint32_t infinity_bits<float16> = 0x7c00;

template <class T>
tensor<T, 4> stored_as(const tensor<float, 4> &from) {
    tensor<T, 4> made(from.extents(), from.strides());
    for_each_index<4>(from.extents(), [&](const auto &at) { made[at] = T(from[at]); });
    return made;
}

template <class T>
tensor<float, 4> widened(const tensor<T, 4> &from) {
    tensor<float, 4> made(from.extents());
    for_each_index<4>(from.extents(), [&](const auto &at) { made[at] = static_cast<float>(value_of(from[at])); });
    return made;
}

/// True if `is` is what a number within `error` of `should_be` is rounded to.
template <class T>
bool is_rounded(T is, double should_be, double error) {
    if (std::isnan(should_be)) return std::isnan(value_of(is));
    const double low = value_of(T(static_cast<float>(should_be - error))),
                 high = value_of(T(static_cast<float>(should_be + error)));
    return value_of(is) >= low && value_of(is) <= high;
}

template <class Inputs, class Q, class K, class V, class O>
void call(const heed::attention_kernel<Inputs> &kernel, const tensor<Q, 4> &query, const tensor<K, 4> &key,
          const tensor<V, 4> &value, tensor<O, 4> &output, const inputs_or_none<Inputs> &inputs,
          const heed::call_options &options) {
    if constexpr (std::is_void_v<Inputs>) {
        kernel(query.view(), key.view(), value.view(), output.view(), options);
    } else {
        kernel(query.view(), key.view(), value.view(), output.view(), inputs, options);
    }
}

/// The kernels of these types.
inline std::vector<kernel_choice> kernels_of_types(const heed::variant_description &variant,
                                                   const heed::tensor_types &types) {
    std::vector<kernel_choice> choices;
    for (int i = 0; i < variant.kernel_count; ++i) {
        const heed::kernel_description &kernel = variant.kernels[i];
        if (kernel.types == types && heed::isa_available(kernel.isa)) choices.push_back({kernel.isa, kernel.schedule});
    }
    return choices;
}

/// Compares with the reference on the rounded tensors.
template <class Q, class K, class V, class O, class Inputs>
void verify_stored(const heed::attention_kernel<Inputs> &kernel, problem of, const inputs_or_none<Inputs> &inputs,
                   const semantics &meaning) {
    const auto query = stored_as<Q>(of.query);
    const auto key = stored_as<K>(of.key);
    const auto value = stored_as<V>(of.value);
    of.query = widened(query);
    of.key = widened(key);
    of.value = widened(value);
    const reference expected = attention(of, meaning);
    double largest = 0;
    for_each_index<4>(expected.output.extents(), [&](const auto &at) {
        if (std::isfinite(expected.output[at])) largest = std::max(largest, std::fabs(expected.output[at]));
    });
    const double bound = std::min(allowed_error * std::max(1.0, expected.largest_score / 8), 1e-2);
    const heed::variant_description &variant = kernel.description();
    const auto choices = kernels_of_types(variant, {heed::detail::element<Q>::type, heed::detail::element<K>::type,
                                                    heed::detail::element<V>::type, heed::detail::element<O>::type});
    REQUIRE(!choices.empty());
    for (const kernel_choice &which : choices) {
        INFO(std::string(variant.name), ", ", which.text(), ", batch ", of.batch(), ", q_len ", of.q_len(), ", kv_len ",
             of.kv_len(), ", HEED_TEST_SEED=", seed());
        tensor<O, 4> output(expected.output.extents()), again(expected.output.extents());
        tensor<float, 3> log_sum_exp(expected.log_sum_exp.extents());
        call<Inputs>(kernel, query, key, value, output, inputs, {log_sum_exp.view(), 1, which.isa, which.schedule});
        int wrong = 0;
        for_each_index<4>(output.extents(), [&](const auto &at) {
            if (is_rounded(output[at], expected.output[at], bound * largest)) return;
            if (wrong++ == 0) {
                FAIL_CHECK("output is ", value_of(output[at]), ", should be ", expected.output[at], " at row ", at[2],
                           ", column ", at[3]);
            }
        });
        CHECK(wrong == 0);
        const difference sums = compare(log_sum_exp, expected.log_sum_exp, 1);
        CHECK_MESSAGE(sums.largest <= allowed_error, "log_sum_exp: ", sums.where);
        CHECK(output.untouched());
        call<Inputs>(kernel, query, key, value, again, inputs, {{}, 3, which.isa, which.schedule});
        CHECK(same_bits(output, again));
    }
}

/// For every combination of types that there are kernels for.
template <class Inputs>
void verify_all_types(const heed::attention_kernel<Inputs> &kernel, const problem &of,
                      const inputs_or_none<Inputs> &inputs, const semantics &meaning) {
    verify_stored<float16, float16, float16, float16>(kernel, of, inputs, meaning);
    verify_stored<bfloat16, bfloat16, bfloat16, bfloat16>(kernel, of, inputs, meaning);
    verify_stored<float, float16, float16, float>(kernel, of, inputs, meaning);
    verify_stored<float16, bfloat16, float, float16>(kernel, of, inputs, meaning);
}

bool in_holes(const pair &at) { return at.kv % 7 != 3; }

/// The values as results: one key, one row, so that each result is one value.
template <class Q, class K, class V, class O>
tensor<O, 4> passed_through(const tensor<V, 4> &value, const kernel_choice &which) {
    const std::int64_t batch = value.extents()[0];
    tensor<Q, 4> query({batch, 2, 1, 4});
    tensor<K, 4> key({batch, 2, 1, 4});
    for_each_index<4>(query.extents(), [&](const auto &at) {
        query[at] = Q(0.5f);
        key[at] = K(0.25f);
    });
    tensor<O, 4> output({batch, 2, 1, 4});
    call<void>(kernels::stored_holes, query, key, value, output, {}, {{}, 1, which.isa, which.schedule});
    return output;
}

}  // namespace

TEST_CASE_TEMPLATE("two-byte numbers become the float of the same value", T, float16, bfloat16) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const T x = from_bits<T>(bits);
        const float is = x;
        const double should_be = value_of(x);
        if (std::isnan(should_be) ? !std::isnan(is) : double{is} != should_be || std::signbit(is) != (bits >= 0x8000)) {
            FAIL("bits ", bits, " give ", is);
        }
    }
}

TEST_CASE_TEMPLATE("floats become the nearest two-byte number, of two nearest the even one", T, float16, bfloat16) {
    const auto rounds_to = [](float from, std::uint32_t bits) {
        if (T(from).bits != bits) FAIL(from, " becomes ", T(from).bits, " instead of ", bits);
        if (T(-from).bits != (bits | 0x8000)) FAIL(-from, " becomes ", T(-from).bits);
    };
    for (std::uint32_t bits = 0; bits < infinity_bits<T>; ++bits) {
        const auto below = static_cast<float>(value_of(from_bits<T>(bits)));
        rounds_to(below, bits);
        // Where the next one is infinity, rounding goes on as if numbers did.
        const bool is_last = bits + 1 == infinity_bits<T>;
        const double next =
            is_last ? 2 * double{below} - value_of(from_bits<T>(bits - 1)) : value_of(from_bits<T>(bits + 1));
        const auto middle = static_cast<float>((double{below} + next) / 2);
        rounds_to(middle, bits + (bits & 1));
        rounds_to(std::nextafter(middle, 0.0f), bits);
        rounds_to(std::nextafter(middle, infinity), bits + 1);
    }
    rounds_to(infinity, infinity_bits<T>);
    rounds_to(std::numeric_limits<float>::max(), infinity_bits<T>);
    rounds_to(1e-45f, 0);
    for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xffffffffu, 0xff800001u, 0x7f80ffffu}) {
        CHECK(std::isnan(value_of(T(std::bit_cast<float>(bits)))));
    }
}

TEST_CASE("stored in two bytes: lengths around every edge of a tile") {
    for (const lengths &sizes : around_tile_edges(kernels::stored.description())) {
        verify_all_types(kernels::stored, problem(kernels::stored.description(), sizes), {},
                         {.attends = [](const pair &at) { return causal(at) && in_window(at, 40); }});
    }
}

TEST_CASE("stored in two bytes: peaked scores") {
    verify_all_types(kernels::stored, problem(kernels::stored.description(), {100, 300}, 30), {},
                     {.attends = [](const pair &at) { return causal(at) && in_window(at, 40); }});
}

TEST_CASE("head_dim 128: products far above the largest f16 do not overflow") {
    problem of(kernels::stored_128.description(), {40, 150, 1});
    verify_all_types(kernels::stored_128, of, {}, {});
    for_each_index<4>(of.query.extents(), [&](const auto &at) { of.query[at] = at[2] % 2 == 0 ? 256 : -256; });
    for_each_index<4>(of.key.extents(), [&](const auto &at) { of.key[at] = 256; });
    verify_all_types(kernels::stored_128, of, {}, {});
    // One key of all stands out.
    for_each_index<4>(of.key.extents(), [&](const auto &at) { of.key[at] = at[2] == 77 ? 256 : -256; });
    verify_all_types(kernels::stored_128, of, {}, {});
}

TEST_CASE("stored in two bytes: modified rows, rotation and gates have single precision") {
    tensor<float, 2> gate({2, 8});
    filler(42).fill(gate);
    const auto turn = [](row_values &row, std::int64_t position) {
        for (std::size_t i = 0; i < 4; ++i) {
            const double angle = static_cast<double>(position) * std::pow(1e4, -static_cast<double>(i) / 4);
            const double a = row[i], b = row[i + 4];
            row[i] = a * std::cos(angle) - b * std::sin(angle);
            row[i + 4] = b * std::cos(angle) + a * std::sin(angle);
        }
    };
    const semantics meaning{.attends = causal,
                            .modify_query =
                                [&](row_values &row, const place &at) {
                                    double sum = 0;
                                    for (const double x : row) sum += x * x;
                                    for (double &x : row) x /= std::sqrt(sum / 8 + 1e-6);
                                    turn(row, at.position);
                                },
                            .modify_key = [&](row_values &row, const place &at) { turn(row, at.position); },
                            .modify_value =
                                [](row_values &row, const place &) {
                                    for (double &x : row) x = 2 * x + 1;
                                },
                            .modify_output =
                                [&](row_values &row, const place &at) {
                                    for (std::size_t d = 0; d < 8; ++d) row[d] *= double{gate(at.head, d)};
                                }};
    for (const lengths &sizes : {lengths{1, 1}, {65, 130}, {130, 257}, {257, 70}}) {
        verify_all_types(kernels::stored_changed, problem(kernels::stored_changed.description(), sizes), {gate.view()},
                         meaning);
    }
}

TEST_CASE("stored in two bytes: NaN and infinities reach the rows that see them and no other") {
    for (const float poison : {not_a_number, infinity, -infinity}) {
        CAPTURE(poison);
        problem hidden(kernels::stored_holes.description(), {70, 150});
        for_each_index<4>(hidden.key.extents(), [&](const auto &at) {
            if (at[2] % 7 == 3) hidden.key[at] = hidden.value[at] = poison;
        });
        verify_all_types(kernels::stored_holes, hidden, {}, {.attends = in_holes});
        problem seen(kernels::stored.description(), {70, 150});
        seen.query(0, 1, 30, 3) = poison;
        seen.key(1, 0, 100, 5) = poison;
        seen.value(0, 1, 120, 2) = poison;
        verify_all_types(kernels::stored, seen, {},
                         {.attends = [](const pair &at) { return causal(at) && in_window(at, 40); }});
    }
}

TEST_CASE("numbers below the smallest normal one count as they are") {
    problem of(kernels::stored_holes.description(), {30, 60, 1});
    filler random(43);
    // In f16 most of these are subnormal, in steps of 2^-24.
    random.fill(of.value, 6e-5);
    verify_all_types(kernels::stored_holes, of, {}, {.attends = in_holes});
    random.fill(of.value);
    random.fill(of.key, 6e-5);
    random.fill(of.query, 60000);
    verify_all_types(kernels::stored_holes, of, {}, {.attends = in_holes});
}

TEST_CASE_TEMPLATE("every two-byte number goes through a kernel unchanged", T, float16, bfloat16) {
    tensor<T, 4> value({8192, 2, 1, 4});
    std::uint32_t next = 0;
    for_each_index<4>(value.extents(), [&](const auto &at) { value[at] = from_bits<T>(next++); });
    for (const kernel_choice &which :
         kernels_of_types(kernels::stored_holes.description(), heed::detail::element<T>::type)) {
        const auto output = passed_through<T, T, T, T>(value, which);
        for_each_index<4>(value.extents(), [&](const auto &at) {
            const double is = value_of(output[at]), should_be = value_of(value[at]);
            // Kernels may take subnormal numbers of single precision, which bf16 shares, for 0.
            if (std::fabs(should_be) < 0x1p-126 && is == 0) return;
            if (std::isnan(should_be) ? !std::isnan(is) : is != should_be) {
                FAIL(which.text(), ": ", should_be, " becomes ", is);
            }
        });
    }
}

TEST_CASE("results are rounded to the nearest, of two nearest to the even one") {
    // f16, then what lies halfway to the next, a little below and a little above.
    tensor<float, 4> value({4 * 4096, 2, 1, 4});
    std::uint32_t number = 0;
    for_each_index<4>(value.extents(), [&](const auto &at) {
        const std::uint32_t bits = number / 4 % 0x7c00;
        const auto below = static_cast<float>(value_of(from_bits<float16>(bits)));
        const double step = bits >= 0x7bff ? 32 : value_of(from_bits<float16>(bits + 1)) - double{below};
        const auto middle = static_cast<float>(double{below} + step / 2);
        const float candidates[] = {below, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, infinity)};
        value[at] = candidates[number % 4];
        ++number;
    });
    const heed::tensor_types types(heed::data_type::f16, heed::data_type::bf16, heed::data_type::f32,
                                   heed::data_type::f16);
    for (const kernel_choice &which : kernels_of_types(kernels::stored_holes.description(), types)) {
        const auto output = passed_through<float16, bfloat16, float, float16>(value, which);
        for_each_index<4>(value.extents(), [&](const auto &at) {
            const float16 should_be(value[at]);
            if (value_of(output[at]) != value_of(should_be)) {
                FAIL(which.text(), ": ", value[at], " becomes ", value_of(output[at]));
            }
        });
    }
}

TEST_CASE_TEMPLATE("two-byte tensors anywhere in memory, and one for all", T, float16, bfloat16) {
    const problem of(kernels::stored_holes.description(), {70, 70});
    const auto query = stored_as<T>(of.query), key = stored_as<T>(of.key), value = stored_as<T>(of.value);
    for (const kernel_choice &which :
         kernels_of_types(kernels::stored_holes.description(), heed::detail::element<T>::type)) {
        const auto result = [&](const tensor<T, 4> &q, const tensor<T, 4> &k, const tensor<T, 4> &v,
                                const index_list<4> &output_strides) {
            tensor<T, 4> output(q.extents(), output_strides);
            call<void>(kernels::stored_holes, q, k, v, output, {}, {{}, 2, which.isa, which.schedule});
            CHECK(output.untouched());
            return output;
        };
        const auto dense = result(query, key, value, row_major<4>(query.extents()));
        // Length before heads with odd gaps, so that rows start at any multiple of two bytes; from the last to the
        // first.
        for (const index_list<4> &strides :
             {index_list<4>{711, 5, 10, 1}, {-1000, 400, 5, 1}, {5, 1400, -9, 1}, {0, 0, 4, 1}, {0, 4, 0, 1}}) {
            CAPTURE(strides[2]);
            const bool repeats = strides[0] == 0;
            const auto q = query.with_strides(strides), k = key.with_strides(strides), v = value.with_strides(strides);
            const auto got = result(q, k, v, repeats ? row_major<4>(query.extents()) : strides);
            if (!repeats) CHECK(same_bits(got, dense));
            // The same elements, each in a place of its own.
            const index_list<4> plain = row_major<4>(query.extents());
            CHECK(same_bits(got, result(q.with_strides(plain), k.with_strides(plain), v.with_strides(plain), plain)));
        }
        const tensor<T, 4> copy = query, other_copy = query;
        CHECK(
            same_bits(result(query, query, query, dense.strides()), result(query, copy, other_copy, dense.strides())));
    }
}

TEST_CASE("types that no kernel was compiled for are refused") {
    tensor<float, 4> query({1, 2, 1, 4}), output({1, 2, 1, 4});
    tensor<float16, 4> key({1, 2, 1, 4}), value({1, 2, 1, 4});
    CHECK_THROWS_AS(kernels::stored_holes(query.view(), query.view(), query.view(), output.view()), heed::error);
    tensor<float16, 4> short_output({1, 2, 1, 4}), fresh({1, 2, 1, 4});
    CHECK_THROWS_AS(kernels::stored_holes(query.view(), key.view(), value.view(), short_output.view()), heed::error);
    CHECK(same_bits(short_output, fresh));
}
