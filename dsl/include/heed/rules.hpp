// SPDX-License-Identifier: MIT
//
// Every rule that a declaration can break. Each is a struct whose arguments are the facts, so that the compiler prints
// them; the message says what is wrong, why, and how to fix it. `check()` reports a broken rule and returns whether the
// rule holds, so that the caller can stop before errors that only follow from the first one. (The assertion stands in a
// function because clang++ 14 gives up on all that uses a class with a failed one.)
#pragma once

#include <heed/detail/kind.hpp>

#include <cstdint>
#include <cstdlib>

namespace heed::rule {

/// Kernels compute with whole numbers of 32 bits; sums and differences of two of these have a bit to spare.
inline constexpr std::int64_t largest_whole_number = std::int64_t{1} << 30;

// Operators

/// `&&`, `||` and `!` combine conditions.
template <class Operator, class... Operands>
struct logic_needs_conditions {
    static constexpr bool holds = (... && (Operands::kind == value_kind::boolean));
    static constexpr bool check() {
        static_assert(holds,
                      "heed: '&&', '||' and '!' combine conditions, but an operand is a number. The operands are the "
                      "arguments of logic_needs_conditions<operator, operands...> in this diagnostic. Fix: compare the "
                      "number with something, e.g. 'q_pos - kv_pos < 128_c'.");
        return holds;
    }
};

/// Arithmetic takes numbers.
template <class Operator, class... Operands>
struct arithmetic_needs_numbers {
    static constexpr bool holds = (... && detail::is_number(Operands::kind));
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: arithmetic needs numbers, but an operand is a condition. The operands are the arguments of "
            "arithmetic_needs_numbers<operator, operands...> in this diagnostic. Fix: turn the condition into a "
            "number, e.g. 'select(condition, 1.0, 0.0)', or combine conditions with '&&', '||', '!'.");
        return holds;
    }
};

/// Comparisons take numbers, so `a < b < c` is an error.
template <class Operator, class... Operands>
struct comparison_needs_numbers {
    static constexpr bool holds = (... && detail::is_number(Operands::kind));
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: a comparison needs two numbers, but an operand is itself a condition. The operands are the "
            "arguments of comparison_needs_numbers<operator, operands...> in this diagnostic. Fix: write "
            "'a < b && b < c' for 'a < b < c', and 'a && b || !a && !b' for conditions that are to be equal.");
        return holds;
    }
};

/// `%` takes whole numbers.
template <class Operator, class... Operands>
struct remainder_needs_integers {
    static constexpr bool holds = (... && (Operands::kind == value_kind::integer));
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: '%' is the remainder of whole numbers, but an operand is not a whole number. The operands are "
            "the arguments of remainder_needs_integers<operator, operands...> in this diagnostic. Fix: use "
            "positions, constants such as '64_c' and inputs declared as i32, 'input<\"stride\", i32>()'; for real "
            "numbers write 'a - floor(a / b) * b'.");
        return holds;
    }
};

/// `select(condition, a, b)`.
template <class Condition, class A, class B>
struct select_chooses_by_a_condition {
    static constexpr bool holds =
        Condition::kind == value_kind::boolean && detail::is_number(A::kind) == detail::is_number(B::kind);
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: 'select(condition, a, b)' needs a condition first, then two numbers or two conditions. The three "
            "are the arguments of select_chooses_by_a_condition<condition, a, b> in this diagnostic. Fix: "
            "e.g. 'select(kv_pos < 4_c, 1.0, 0.5)'.");
        return holds;
    }
};

/// `_c` is for whole numbers.
template <bool IsWhole, char... Characters>
struct constant_is_a_whole_number {
    static constexpr bool holds = IsWhole;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: '_c' takes decimal or hexadecimal whole numbers; the characters are the arguments of "
            "constant_is_a_whole_number<false, characters...> in this diagnostic. Fix: write real numbers without it: "
            "'0.5'; negative ones as '-4_c' or 'int_<-4>{}'.");
        return holds;
    }
};

