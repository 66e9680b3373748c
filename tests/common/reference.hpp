// SPDX-License-Identifier: MIT
//
// Attention in double precision, written by hand: one loop after the other, in the order of the definition. What a
// variant means is given by functions that the test writes out; the declarations under test have no part in it.
#pragma once

#include "problem.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace heed::tests {

/// One query and one key; positions are absolute, `row` is the query's number in the call.
struct pair {
    std::int64_t batch, head, q, kv;
    std::int64_t row = 0;
};

using row_values = std::vector<double>;

/// Where a row belongs: one of a query or a result, which has a query head, or one of a key or a value, which has a
/// group (and `head` is that group). The position is absolute, `row` is the number in the call.
struct place {
    std::int64_t batch, head, position, row;
};

struct semantics {
    /// Which keys a query sees; all of them by default.
    std::function<bool(const pair &)> attends = nullptr;
    /// What becomes of scale * <query, key>; nothing by default.
    std::function<double(double score, const pair &)> modify = nullptr;
    /// Logit of a term of the denominator that has no value; none by default.
    std::function<double(std::int64_t batch, std::int64_t head)> sink = nullptr;
    /// Position of the first query; by default the last query and the last key have the same position.
    std::function<std::int64_t(std::int64_t batch)> query_start = nullptr;
    /// 0: 1 / sqrt(head_dim).
    double scale = 0;
    /// What becomes of rows before they are multiplied or weighed, and of results before they are stored.
    std::function<void(row_values &, const place &)> modify_query = nullptr;
    std::function<void(row_values &, const place &)> modify_key = nullptr;
    std::function<void(row_values &, const place &)> modify_value = nullptr;
    std::function<void(row_values &, const place &)> modify_output = nullptr;
    /// The weight of a visible key from its modified score, instead of a softmax; not divided by anything.
    std::function<double(double score, const pair &)> weight = nullptr;
    /// Factor of a weight that the denominator does not see.
    std::function<double(const pair &)> weight_factor = nullptr;
    /// Softmax with 1 added to the denominator.
    bool softmax1 = false;
};

struct reference {
    tensor<double, 4> output;
    tensor<double, 3> log_sum_exp;
    double largest_score = 0;  ///< largest finite |score| of a visible pair, or |sink|
};

reference attention(const problem &of, const semantics &meaning);

// Features, from their definitions.

inline bool causal(const pair &at) { return at.kv <= at.q; }

/// The query's own position and the `width - 1` before it; does not exclude later keys.
inline bool in_window(const pair &at, std::int64_t width) { return at.kv > at.q - width; }

/// c tanh(x / c).
double soft_cap(double score, double cap);

/// ALiBi's slope of a head as in the authors' code: 2^(-8/n), 2^(-16/n), ... for n = 2^k heads. Otherwise those of the
/// next lower power of two, then the first, third, fifth ... of the next higher one.
double alibi_slope(std::int64_t head, std::int64_t heads);

}  // namespace heed::tests
