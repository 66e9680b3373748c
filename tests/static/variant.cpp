// SPDX-License-Identifier: MIT
//
// Building this file is the test: what a variant says about itself, given and by default.
#include <heed/heed.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>

using namespace heed;

namespace {

template <class Expected, class E>
constexpr bool is_tree(const E &) {
    return std::same_as<E, Expected>;
}

constexpr auto plain = variant(heads = 8_c, head_dim = 64_c);
static_assert(plain.heads == 8 && plain.groups == 8 && plain.head_dim == 64 && plain.value_dim == 64);
static_assert(plain.scale() == 0.125);
static_assert(is_tree<literal<bool>>(plain.mask()) && plain.mask().value);
static_assert(is_tree<score_>(plain.score_mod()));
static_assert(!plain.has_sink && plain.inputs.empty());
static_assert(is_tree<node<op::minus, kv_len_, q_len_>>(plain.query_start()));

constexpr auto full = variant(mask = causal && padded, value_dim = 128_c, heads = 32_c, head_dim = 192_c, groups = 4_c,
                              scale = 1, score_mod = softcap(score + input<"bias">(head, q_pos, kv_pos), 50),
                              sink_logit = input<"sinks">[head] * input<"kv_len", i32>[batch],
                              query_start = input<"start", i32>[batch] + 1);
using full_type = std::remove_cvref_t<decltype(full)>;
static_assert(full_type::heads == 32 && full_type::groups == 4 && full_type::head_dim == 192 &&
              full_type::value_dim == 128);
static_assert(full.scale() == 1.0);
static_assert(
    is_tree<node<op::logical_and, std::remove_cvref_t<decltype(causal)>, std::remove_cvref_t<decltype(padded)>>>(
        full.mask()));
static_assert(full_type::has_sink && full.sink_logit().kind == value_kind::real);

// Inputs once each, in order of first use over mask, score_mod, sink_logit, query_start.
static_assert(full_type::inputs.size() == 4 && full_type::lookups::size == 5);
static_assert(full_type::inputs[0].name == "kv_len" && full_type::inputs[0].type == input_type::i32 &&
              full_type::inputs[0].rank == 1);
static_assert(full_type::inputs[1].name == "bias" && full_type::inputs[1].type == input_type::f32 &&
              full_type::inputs[1].rank == 3);
static_assert(full_type::inputs[2].name == "sinks" && full_type::inputs[3].name == "start");

// An input within the index of another comes after it.
constexpr auto nested =
    variant(heads = 2_c, head_dim = 8_c, mask = input<"visible", i32>[input<"block", i32>[q_pos]] > 0);
static_assert(nested.inputs.size() == 2 && nested.inputs[0].name == "visible" && nested.inputs[1].name == "block");

// The values of index expressions are reachable, C++ numbers included.
constexpr std::int64_t index_of_first_lookup(const auto &declared) {
    std::int64_t found = -1;
    declared.for_each_lookup([&](const auto &lookup, std::int64_t) {
        hana::unpack(lookup.indices, [&](const auto &...index) {
            ((found = evaluate(index, environment_of({.q = 7, .kv = 3, .head = 1}))), ...);
        });
    });
    return found;
}
static_assert(index_of_first_lookup(variant(heads = 2_c, head_dim = 8_c,
                                            score_mod = score * input<"x">[q_pos - kv_pos + 5])) == 9);

// Whole scores become real ones.
static_assert(variant(heads = 2_c, head_dim = 8_c, sink_logit = head).sink_logit().kind == value_kind::real);
static_assert(variant(heads = 2_c, head_dim = 8_c, sink_logit = 0).sink_logit().value == 0.0);

static_assert(is_tree<int_<0>>(variant(heads = 1_c, head_dim = 1_c, align = top_left).query_start()));
static_assert(is_tree<node<op::minus, kv_len_, q_len_>>(
    variant(heads = 1_c, head_dim = 1_c, align = bottom_right).query_start()));

// Default scale: 1 / sqrt(head_dim), correctly rounded.
template <std::int64_t HeadDim>
constexpr double default_scale = variant(heads = 1_c, head_dim = int_<HeadDim>{}).scale();
static_assert(default_scale<1> == 1.0 && default_scale<4> == 0.5 && default_scale<16> == 0.25 &&
              default_scale<256> == 0.0625);
static_assert(default_scale<128> == 0.08838834764831845 && default_scale<32> == 0.1767766952966369);
static_assert(default_scale<80> == 0.11180339887498948 && default_scale<2> == 0.7071067811865476);

// Inputs of modifications, positions and weights come after the others.
constexpr auto all_hooks = variant(
    heads = 2_c, head_dim = 8_c, output_mod = output * input<"g">(head, dim), value_mod = value * input<"f">[dim],
    key_mod = key * input<"e">[kv_pos], query_mod = query * input<"d">[q_row], position = rope_angles(input<"angles">),
    weight_factor = input<"c">[kv_pos], weights = score * input<"b">(), mask = input<"a", i32>[kv_pos] > 0);
using all_hooks_type = std::remove_cvref_t<decltype(all_hooks)>;
static_assert(all_hooks_type::inputs.size() == 8);
static_assert(all_hooks_type::inputs[0].name == "a" && all_hooks_type::inputs[1].name == "b" &&
              all_hooks_type::inputs[2].name == "c" && all_hooks_type::inputs[3].name == "d" &&
              all_hooks_type::inputs[4].name == "angles" && all_hooks_type::inputs[5].name == "e" &&
              all_hooks_type::inputs[6].name == "f" && all_hooks_type::inputs[7].name == "g");
static_assert(!all_hooks_type::is_softmax && plain.is_softmax);

// softmax1 is a sink with a logit of 0.
constexpr auto off_by_one = variant(heads = 2_c, head_dim = 8_c, weights = softmax1);
static_assert(off_by_one.is_softmax && off_by_one.has_sink && off_by_one.sink_logit().value == 0.0);
static_assert(!variant(heads = 2_c, head_dim = 8_c, weights = softmax).has_sink);

// A variant is a constant and a template argument.
template <const auto &Variant>
struct kernel {
    static constexpr auto head_dim = Variant.head_dim;
    static constexpr auto mask = Variant.mask();
};
static_assert(kernel<full>::head_dim == 192);
static_assert(std::same_as<decltype(kernel<full>::mask), const decltype(full.mask())>);

}  // namespace