/// Constants of an expression, and what arithmetic makes of constants alone.
template <std::int64_t Value>
struct constant_is_within_two_to_the_30 {
    static constexpr bool holds = Value >= -largest_whole_number && Value <= largest_whole_number;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: a whole number in an expression, or what such numbers come to, is beyond +-2^30 = "
            "1073741824; it is the argument of constant_is_within_two_to_the_30<value> in this diagnostic. Kernels "
            "compute positions with 32 bits, so sums and differences with it would overflow. Fix: a smaller number, "
            "no sequence is as long; leave out a window that hides nothing; write a real number without '_c': "
            "'5000000000.0'.");
        return holds;
    }
};

// Inputs

/// An input needs its indices before it is a number.
template <class Input>
struct input_is_indexed {
    static constexpr bool holds = sizeof(Input) == 0;
    static constexpr bool check() {
        static_assert(holds,
                      "heed: an input is used without indices; it is the argument of input_is_indexed<input> in this "
                      "diagnostic. Fix: 'input<\"x\">()' for a single number, 'input<\"x\">[head]' for a vector, "
                      "'input<\"x\">(batch, head)' for more dimensions.");
        return holds;
    }
};

/// Indices are whole numbers.
template <class Input, int Dimension, class Index>
struct index_is_an_integer {
    static constexpr bool holds = Index::kind == value_kind::integer;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: the index of an input must be a whole number. Input, dimension (from 0) and index are the "
            "arguments of index_is_an_integer<input, dimension, index> in this diagnostic. Fix: index with head, "
            "batch, positions, constants such as '4_c', or an input declared as i32: 'input<\"table\", i32>'.");
        return holds;
    }
};

/// Elements of rows are numbered.
template <class Row, class Index>
struct row_index_is_an_integer {
    static constexpr bool holds = Index::kind == value_kind::integer;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: the index of an element of a row must be a whole number. Row and index are the arguments of "
            "row_index_is_an_integer<row, index> in this diagnostic. Fix: index with dim and constants, e.g. "
            "'query[(dim + 32) % 64]'.");
        return holds;
    }
};

/// The types of inputs.
template <class Type>
struct input_type_is_f32_or_i32 {
    static constexpr bool holds = requires { Type::heed_input_type; };
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: the type of an input must be f32 or i32, not a type of C++'s; it is the argument of "
            "input_type_is_f32_or_i32<type> in this diagnostic. Fix: 'input<\"x\">' or 'input<\"x\", f32>' for real "
            "numbers, 'input<\"x\", i32>' for whole numbers.");
        return holds;
    }
};

/// The name becomes an argument of the generated kernels.
template <class Input>
struct input_name_is_an_identifier {
    static constexpr bool holds = Input::name_is_an_identifier();
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: the name of an input becomes an argument of the kernels, so it must be a C++ identifier: letters, "
            "digits and single '_', a letter first, and no keyword. The input is the argument of "
            "input_name_is_an_identifier<input> in this diagnostic. Fix: rename it, e.g. 'input<\"relative_bias\">'.");
        return holds;
    }
};

/// Two uses of a name agree in type.
template <class First, class Second>
struct one_input_one_type {
    static constexpr bool holds = First::name() != Second::name() || First::kind == Second::kind;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: an input is used with two types, but it is one argument of the kernels. The two uses are "
            "the arguments of one_input_one_type<first, second> in this diagnostic. Fix: give both the same type, or "
            "two names.");
        return holds;
    }
};

/// Two uses of a name agree in rank.
template <class First, int FirstRank, class Second, int SecondRank>
struct one_input_one_rank {
    static constexpr bool holds = First::name() != Second::name() || FirstRank == SecondRank;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: an input is used with different numbers of indices, but it is one argument of the kernels. "
            "The two uses are the arguments of one_input_one_rank<first, rank, second, rank> in this diagnostic. Fix: "
            "index it the same way everywhere, or use two names.");
        return holds;
    }
};

// Keys

