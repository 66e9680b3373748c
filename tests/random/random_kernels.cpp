// SPDX-License-Identifier: MIT
//
// The property that all of Heed comes down to: whatever mask and score a variant declares, its kernel computes softmax
// attention with them. The meaning comes from interpreter.hpp, pair by pair; tiles, ranges and tables have no part in
// it.
#include <doctest/doctest.h>
#include <closeness.hpp>
#include <heed/isa.hpp>
#include <heed/untyped_call.hpp>
#include <random.hpp>
#include <reference.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "random_variants.hpp"

namespace heed_libraries {
extern const heed::kernel_library heed_random_kernels;
}

using namespace heed::tests;

namespace {

struct meaning_of_variant {
    tree mask, score;
};

template <std::uint64_t... Offset>
std::vector<meaning_of_variant> all_meanings(std::integer_sequence<std::uint64_t, Offset...>) {
    using random_kernels::first_seed;
    return {{random_kernels::random_mask<first_seed + Offset>(random_expressions::interpreted{}),
             random_kernels::random_score<first_seed + Offset>(random_expressions::interpreted{})}...};
}

/// The tables of a call as the interpreter has them, or nothing if some index may leave a table: kernels stop at its
/// edges there, and the interpreter's tables have none.
class tables {
    struct table {
        std::vector<std::int64_t> extents;
        std::vector<float> reals;
        std::vector<std::int32_t> integers;
    };
    std::vector<table> tables_;

  public:
    static std::optional<tables> of(const heed::variant_description &variant, const heed::call_sizes &sizes) {
        tables result;
        for (int input = 0; input < variant.input_count; ++input) {
            table made;
            for (int d = 0; d < variant.inputs[input].rank; ++d) {
                const heed::index_range range = variant.readings.input_index(sizes, input, d);
                if (!range.known || range.lowest < 0 || range.highest > 4096) return {};
                made.extents.push_back(range.highest + 1);
            }
            const std::int64_t rows = made.extents[0], columns = made.extents.size() > 1 ? made.extents[1] : 1;
            for (std::int64_t i = 0; i < rows; ++i) {
                for (std::int64_t j = 0; j < columns; ++j) {
                    const double value = made.extents.size() > 1 ? element(variant.inputs[input].name, {i, j})
                                                                 : element(variant.inputs[input].name, {i});
                    made.reals.push_back(static_cast<float>(value));
                    made.integers.push_back(std::isfinite(value) ? static_cast<std::int32_t>(value) : 0);
                }
            }
            result.tables_.push_back(std::move(made));
        }
        return result;
    }

    std::vector<heed::tensor> arguments(const heed::variant_description &variant) const {
        std::vector<heed::tensor> result;
        for (std::size_t i = 0; i < tables_.size(); ++i) {
            const table &from = tables_[i];
            const heed::data_type type = variant.inputs[i].type;
            const void *data = type == heed::data_type::i32 ? static_cast<const void *>(from.integers.data())
                                                            : static_cast<const void *>(from.reals.data());
            result.push_back({data, type, static_cast<int>(from.extents.size()), from.extents.data(), nullptr});
        }
        return result;
    }
};

/// True if the call was made; then its result is checked.
bool check(const heed::variant_description &variant, const meaning_of_variant &meant, const lengths &sizes) {
    const problem of(variant, sizes);
    const auto inputs = tables::of(variant, {of.batch(), of.q_len(), of.kv_len()});
    if (!inputs) return false;
    const auto place_of = [&](const pair &at, double score) {
        return pair_place{score, at.q, at.kv, at.head, at.batch, of.q_len(), of.kv_len()};
    };
    const semantics meaning{
        .attends = [&](const pair &at) { return std::get<bool>(meant.mask.at(place_of(at, 0))); },
        .modify = [&](double score, const pair &at) { return std::get<double>(meant.score.at(place_of(at, score))); },
        .query_start = [](std::int64_t) { return 0; }};
    const reference expected = attention(of, meaning);

    tensor<float, 4> output({of.batch(), of.heads(), of.q_len(), of.value_dim()});
    const auto list = inputs->arguments(variant);
    const auto query = of.query.view(), key = of.key.view(), value = of.value.view();
    const auto written = output.view();
    heed::call_arguments call;
    call.variant = &variant;
    call.query = heed::as_tensor(query);
    call.key = heed::as_tensor(key);
    call.value = heed::as_tensor(value);
    call.output = heed::as_tensor(written);
    call.inputs = list.data();
    call.input_count = static_cast<int>(list.size());
    heed::run(call);
    INFO(std::string(variant.name), ", q_len ", sizes.q_len, ", kv_len ", sizes.kv_len, ", HEED_TEST_SEED=", seed(),
         "\n", std::string(variant.formula));
    const difference found = compare(output, expected.output, 1e-30);
    CHECK_MESSAGE(found.largest <= 4e-6, found.where);
    CHECK(output.untouched());
    return true;
}

}  // namespace

TEST_CASE("random variants mean what an interpreter says") {
    if (!heed::isa_available("avx2") && !heed::isa_available("neon")) return;
    const heed::kernel_library &library = heed_libraries::heed_random_kernels;
    const auto meanings = all_meanings(std::make_integer_sequence<std::uint64_t, 30>{});
    REQUIRE(library.variant_count == 30);
    int variants_checked = 0;
    for (int i = 0; i < library.variant_count; ++i) {
        int calls = 0;
        for (const lengths &sizes : {lengths{1, 1}, {5, 7}, {13, 50}, {49, 129}, {130, 140}, {97, 300}}) {
            calls += check(library.variants[i], meanings[static_cast<std::size_t>(i)], sizes) ? 1 : 0;
        }
        variants_checked += calls > 0 ? 1 : 0;
    }
    MESSAGE(variants_checked, " of ", library.variant_count, " variants were checked");
    CHECK(variants_checked >= 30 / 2);
}
