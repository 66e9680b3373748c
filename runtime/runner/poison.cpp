// SPDX-License-Identifier: MIT
#include "poison.hpp"

#include <algorithm>
#include <limits>

#include "oracle.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace heed::runner {

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

void fill_position(const problem &of, std::int64_t batch, std::int64_t group, std::int64_t key, float key_value,
                   float value_value) {
    std::fill_n(of.key.row(batch, group, key), of.variant->head_dim, key_value);
    std::fill_n(of.value.row(batch, group, key), of.variant->value_dim, value_value);
}

bool anyone_sees(const problem &of, std::int64_t batch, std::int64_t group, std::int64_t key) {
    const int shared = of.heads_per_group();
    // From the last row upwards: with causal masks that is where a key is seen.
    for (std::int64_t row = of.sizes.q_len; row-- > 0;)
        for (int h = 0; h < shared; ++h)
            if (sees(of, {batch, group * shared + h, row}, key)) return true;
    return false;
}

bool everyone_sees(const problem &of, std::int64_t batch, std::int64_t group, std::int64_t key) {
    const int shared = of.heads_per_group();
    for (std::int64_t row = 0; row < of.sizes.q_len; ++row)
        for (int h = 0; h < shared; ++h)
            if (!sees(of, {batch, group * shared + h, row}, key)) return false;
    return true;
}

}  // namespace

std::int64_t poison_unseen(const problem &of) {
    const std::int64_t groups = of.variant->groups;
    std::atomic<std::int64_t> count{0};
    parallel_for(of.sizes.batch * groups, [&](std::int64_t i) {
        for (std::int64_t key = 0; key < of.sizes.kv_len; ++key) {
            if (anyone_sees(of, i / groups, i % groups, key)) continue;
            const bool even = key % 2 == 0;
            fill_position(of, i / groups, i % groups, key, even ? not_a_number : infinity,
                          even ? infinity : not_a_number);
            ++count;
        }
    });
    return count;
}

std::vector<std::optional<std::int64_t>> partly_seen_keys(const problem &of, std::uint64_t seed) {
    constexpr int attempts = 24;
    const std::int64_t groups = of.variant->groups;
    std::vector<std::optional<std::int64_t>> result(static_cast<std::size_t>(of.sizes.batch * groups));
    if (of.sizes.kv_len == 0) return result;
    parallel_for(of.sizes.batch * groups, [&](std::int64_t i) {
        random_source random(seed + static_cast<std::uint64_t>(i));
        for (int attempt = 0; attempt < attempts; ++attempt) {
            const std::int64_t key = random.integer(0, of.sizes.kv_len - 1);
            if (everyone_sees(of, i / groups, i % groups, key) || !anyone_sees(of, i / groups, i % groups, key))
                continue;
            result[static_cast<std::size_t>(i)] = key;
            return;
        }
    });
    return result;
}

void poison_key(const problem &of, std::int64_t batch, std::int64_t group, std::int64_t key) {
    fill_position(of, batch, group, key, not_a_number, not_a_number);
}

}  // namespace heed::runner