/// `variant(...)` takes settings of keys.
template <class Argument>
struct argument_is_a_key_with_a_value {
    static constexpr bool holds = requires { typename Argument::heed_key; };
    static constexpr bool check() {
        static_assert(holds,
                      "heed::variant: an argument is not of the form 'key = value'; it is the argument of "
                      "argument_is_a_key_with_a_value<argument> in this diagnostic. Fix: name what it is for, e.g. "
                      "'mask = causal', 'heads = 8_c'.");
        return holds;
    }
};

/// Keys that are not Heed's.
template <class Key, bool Known>
struct key_is_known {
    static constexpr bool holds = Known;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: unknown key; it is the first argument of key_is_known<key, false> in this diagnostic. The "
            "keys are heads, groups, head_dim, value_dim, mask, scale, score_mod, position, query_mod, key_mod, "
            "value_mod, output_mod, weights, weight_factor, sink_logit, align, query_start. Fix: use one of these.");
        return holds;
    }
};

/// heads and head_dim have no default.
template <class Key, bool Given>
struct key_is_given {
    static constexpr bool holds = Given;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: a required key is missing; it is the first argument of key_is_given<key, false> in this "
            "diagnostic. Fix: every variant needs 'heads' and 'head_dim', e.g. 'heads = 8_c, head_dim = 64_c'.");
        return holds;
    }
};

/// No key twice.
template <class Key, int Times>
struct key_is_given_once {
    static constexpr bool holds = Times <= 1;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: a key is given more than once; key and count are the arguments of "
            "key_is_given_once<key, times> in this diagnostic. Fix: keep one; masks combine with '&&' and '||', scores "
            "with ordinary arithmetic.");
        return holds;
    }
};

/// Sizes are part of the type.
template <class Key, class Value, bool IsConstant>
struct size_is_a_compile_time_constant {
    static constexpr bool holds = IsConstant;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: a size must be a compile-time constant, because kernels are compiled for it. Key and value "
            "are the arguments of size_is_a_compile_time_constant<key, value, false> in this diagnostic. Fix: append "
            "'_c' to the number ('8_c' instead of '8'), or write 'int_<N>{}'.");
        return holds;
    }
};

/// Sizes count something.
template <class Key, std::int64_t Value>
struct size_is_positive {
    static constexpr bool holds = Value > 0;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: a size must be at least 1; key and value are the arguments of size_is_positive<key, value> "
            "in this diagnostic. Fix: give a positive number.");
        return holds;
    }
};

/// Heads are dealt evenly to the groups.
template <std::int64_t Heads, std::int64_t Groups>
struct groups_divide_heads {
    static constexpr bool holds = Heads % Groups == 0;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'heads' must be a multiple of 'groups': every group of query heads shares one key/value "
            "head. The two numbers are the arguments of groups_divide_heads<heads, groups> in this diagnostic. Fix: "
            "change 'groups' to a divisor of 'heads', or leave it out for plain multi-head attention.");
        return holds;
    }
};

/// `scale` multiplies every score.
template <class Value, bool IsNumber>
struct scale_is_a_number {
    static constexpr bool holds = IsNumber;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'scale' must be a plain number; its type is the first argument of scale_is_a_number<type, "
            "false> in this diagnostic. Fix: e.g. 'scale = 0.125'; a scale that depends on head or position belongs "
            "into 'score_mod', e.g. 'score_mod = score * input<\"head_scale\">[head]'.");
        return holds;
    }
};

// Rules for numbers that are values, which no static_assert sees. `require` is called with the text of the rule;
// compilers print both that call and the rule's own where a constant expression comes to the function within it, which
// is not constexpr on purpose. The texts are without quotes because g++ prints those with backslashes.

[[noreturn]] inline void the_text_stands_in_the_call_of_require() { std::abort(); }

/// Does not compile where `holds` is false.
constexpr void require(bool holds, const char * /*what_why_and_fix*/) {
    if (!holds) the_text_stands_in_the_call_of_require();
}

