// SPDX-License-Identifier: MIT
//
// A second meaning of expressions, for tests: trees that are built, read from text and interpreted while running, with
// nothing of Heed's own walk, operators or words in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heed::tests {

/// A whole number, a real number or a truth value.
using any_value = std::variant<std::int64_t, double, bool>;

/// Where an expression is evaluated.
struct pair_place {
    double score = 0;
    std::int64_t q_pos = 0, kv_pos = 0, head = 0, batch = 0, q_len = 0, kv_len = 0;
};

/// The element of a table; there is one for every name and every index. Names tell what is in them: "ints..." small
/// whole numbers, "reals..." real numbers other than 0, "rates..." also infinities and NaN.
double element(std::string_view table, std::initializer_list<std::int64_t> indices);

/// An operator, function, terminal, table or word, with its operands; or a literal.
class tree {
    using rule = any_value (*)(const tree &, const pair_place &);

    rule rule_;
    any_value literal_;
    std::vector<tree> operands_;

  public:
    explicit tree(any_value literal);
    /// Throws std::invalid_argument if there is no such name.
    explicit tree(const std::string &name, std::vector<tree> operands = {});

    any_value at(const pair_place &where) const { return rule_(*this, where); }
    any_value operand(std::size_t number, const pair_place &where) const { return operands_.at(number).at(where); }
    const any_value &literal() const { return literal_; }
};

/// The tree of a text with C++'s precedence. Throws std::invalid_argument if it is none.
tree parsed(std::string_view text);

}  // namespace heed::tests
