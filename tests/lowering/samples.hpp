// SPDX-License-Identifier: MIT
//
// Random tiles, and inputs for the masks to look up, both as numbers and as Halide expressions.
#pragma once

#include <heed/attends.hpp>
#include <heed/generator.hpp>
#include <random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace heed::tests {

/// What a sample holds, in this order.
enum field : int {
    q_lowest,
    q_highest,
    kv_lowest,
    kv_highest,
    head_lowest,
    head_highest,
    batch_number,
    q_length,
    kv_length,
    field_count
};

/// Random tiles, as numbers and as a Halide buffer (sample, field).
class tile_samples {
    Halide::Buffer<int> values_;

  public:
    explicit tile_samples(int count, std::uint64_t salt = 0) : values_(count, int{field_count}) {
        filler random(salt);
        const auto draw = [&](std::int64_t lowest, std::int64_t highest) {
            return static_cast<int>(random.integer(lowest, highest));
        };
        for (int i = 0; i < count; ++i) {
            values_(i, q_lowest) = draw(-12, 25);
            values_(i, q_highest) = values_(i, q_lowest) + draw(0, 7);
            values_(i, kv_lowest) = draw(0, 25);
            values_(i, kv_highest) = values_(i, kv_lowest) + draw(0, 7);
            values_(i, head_lowest) = draw(0, 3);
            values_(i, head_highest) = values_(i, head_lowest) + draw(0, 1);
            values_(i, batch_number) = draw(0, 15);
            values_(i, q_length) = draw(1, 12);
            values_(i, kv_length) = draw(1, 30);
        }
    }

    int count() const { return values_.dim(0).extent(); }
    int operator()(int sample, field what) const { return values_(sample, int{what}); }
    Halide::Expr operator()(const Halide::Expr &sample, field what) const { return values_(sample, int{what}); }

    pair_tile tile(int i) const {
        return {.q = {(*this)(i, q_lowest), (*this)(i, q_highest)},
                .kv = {(*this)(i, kv_lowest), (*this)(i, kv_highest)},
                .head = {(*this)(i, head_lowest), (*this)(i, head_highest)},
                .batch = (*this)(i, batch_number),
                .q_len = (*this)(i, q_length),
                .kv_len = (*this)(i, kv_length)};
    }
};

/// Tables of `extent` x `extent` elements for inputs of rank 1 and 2; indices beyond them stop at their edges.
class looked_up {
    static constexpr int extent = 16;
    Halide::Buffer<float> reals_{extent, extent}, rates_{extent, extent};
    Halide::Buffer<int> integers_{extent, extent};

    static int within(std::int64_t index) { return static_cast<int>(std::clamp<std::int64_t>(index, 0, extent - 1)); }

  public:
    looked_up() {
        filler random(99);
        constexpr std::array special{not_a_number, infinity, -infinity, 1e30f, -1e30f, 0.0f};
        for (int i = 0; i < extent; ++i) {
            for (int j = 0; j < extent; ++j) {
                integers_(i, j) = static_cast<int>(random.integer(-3, 17));
                reals_(i, j) = static_cast<float>(random.integer(-40, 60)) * 0.25f;
                const std::int64_t which = random.integer(0, 11);
                rates_(i, j) = which < 6 ? special[static_cast<std::size_t>(which)]
                                         : static_cast<float>(random.integer(-40, 60)) * 0.25f;
            }
        }
    }

    /// For the scalar and the range reading in numbers.
    auto numbers() const {
        return [this]<class Input>(Input, std::int64_t first, std::int64_t second = 0) -> double {
            if constexpr (Input::kind == value_kind::integer) return integers_(within(first), within(second));
            if constexpr (Input::name().starts_with("rate")) return double{rates_(within(first), within(second))};
            return double{reals_(within(first), within(second))};
        };
    }

    /// For the Halide readings of `source`.
    generators::input_lookup expressions(const generators::variant_source &source) const {
        return [this, &source](int input, const std::vector<Halide::Expr> &indices) -> Halide::Expr {
            const generators::input_source &which = source.inputs[static_cast<std::size_t>(input)];
            const Halide::Expr first = Halide::clamp(indices[0], 0, extent - 1);
            const Halide::Expr second = indices.size() > 1 ? Halide::clamp(indices[1], 0, extent - 1) : Halide::Expr(0);
            if (which.type == Halide::Int(32)) return integers_(first, second);
            return which.name.starts_with("rate") ? rates_(first, second) : reals_(first, second);
        };
    }
};

inline Halide::Expr as_int(const Halide::Expr &condition) { return Halide::cast<int>(condition); }

}  // namespace heed::tests