/// Kernels take `scale` as a 32-bit float.
constexpr void scale_must_be_a_finite_number(bool holds) {
    require(holds,
            "heed::variant: scale is infinite, not a number, or beyond the largest 32-bit float. Fix: give a finite "
            "number, as in scale = 0.125.");
}

/// `1 / 8` is a division of C++'s integers.
constexpr void scale_must_not_be_zero(bool holds) {
    require(holds,
            "heed::variant: scale is 0 as a 32-bit float, so all scores would be the same. A quotient of whole "
            "numbers, 1 / 8, is 0 in C++. Fix: write scale = 1.0 / 8, or 0.125.");
}

/// `rope` turns an even number of dims, at most head_dim.
template <std::int64_t HeadDim>
constexpr void rope_turns_pairs_within_head_dim(std::int64_t dims) {
    require(dims >= 2 && dims <= HeadDim && dims % 2 == 0,
            "heed::rope: rotary positions turn pairs of elements, so the number of dims that turn, by default "
            "head_dim, must be even, at least 2 and at most head_dim, which is the argument of "
            "rope_turns_pairs_within_head_dim<head_dim> in this diagnostic. Fix: an even head_dim, or give the number "
            "that turns: rope{.dims = 62} for head_dim = 63_c.");
}

/// Frequencies are powers of theta.
constexpr void rope_theta_must_be_positive(double theta) {
    require(theta > 0 && theta < 1e300,
            "heed::rope: theta must be a finite number above 0, because the frequencies are powers of it. Fix: give "
            "the model's, as in rope{.theta = 500000.0}, or leave it out for 10000.");
}

/// Factors and lengths of a scaling of `rope` are above 0, the ends of its ramp in order.
constexpr void rope_scaling_must_be_positive(bool holds) {
    require(holds,
            "heed::rope: the scaling has a factor or length that is not a finite number above 0, or the ends of its "
            "ramp are in the wrong order. Fix: yarn_scaling(factor, original_length) with factor and original_length "
            "above 0 and beta_fast above beta_slow; llama3_scaling with high_frequency above low_frequency.");
}

/// Whole numbers of an expression that are C++ numbers.
constexpr void whole_number_is_within_two_to_the_30(std::int64_t number) {
    require(number >= -largest_whole_number && number <= largest_whole_number,
            "heed::variant: a whole number in an expression is beyond +-2^30 = 1073741824. Kernels compute positions "
            "with 32 bits, so sums and differences with it would overflow. Fix: a smaller number, no sequence is as "
            "long; leave out a window that hides nothing; write a real number with a point, 5e9 or 5000000000.0.");
}

/// A rate of 1 would divide by 0.
constexpr void dropout_rate_must_be_below_one(double rate) {
    require(rate >= 0 && rate < 1,
            "heed::dropout: the rate must be at least 0 and below 1: it is the part of the weights that become 0, and "
            "the others are divided by 1 - rate. Fix: give a part, dropout(0.1, ...), not per cent.");
}

/// The seed of `dropout` is a word of the generator's key.
template <class Seed>
struct dropout_seed_is_a_whole_number {
    static constexpr bool holds = Seed::kind == value_kind::integer;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::dropout: the seed must be a whole number; it is the argument of "
            "dropout_seed_is_a_whole_number<seed> in this diagnostic. Fix: 'dropout(0.1, input<\"seed\", i32>())' for "
            "one that changes from call to call, inputs are real numbers unless declared i32; 'dropout(0.1, 42_c)' "
            "for a fixed one.");
        return holds;
    }
};

/// `mask` is true where a query attends to a key.
template <class Mask>
struct mask_is_a_condition {
    static constexpr bool holds = Mask::kind == value_kind::boolean;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'mask' must be a condition (true = attend), but this expression yields a number; it is the "
            "argument of mask_is_a_condition<mask> in this diagnostic. Fix: compare it with something, e.g. "
            "'q_pos - kv_pos < 128_c'; to change scores use 'score_mod'.");
        return holds;
    }
};

/// Tiles are skipped before any score is known.
template <class Mask, bool UsesScore>
struct mask_does_not_use_score {
    static constexpr bool holds = !UsesScore;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'mask' uses 'score', but a mask decides which scores are computed at all. The mask is the "
            "first argument of mask_does_not_use_score<mask, true> in this diagnostic. Fix: decide by positions, "
            "head, batch and inputs; to change scores by their value use 'score_mod'.");
        return holds;
    }
};

/// `score_mod` replaces the score.
template <class Score>
struct score_mod_is_a_number {
    static constexpr bool holds = detail::is_number(Score::kind);
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'score_mod' must be a number, the new score, but this expression is a condition; it is the "
            "argument of score_mod_is_a_number<score_mod> in this diagnostic. Fix: use 'mask' to hide keys, "
            "'select(condition, a, b)' to choose between scores.");
        return holds;
    }
};

/// `sink_logit` is one term of the softmax's denominator.
template <class Logit>
struct sink_logit_is_a_number {
    static constexpr bool holds = detail::is_number(Logit::kind);
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'sink_logit' must be a number, but this expression is a condition; it is the argument of "
            "sink_logit_is_a_number<sink_logit> in this diagnostic. Fix: e.g. 'sink_logit = input<\"sinks\">[head]'.");
        return holds;
    }
};

/// One sink per row of scores.
template <class Logit, bool UsesPair>
struct sink_logit_does_not_depend_on_keys_or_queries {
    static constexpr bool holds = !UsesPair;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'sink_logit' uses score, q_pos or kv_pos, but it is one term added to the softmax's "
            "denominator, the same for all queries and keys of a head. It is the first argument of "
            "sink_logit_does_not_depend_on_keys_or_queries<sink_logit, true> in this diagnostic. Fix: use head, batch, "
            "lengths and inputs indexed by them.");
        return holds;
    }
};

/// `query_start` is a position.
template <class Start>
struct query_start_is_an_integer {
    static constexpr bool holds = Start::kind == value_kind::integer;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'query_start' must be a whole number, the position of the first query; it is the argument "
            "of query_start_is_an_integer<query_start> in this diagnostic. Fix: e.g. 'query_start = input<\"start\", "
            "i32>[batch]'; inputs are real numbers unless declared i32.");
        return holds;
    }
};

/// Positions of queries are the same for all heads.
template <class Start, bool UsesPair>
struct query_start_depends_on_batch_only {
    static constexpr bool holds = !UsesPair;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'query_start' uses score, q_pos, kv_pos or head, but it is the position from which the "
            "queries of a batch element are counted. It is the first argument of "
            "query_start_depends_on_batch_only<query_start, true> in this diagnostic. Fix: use batch, q_len, kv_len "
            "and inputs indexed by batch.");
        return holds;
    }
};

/// Two ways of saying where queries start.
template <bool AlignGiven, bool QueryStartGiven>
struct align_or_query_start {
    static constexpr bool holds = !AlignGiven || !QueryStartGiven;
    static constexpr bool check() {
        static_assert(holds,
                      "heed::variant: 'align' and 'query_start' are both given, but both say where the queries start "
                      "(align_or_query_start<true, true> in this diagnostic). Fix: keep one; 'align = top_left' is "
                      "'query_start = "
                      "0_c', 'align = bottom_right' is 'query_start = kv_len - q_len'.");
        return holds;
    }
};

/// The two alignments.
template <class Value, bool Known>
struct align_is_top_left_or_bottom_right {
    static constexpr bool holds = Known;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'align' must be top_left or bottom_right; the type given is the first argument of "
            "align_is_top_left_or_bottom_right<type, false> in this diagnostic. Fix: use one of these, or "
            "'query_start' "
            "for any other start.");
        return holds;
    }
};

/// Values of mask, score_mod, sink_logit and query_start.
template <class Key, class Value, bool IsOperand>
struct value_is_an_expression {
    static constexpr bool holds = IsOperand;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: the value of this key must be an expression. Key and type of the value are the arguments "
            "of "
            "value_is_an_expression<key, type, false> in this diagnostic. Fix: build it from score, q_pos, kv_pos, "
            "head, batch, q_len, kv_len, input<\"...\"> and numbers.");
        return holds;
    }
};

/// Every key has its terminals.
template <class Key, class Terminal, bool Allowed>
struct key_may_use_the_terminal {
    static constexpr bool holds = Allowed;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: the expression of a key uses a terminal that has no value there. Key and terminal are the "
            "first arguments of key_may_use_the_terminal<key, terminal, false> in this diagnostic. Fix: 'query', "
            "'key', "
            "'value' and 'output' belong to query_mod, key_mod, value_mod and output_mod, 'dim' to all four, 'score' "
            "to "
            "score_mod and weights; keys and values are shared by the heads of a group, so key_mod and value_mod know "
            "'group' and 'kv_pos' but not 'head' or 'q_pos'.");
        return holds;
    }
};

/// Only modifications of rows know the row that a mean is over.
template <class Key, class E, bool TakesARow>
struct mean_is_over_a_row {
    static constexpr bool holds = !TakesARow;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: 'mean_over_dims', or 'tabulate', stands where there is no row: it goes over the elements "
            "of a query, key, value or result as that is loaded or stored. Key and expression are the first arguments "
            "of mean_is_over_a_row<key, expression, true> in this diagnostic. Fix: use it in query_mod, key_mod, "
            "value_mod or output_mod, e.g. 'query_mod = query / sqrt(mean_over_dims(query * query))'; elsewhere pass "
            "the number as an input, 'input<\"mean\">(head, q_row)'.");
        return holds;
    }
};

/// Values of all keys but mask.
template <class Key, class E>
struct value_is_a_number {
    static constexpr bool holds = detail::is_number(E::kind);
    static constexpr bool check() {
        static_assert(holds,
                      "heed::variant: the value of this key must be a number, but the expression is a condition. Key "
                      "and expression are the arguments of value_is_a_number<key, expression> in this diagnostic. Fix: "
                      "'select(condition, a, b)' chooses between numbers.");
        return holds;
    }
};

/// Keys that change something are given an expression of it.
template <class Key, class Changed, class E, bool Uses>
struct expression_uses_what_it_changes {
    static constexpr bool holds = Uses;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: the expression of a key replaces what it does not use, which would then have no effect: "
            "without 'score' in 'score_mod' or 'weights' queries and keys are ignored. Key, what it replaces, and the "
            "expression are the first arguments of expression_uses_what_it_changes<key, changed, expression, false> "
            "in this diagnostic. Fix: add to it or multiply it, e.g. 'score_mod = score + alibi_bias(12_c)', "
            "'key_mod = key * input<\"gain\">[dim]'; if it shall not count, say so: 'score * 0.0 + ...'.");
        return holds;
    }
};

/// Positions that are added to tokens.
template <class Value, bool IsAbsolute>
struct absolute_positions_belong_to_tokens {
    static constexpr bool holds = !IsAbsolute;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: learned and sinusoidal absolute positions are no part of attention: they are added to the "
            "tokens before queries, keys and values are projected (Vaswani et al. 2017, section 3.5), see "
            "absolute_positions_belong_to_tokens in this diagnostic. Fix: leave 'position' out and add the table to "
            "the tokens by heed::add_learned_positions or add_sinusoidal_positions of heed/token_positions.hpp; or use "
            "'position = rope{...}', 'score_mod = alibi(...)' or a relative bias.");
        return holds;
    }
};

/// What `position` takes.
template <class Value, bool IsScheme>
struct position_is_a_scheme {
    static constexpr bool holds = IsScheme;
    static constexpr bool check() {
        static_assert(holds,
                      "heed::variant: 'position' must be a scheme that turns queries and keys; the type given is the "
                      "first argument of position_is_a_scheme<type, false> in this diagnostic. Fix: 'position = "
                      "rope{10'000.0}' or 'position = rope_angles(input<\"angles\">)'; ALiBi and relative biases "
                      "change scores: 'score_mod = alibi(heads)'.");
        return holds;
    }
};

/// A sink is a term of the softmax's denominator.
template <bool WeightsAreFree, bool SinkGiven>
struct sink_logit_belongs_to_softmax {
    static constexpr bool holds = !WeightsAreFree || !SinkGiven;
    static constexpr bool check() {
        static_assert(holds,
                      "heed::variant: 'sink_logit' is a term of the softmax's denominator, but 'weights' is a formula "
                      "that is not divided by anything (sink_logit_belongs_to_softmax<true, true> in this diagnostic). "
                      "Fix: leave out one of the two.");
        return holds;
    }
};

/// softmax1 is softmax with a sink.
template <bool AddsOne, bool SinkGiven>
struct softmax1_is_a_sink_logit_of_zero {
    static constexpr bool holds = !AddsOne || !SinkGiven;
    static constexpr bool check() {
        static_assert(holds,
                      "heed::variant: 'weights = softmax1' is 'sink_logit = 0.0', and 'sink_logit' is given too "
                      "(softmax1_is_a_sink_logit_of_zero<true, true> in this diagnostic). Fix: keep one.");
        return holds;
    }
};

// Readings

/// An operator lacks its rule for a reading.
template <class Operator, class Reading, bool HasRule>
struct operator_has_a_rule_for_the_reading {
    static constexpr bool holds = HasRule;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: an operator has no rule for this reading. Operator and reading are the arguments of "
            "operator_has_a_rule_for_the_reading<operator, reading, false> in this diagnostic. Fix: add the static "
            "member function that the reading asks for to the operator's struct, see heed/evaluate.hpp.");
        return holds;
    }
};

/// An environment lacks a terminal.
template <class Environment, class Terminal, bool Gives>
struct environment_gives_a_value {
    static constexpr bool holds = Gives;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: an environment has no value for a terminal of the expression. The two are the arguments of "
            "environment_gives_a_value<environment, terminal, false> in this diagnostic. Fix: add 'auto "
            "operator()(terminal) const' to the environment, or do not use the terminal here.");
        return holds;
    }
};

/// An environment cannot look inputs up.
template <class Environment, class Input, bool Looks>
struct environment_looks_up_inputs {
    static constexpr bool holds = Looks;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: the expression reads an input, but the environment cannot look it up. The two are the arguments of "
            "environment_looks_up_inputs<environment, input, false> in this diagnostic. Fix: give 'attends' or "
            "'modified_score' a function (input, indices...) as its last argument; in an environment of your own "
            "write 'lookup(input, indices...)'.");
        return holds;
    }
};

/// ALiBi's slopes depend on the number of heads.
template <class Heads, bool IsConstant>
struct alibi_takes_the_number_of_heads {
    static constexpr bool holds = IsConstant;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::alibi: the number of heads must be a positive compile-time constant; its type is the first argument "
            "of alibi_takes_the_number_of_heads<heads, false> in this diagnostic. Fix: append '_c': 'alibi(12_c)'.");
        return holds;
    }
};

/// Some formulas, such as ALiBi's slopes, depend on the number of heads.
template <std::int64_t FormulaHeads, std::int64_t Heads>
struct formula_is_for_the_heads {
    static constexpr bool holds = FormulaHeads == Heads;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::variant: a formula was made for another number of heads than 'heads': its slopes would be "
            "wrong. The two numbers are the arguments of formula_is_for_the_heads<of the formula, heads> in "
            "this diagnostic. Fix: give alibi, alibi_bias or alibi_slope the variant's number of query heads.");
        return holds;
    }
};

/// `score + alibi(12_c)` would hold the score twice.
template <class A, class B, bool AddsBiasOnly>
struct alibi_is_the_whole_score {
    static constexpr bool holds = AddsBiasOnly;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: 'alibi(heads)' is the whole score, so adding it to an expression of 'score' counts the score twice. "
            "The two terms are the first arguments of alibi_is_the_whole_score<a, b, false> in this diagnostic. Fix: "
            "'score_mod = alibi(12_c)', or add the bias alone: 'softcap(score, 30.0) + alibi_bias(12_c)'.");
        return holds;
    }
};

// Words for masks and biases

/// Widths, strides and counts that are known while compiling.
template <std::int64_t Value>
struct size_of_a_mask_is_positive {
    static constexpr bool holds = Value > 0;
    static constexpr bool check() {
        static_assert(holds,
                      "heed: a length, width, stride or count of this mask must be at least 1; it is the argument of "
                      "size_of_a_mask_is_positive<value> in this diagnostic. Fix: give a positive number, or leave the "
                      "mask out.");
        return holds;
    }
};

/// Words that choose the indices of a table take the table without them.
template <class Table, bool IsInput>
struct table_is_an_input_without_indices {
    static constexpr bool holds = IsInput;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: this word reads a table and chooses its indices, so it takes an input without indices; what it was "
            "given is the first argument of table_is_an_input_without_indices<type, false> in this diagnostic. Fix: "
            "e.g. 'same(input<\"document\", i32>)', without '[batch]' or '(batch, kv_pos)'.");
        return holds;
    }
};

/// One condition for each slot.
template <class Slots, bool IsConstant>
struct number_of_slots_is_a_constant {
    static constexpr bool holds = IsConstant;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed::random_blocks: the number of slots must be a compile-time constant, because each slot is a "
            "condition "
            "of its own; its type is the first argument of number_of_slots_is_a_constant<slots, false> in this "
            "diagnostic. Fix: append '_c': 'random_blocks(64_c, 3_c, input<\"blocks\", i32>)'.");
        return holds;
    }
};

/// A window that is shifted inwards has to fit.
template <std::int64_t Length, std::int64_t Radius>
struct shifted_window_fits {
    static constexpr bool holds = Radius >= 0 && 2 * Radius + 1 <= Length;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: a window of 2 radius + 1 does not fit into the length, so it cannot be shifted inwards at both "
            "ends. "
            "The two numbers are the arguments of shifted_window_fits<length, radius> in this diagnostic. Fix: a "
            "smaller radius, or 'neighbourhood', 'neighbourhood_2d' or 'neighbourhood_3d', which cut windows off.");
        return holds;
    }
};

/// Which distances share a bucket is decided while compiling.
template <class Buckets, class MaxDistance, bool AreConstants>
struct t5_bucket_takes_constants {
    static constexpr bool holds = AreConstants;
    static constexpr bool check() {
        static_assert(holds,
                      "heed: the number of buckets and the greatest distance must be compile-time constants, because "
                      "the bounds of "
                      "the buckets are computed while compiling. Their types are the first arguments of "
                      "t5_bucket_takes_constants<buckets, max_distance, false> in this diagnostic. Fix: append '_c': "
                      "'t5_causal_bucket(32_c, 128_c)'.");
        return holds;
    }
};

/// A part of the buckets holds one distance each, the rest share what is left up to the greatest distance.
template <std::int64_t Buckets, std::int64_t MaxDistance, std::int64_t Parts>
struct t5_buckets_can_be_spaced {
    static constexpr bool holds = Buckets >= Parts && Buckets % (Parts / 2) == 0 &&
                                  MaxDistance > Buckets / Parts &&MaxDistance <= largest_whole_number;
    static constexpr bool check() {
        static_assert(
            holds,
            "heed: these buckets cannot be spaced: 1 / parts of them hold one distance each, which must be one bucket "
            "at "
            "least and end before the greatest distance. The numbers are the arguments of "
            "t5_buckets_can_be_spaced<buckets, max_distance, parts> in this diagnostic. Fix: at least 2 buckets for "
            "t5_causal_bucket, an even number of at least 4 for t5_bidirectional_bucket, and a max_distance greater "
            "than buckets / parts, at most 2^30; T5 has 32_c and 128_c.");
        return holds;
    }
};

}  // namespace heed::rule
