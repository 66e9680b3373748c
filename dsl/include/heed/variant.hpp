// SPDX-License-Identifier: MIT
//
// A variant of attention: settings of keys, checked here once and for all, with defaults for those not given. The
// result is one constexpr object that the generators and the readings ask for its parts.
#pragma once

#include <heed/arithmetic.hpp>
#include <heed/detail/constexpr_math.hpp>
#include <heed/expression.hpp>
#include <heed/positions.hpp>
#include <heed/rules.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace heed {

/// The value given to a key.
template <class Key, class Value>
struct setting {
    using heed_key = Key;
    Value value;
};

/// A name that `variant` takes a value for.
template <class Name>
struct variant_key {
    template <class Value>
    constexpr auto operator=(Value value) const {
        return setting<Name, Value>{value};
    }
};

// clang-format off
struct heads_ : variant_key<heads_> { using variant_key::operator=; };
struct groups_ : variant_key<groups_> { using variant_key::operator=; };
struct head_dim_ : variant_key<head_dim_> { using variant_key::operator=; };
struct value_dim_ : variant_key<value_dim_> { using variant_key::operator=; };
struct scale_ : variant_key<scale_> { using variant_key::operator=; };
struct mask_ : variant_key<mask_> { using variant_key::operator=; };
struct score_mod_ : variant_key<score_mod_> { using variant_key::operator=; };
struct sink_logit_ : variant_key<sink_logit_> { using variant_key::operator=; };
struct align_ : variant_key<align_> { using variant_key::operator=; };
struct query_start_ : variant_key<query_start_> { using variant_key::operator=; };
struct position_ : variant_key<position_> { using variant_key::operator=; };
struct query_mod_ : variant_key<query_mod_> { using variant_key::operator=; };
struct key_mod_ : variant_key<key_mod_> { using variant_key::operator=; };
struct value_mod_ : variant_key<value_mod_> { using variant_key::operator=; };
struct output_mod_ : variant_key<output_mod_> { using variant_key::operator=; };
struct weights_ : variant_key<weights_> { using variant_key::operator=; };
struct weight_factor_ : variant_key<weight_factor_> { using variant_key::operator=; };
struct softmax_ {};
struct softmax1_ {};
struct top_left_ {};
struct bottom_right_ {};
// clang-format on

/// Number of query heads, a constant such as `32_c`. Required.
inline constexpr heads_ heads{};
/// Number of key/value heads; query head h uses group h / (heads / groups). Default: heads.
inline constexpr groups_ groups{};
/// Length of queries and keys. Required.
inline constexpr head_dim_ head_dim{};
/// Length of values and outputs. Default: head_dim.
inline constexpr value_dim_ value_dim{};
/// Factor of <query, key>, a plain number. Default: 1 / sqrt(head_dim).
inline constexpr scale_ scale{};
/// Condition under which a query attends to a key; `kv_pos < kv_len` always holds besides. Default: true.
inline constexpr mask_ mask{};
/// The score that enters the softmax, an expression of `score`. Default: score.
inline constexpr score_mod_ score_mod{};
/// A logit that only the softmax's denominator sees, once per row, not scaled. Default: none.
inline constexpr sink_logit_ sink_logit{};
/// Which corner of queries x keys is aligned: `top_left` (query_start = 0) or `bottom_right`, the default.
inline constexpr align_ align{};
inline constexpr top_left_ top_left{};
inline constexpr bottom_right_ bottom_right{};
/// Position of the first query, a whole number. Default: kv_len - q_len.
inline constexpr query_start_ query_start{};

/// Positions put into queries and keys as they are loaded, after `query_mod` and `key_mod`: `rope{...}`. Default: none.
inline constexpr position_ position{};
/// A query's element as it enters the product with keys, an expression of `query` and `dim`. Default: query.
inline constexpr query_mod_ query_mod{};
/// A key's element as it enters the product with queries, an expression of `key` and `dim`. Default: key.
inline constexpr key_mod_ key_mod{};
/// A value's element as it is weighed, an expression of `value` and `dim`. Default: value.
inline constexpr value_mod_ value_mod{};
/// A result's element as it is stored, an expression of `output` and `dim`: a gate. Default: output.
inline constexpr output_mod_ output_mod{};
/// How scores become weights: `softmax`, `softmax1`, or an expression of `score` that is not normalised, as `sigmoid`
/// and `relu_squared` are. Default: softmax.
inline constexpr weights_ weights{};
/// Factor of each weight, which the softmax's denominator does not see: `dropout(...)`. Default: 1.
inline constexpr weight_factor_ weight_factor{};
/// exp(score), divided by the sum over all visible keys.
inline constexpr softmax_ softmax{};
/// The same with 1 added to the sum, so that a row may attend to nothing (Miller 2023, "Attention is off by one").
inline constexpr softmax1_ softmax1{};

/// One input of a variant.
struct input_info {
    std::string_view name;
    input_type type;
    int rank;
};

namespace detail {

template <class... Settings>
struct settings : Settings... {};

template <class Key, class... Settings>
inline constexpr int times_given = (0 + ... + int{std::same_as<Key, typename Settings::heed_key>});

template <class Key, class... Settings>
inline constexpr bool is_given = (std::same_as<Key, typename Settings::heed_key> || ...);

template <class Key, class Value>
constexpr Value get(const setting<Key, Value> &given) {
    return given.value;
}

template <class Key, class Default, class... Settings>
constexpr auto get_or(const settings<Settings...> &given, const Default &otherwise) {
    if constexpr (!is_given<Key, Settings...>) {
        return otherwise;
    } else {
        return get<Key>(given);
    }
}

template <class Key, class... Keys>
inline constexpr bool is_one_of = (std::same_as<Key, Keys> || ...);

template <class Key>
inline constexpr bool is_size = is_one_of<Key, heads_, groups_, head_dim_, value_dim_>;

/// Keys whose values are expressions that are numbers, and the terminals that these may use besides batch, q_len and
/// kv_len.
template <class Key>
struct terminals_of {
    using type = void;
};
// clang-format off
template <> struct terminals_of<mask_> { using type = type_list<q_pos_, kv_pos_, q_row_, head_>; };
template <> struct terminals_of<score_mod_> { using type = type_list<score_, q_pos_, kv_pos_, q_row_, head_>; };
template <> struct terminals_of<sink_logit_> { using type = type_list<head_>; };
template <> struct terminals_of<query_start_> { using type = type_list<>; };
template <> struct terminals_of<weights_> { using type = type_list<score_, q_pos_, kv_pos_, q_row_, head_>; };
template <> struct terminals_of<weight_factor_> { using type = type_list<q_pos_, kv_pos_, q_row_, head_>; };
template <> struct terminals_of<query_mod_> { using type = type_list<query_, dim_, q_pos_, q_row_, head_>; };
template <> struct terminals_of<key_mod_> { using type = type_list<key_, dim_, kv_pos_, group_>; };
template <> struct terminals_of<value_mod_> { using type = type_list<value_, dim_, kv_pos_, group_>; };
template <> struct terminals_of<output_mod_> { using type = type_list<output_, dim_, q_pos_, q_row_, head_>; };
// clang-format on

/// What the expression of a key takes the place of, which it therefore has to use.
template <class Key>
struct changed_by {
    using type = void;
};
// clang-format off
template <> struct changed_by<score_mod_> { using type = score_; };
template <> struct changed_by<weights_> { using type = score_; };
template <> struct changed_by<query_mod_> { using type = query_; };
template <> struct changed_by<key_mod_> { using type = key_; };
template <> struct changed_by<value_mod_> { using type = value_; };
template <> struct changed_by<output_mod_> { using type = output_; };
// clang-format on

/// Keys whose expressions modify the elements of a row.
template <class Key>
inline constexpr bool is_row_key = is_one_of<Key, query_mod_, key_mod_, value_mod_, output_mod_>;

template <class Key>
inline constexpr bool is_expression_key = !std::same_as<typename terminals_of<Key>::type, void>;

template <class Key>
inline constexpr bool is_known_key =
    is_size<Key> || is_expression_key<Key> || is_one_of<Key, scale_, align_, position_>;

template <class Key, class E, class... Allowed>
constexpr bool uses_only(type_list<Allowed...>) {
    return []<class... All>(type_list<All...>) {
        return (... && rule::key_may_use_the_terminal < Key, All, !uses<E, All> || is_one_of < All,
                Allowed... >> ::check());
    }(type_list<score_, q_pos_, kv_pos_, q_row_, head_, group_, dim_, query_, key_, value_, output_>{});
}

template <class First, class... Rest>
constexpr bool agree_with(type_list<First>, type_list<Rest...>) {
    return (... && rule::one_input_one_type<typename First::input, typename Rest::input>::check()) &&
           (... &&
            rule::one_input_one_rank<typename First::input, First::rank, typename Rest::input, Rest::rank>::check());
}

constexpr bool inputs_agree(type_list<>) { return true; }

template <class First, class... Rest>
constexpr bool inputs_agree(type_list<First, Rest...>) {
    return agree_with(type_list<First>{}, type_list<Rest...>{}) && inputs_agree(type_list<Rest...>{});
}

template <class... Lookups>
constexpr auto all_inputs(type_list<Lookups...>) {
    return std::array<input_info, sizeof...(Lookups)>{
        input_info{Lookups::input::name(), Lookups::input::type::heed_input_type, Lookups::rank}...};
}

template <std::size_t Size>
constexpr bool seen_before(const std::array<input_info, Size> &uses, std::size_t index) {
    for (std::size_t i = 0; i < index; ++i) {
        if (uses[i].name == uses[index].name) {
            return true;
        }
    }
    return false;
}

template <class Lookups>
constexpr auto distinct_inputs() {
    constexpr auto all = all_inputs(Lookups{});
    constexpr std::size_t count = [&] {
        std::size_t n = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            n += seen_before(all, i) ? 0 : 1;
        }
        return n;
    }();
    std::array<input_info, count> distinct{};
    for (std::size_t i = 0, n = 0; i < all.size(); ++i) {
        if (!seen_before(all, i)) {
            distinct[n++] = all[i];
        }
    }
    return distinct;
}

// The parts of a variant, from the settings given.

template <class Key, std::int64_t Default, class... Settings>
constexpr std::int64_t size_of(const settings<Settings...> *) {
    return decltype(get_or<Key>(std::declval<const settings<Settings...> &>(), int_<Default>{}))::value;
}

template <class... Settings>
constexpr auto mask_of(const settings<Settings...> &given) {
    return as_expression(get_or<mask_>(given, true));
}

template <class... Settings>
constexpr auto score_mod_of(const settings<Settings...> &given) {
    return to_real(as_expression(get_or<score_mod_>(given, score)));
}

template <class... Settings>
constexpr auto sink_logit_of(const settings<Settings...> &given) {
    return to_real(as_expression(get_or<sink_logit_>(given, 0.0)));
}

template <class... Settings>
constexpr auto query_start_of(const settings<Settings...> &given) {
    if constexpr (is_given<query_start_, Settings...>) {
        return as_expression(get<query_start_>(given));
    } else if constexpr ((std::same_as<Settings, setting<align_, top_left_>> || ...)) {
        return 0_c;
    } else {
        return kv_len - q_len;
    }
}

template <class... Settings>
constexpr auto weight_factor_of(const settings<Settings...> &given) {
    return to_real(as_expression(get_or<weight_factor_>(given, 1.0)));
}

/// True if weights are an expression instead of a softmax.
template <class... Settings>
inline constexpr bool weights_are_free =
    (... || (std::same_as<typename Settings::heed_key, weights_> &&
             !is_one_of<Settings, setting<weights_, softmax_>, setting<weights_, softmax1_>>));

template <class... Settings>
inline constexpr bool adds_one = is_one_of<setting<weights_, softmax1_>, Settings...>;

template <class... Settings>
constexpr auto free_weight_of(const settings<Settings...> &given) {
    if constexpr (weights_are_free<Settings...>) {
        return to_real(as_expression(get<weights_>(given)));
    } else {
        return literal<double>{{}, 1.0};
    }
}

// Modifications of rows, the first one first.

template <class Key, class... Settings>
constexpr auto row_stage(const settings<Settings...> &given) {
    if constexpr (is_given<Key, Settings...>) {
        const auto stage = to_real(as_expression(get<Key>(given)));
        return hana::basic_tuple<std::remove_cvref_t<decltype(stage)>>(stage);
    } else {
        return hana::basic_tuple<>();
    }
}

template <class... A, class... B>
constexpr auto joined(const hana::basic_tuple<A...> &a, const hana::basic_tuple<B...> &b) {
    return hana::unpack(a, [&](const auto &...first) {
        return hana::unpack(b,
                            [&](const auto &...second) { return hana::basic_tuple<A..., B...>(first..., second...); });
    });
}

template <class Key, class Row, class Position, class... Settings>
constexpr auto row_stages(const settings<Settings...> &given, Row row, Position at) {
    if constexpr (is_given<position_, Settings...>) {
        constexpr std::int64_t dims = size_of<head_dim_, 0>(static_cast<const settings<Settings...> *>(nullptr));
        const auto turned = get<position_>(given).template apply<dims>(row, at);
        return joined(row_stage<Key>(given), hana::basic_tuple<std::remove_cvref_t<decltype(turned)>>(turned));
    } else {
        return row_stage<Key>(given);
    }
}

template <class... Settings>
constexpr auto query_stages_of(const settings<Settings...> &given) {
    return row_stages<query_mod_>(given, query, q_pos);
}

template <class... Settings>
constexpr auto key_stages_of(const settings<Settings...> &given) {
    return row_stages<key_mod_>(given, key, kv_pos);
}

template <class... Settings>
constexpr auto pair_expressions_of(const settings<Settings...> &given) {
    return [](const auto &...e) { return hana::basic_tuple<std::remove_cvref_t<decltype(e)>...>(e...); }(
               mask_of(given), score_mod_of(given), sink_logit_of(given), query_start_of(given), free_weight_of(given),
               weight_factor_of(given));
}

/// All expressions of a variant.
template <class... Settings>
constexpr auto expressions_of(const settings<Settings...> &given) {
    return joined(joined(pair_expressions_of(given), joined(query_stages_of(given), key_stages_of(given))),
                  joined(row_stage<value_mod_>(given), row_stage<output_mod_>(given)));
}

template <class Tuple>
struct lookups_of_tuple;
template <class... E>
struct lookups_of_tuple<hana::basic_tuple<E...>> : lookups<type_list<E...>> {};

template <class Given>
using lookups_of = typename lookups_of_tuple<decltype(expressions_of(std::declval<const Given &>()))>::type;

}  // namespace detail

/// What `variant` returns. Sizes and inputs are static members of the type; expressions come from the object, because
/// literals in them are values.
template <class... Settings>
class attention_variant {
    using given_type = detail::settings<Settings...>;
    static constexpr given_type *no_object = nullptr;

    given_type given_;

  public:
    constexpr explicit attention_variant(const Settings &...given) : given_{given...} {}

    static constexpr std::int64_t heads = detail::size_of<heads_, 0>(no_object);
    static constexpr std::int64_t groups = detail::size_of<groups_, heads>(no_object);
    static constexpr std::int64_t head_dim = detail::size_of<head_dim_, 0>(no_object);
    static constexpr std::int64_t value_dim = detail::size_of<value_dim_, head_dim>(no_object);
    static constexpr bool has_sink = detail::is_given<sink_logit_, Settings...> || detail::adds_one<Settings...>;
    /// False where weights are a formula of the score, which has no denominator and no log-sum-exp.
    static constexpr bool is_softmax = !detail::weights_are_free<Settings...>;
    static constexpr bool has_weight_factor = detail::is_given<weight_factor_, Settings...>;

    /// Factor of <query, key>.
    constexpr double scale() const {
        if constexpr (!detail::is_given<scale_, Settings...>) {
            return detail::inverse_square_root(head_dim);
        } else {
            return static_cast<double>(as_expression(detail::get<scale_>(given_)).value);
        }
    }

    /// The user's condition. `kv_pos < kv_len` is not in it; every reader adds that.
    constexpr auto mask() const { return detail::mask_of(given_); }

    /// A real number.
    constexpr auto score_mod() const { return detail::score_mod_of(given_); }

    /// A real number; only where has_sink.
    constexpr auto sink_logit() const requires has_sink { return detail::sink_logit_of(given_); }

    /// A whole number.
    constexpr auto query_start() const { return detail::query_start_of(given_); }

    /// The weight of a score; only where not is_softmax.
    constexpr auto free_weight() const requires(!is_softmax) { return detail::free_weight_of(given_); }

    /// A real number.
    constexpr auto weight_factor() const { return detail::weight_factor_of(given_); }

    /// Tuples of the expressions that make the rows that enter the kernel of those in memory, one after another.
    constexpr auto query_stages() const { return detail::query_stages_of(given_); }
    constexpr auto key_stages() const { return detail::key_stages_of(given_); }
    constexpr auto value_stages() const { return detail::row_stage<value_mod_>(given_); }
    constexpr auto output_stages() const { return detail::row_stage<output_mod_>(given_); }

    /// What was given for a key; only where it was.
    template <class Key>
    constexpr auto given() const {
        return detail::get<Key>(given_);
    }
    template <class Key>
    static constexpr bool has = detail::is_given<Key, Settings...>;

    /// The types of all uses of inputs.
    using lookups = detail::lookups_of<given_type>;

    /// The distinct inputs in order of first use: mask, score_mod, sink_logit, query_start, weights, weight_factor,
    /// then modifications of queries, keys, values and results.
    static constexpr auto inputs = detail::distinct_inputs<lookups>();

    /// Calls `function(lookup, dim_extent)` for every use of an input, in the order of `lookups`; `dim` is below
    /// dim_extent in the lookup's indices.
    template <class Function>
    constexpr void for_each_lookup(const Function &function) const {
        const auto in_all = [&](const auto &tuple, std::int64_t dim_extent) {
            hana::unpack(tuple, [&](const auto &...expressions) {
                (detail::visit_lookups(expressions, function, dim_extent), ...);
            });
        };
        in_all(detail::pair_expressions_of(given_), 0);
        in_all(query_stages(), head_dim);
        in_all(key_stages(), head_dim);
        in_all(value_stages(), value_dim);
        in_all(output_stages(), value_dim);
    }
};

namespace detail {

// The rules, in the order in which a reader would check them. Each step stops at the first broken one.

template <class... Settings>
constexpr bool keys_are_valid() {
    return (... &&
            rule::key_is_known<typename Settings::heed_key, is_known_key<typename Settings::heed_key>>::check()) &&
           (... && rule::key_is_given_once<typename Settings::heed_key,
                                           times_given<typename Settings::heed_key, Settings...>>::check()) &&
           rule::key_is_given<heads_, is_given<heads_, Settings...>>::check() &&
           rule::key_is_given<head_dim_, is_given<head_dim_, Settings...>>::check() &&
           rule::align_or_query_start<is_given<align_, Settings...>, is_given<query_start_, Settings...>>::check();
}

template <class Key, class Value>
constexpr bool value_is_valid(const setting<Key, Value> *) {
    if constexpr (is_size<Key>) {
        if constexpr (rule::size_is_a_compile_time_constant<Key, Value, is_int<Value>>::check()) {
            return rule::size_is_positive<Key, Value::value>::check();
        } else {
            return false;
        }
    } else if constexpr (std::same_as<Key, scale_>) {
        constexpr bool is_number = (std::is_arithmetic_v<Value> && !std::same_as<Value, bool>) || is_int<Value>;
        return rule::scale_is_a_number<Value, is_number>::check();
    } else if constexpr (std::same_as<Key, align_>) {
        constexpr bool known = std::same_as<Value, top_left_> || std::same_as<Value, bottom_right_>;
        return rule::align_is_top_left_or_bottom_right<Value, known>::check();
    } else if constexpr (std::same_as<Key, position_>) {
        if constexpr (std::same_as<Value, absolute_positions_>) {
            return rule::absolute_positions_belong_to_tokens<Value, true>::check();
        } else {
            return rule::position_is_a_scheme<Value, PositionScheme<Value>>::check();
        }
    } else if constexpr (is_one_of<setting<Key, Value>, setting<weights_, softmax_>, setting<weights_, softmax1_>>) {
        return true;
    } else if constexpr (InputWithoutIndices<Value>) {
        return rule::input_is_indexed<Value>::check();
    } else {
        return rule::value_is_an_expression<Key, Value, Operand<Value>>::check();
    }
}

template <class Mask>
constexpr bool mask_is_valid() {
    return rule::mask_is_a_condition<Mask>::check() && rule::mask_does_not_use_score<Mask, uses<Mask, score_>>::check();
}

template <class Score>
constexpr bool score_mod_is_valid() {
    return rule::score_mod_is_a_number<Score>::check();
}

template <class Logit>
constexpr bool sink_logit_is_valid() {
    return rule::sink_logit_is_a_number<Logit>::check() &&
           rule::sink_logit_does_not_depend_on_keys_or_queries<Logit, uses<Logit, score_, q_pos_, kv_pos_>>::check();
}

template <class Start>
constexpr bool query_start_is_valid() {
    return rule::query_start_is_an_integer<Start>::check() &&
           rule::query_start_depends_on_batch_only<Start, uses<Start, score_, q_pos_, kv_pos_, head_>>::check();
}

template <class... Settings>
constexpr bool weights_allow_a_sink() {
    return rule::sink_logit_belongs_to_softmax<weights_are_free<Settings...>,
                                               is_given<sink_logit_, Settings...>>::check() &&
           rule::softmax1_is_a_sink_logit_of_zero<adds_one<Settings...>, is_given<sink_logit_, Settings...>>::check();
}

template <class E, std::int64_t Heads>
constexpr bool is_for_heads();

template <std::int64_t Heads, class... Children>
constexpr bool are_for_heads(type_list<Children...>) {
    return (... && is_for_heads<Children, Heads>());
}

/// Checks the formulas that are right for one number of heads only.
template <class E, std::int64_t Heads>
constexpr bool is_for_heads() {
    if constexpr (requires { E::operation::heads; }) {
        return rule::formula_is_for_the_heads<E::operation::heads, Heads>::check();
    } else {
        return are_for_heads<Heads>(typename children<E>::type{});
    }
}

template <std::int64_t Heads, class... E>
constexpr bool all_are_for_heads(const hana::basic_tuple<E...> *) {
    return (... && is_for_heads<E, Heads>());
}

template <class E>
constexpr bool constants_fit();

template <class... E>
constexpr bool all_constants_fit(type_list<E...>) {
    return (... && constants_fit<E>());
}

/// Checks the constants of an expression, operands before what is made of them.
template <class E>
constexpr bool constants_fit() {
    if constexpr (!all_constants_fit(typename children<E>::type{})) {
        return false;
    } else if constexpr (whole_constant<E>::known) {
        return rule::constant_is_within_two_to_the_30<whole_constant<E>::value>::check();
    } else {
        return true;
    }
}

template <class... E>
constexpr bool all_constants_fit(const hana::basic_tuple<E...> *) {
    return (... && constants_fit<E>());
}

/// For the values of keys without rules of their own.
template <class Key, class Value>
constexpr bool expression_is_valid(const setting<Key, Value> *) {
    if constexpr (is_expression_key<Key> && Operand<Value>) {
        using E = expression_of<Value>;
        constexpr bool stands_outside_of_rows = !is_row_key<Key> && takes_a_row<E>::value;
        if constexpr (!rule::mean_is_over_a_row<Key, E, stands_outside_of_rows>::check()) {
            return false;
        } else if constexpr (!uses_only<Key, E>(typename terminals_of<Key>::type{})) {
            return false;
        } else if constexpr (std::same_as<Key, mask_>) {
            return true;
        } else if constexpr (!rule::value_is_a_number<Key, E>::check()) {
            return false;
        } else if constexpr (std::same_as<typename changed_by<Key>::type, void>) {
            return true;
        } else {
            using changed = typename changed_by<Key>::type;
            return rule::expression_uses_what_it_changes<Key, changed, E, uses<E, changed>>::check();
        }
    } else {
        return true;
    }
}

template <class... Settings>
constexpr bool is_valid() {
    if constexpr (!(... && rule::argument_is_a_key_with_a_value<Settings>::check())) {
        return false;
    } else if constexpr (!keys_are_valid<Settings...>()) {
        return false;
    } else if constexpr (!(... && value_is_valid(static_cast<const Settings *>(nullptr)))) {
        return false;
    } else {
        using given = settings<Settings...>;
        constexpr given *none = nullptr;
        constexpr std::int64_t heads = size_of<heads_, 0>(none);
        if constexpr (!rule::groups_divide_heads<heads, size_of<groups_, heads>(none)>::check()) {
            return false;
        } else if constexpr (!mask_is_valid<decltype(as_expression(get_or<mask_>(std::declval<given>(), true)))>()) {
            return false;
        } else if constexpr (!score_mod_is_valid<decltype(as_expression(
                                 get_or<score_mod_>(std::declval<given>(), score)))>()) {
            return false;
        } else if constexpr (!sink_logit_is_valid<decltype(as_expression(
                                 get_or<sink_logit_>(std::declval<given>(), 0.0)))>()) {
            return false;
        } else if constexpr (!query_start_is_valid<decltype(query_start_of(std::declval<given>()))>()) {
            return false;
        } else if constexpr (!(... && expression_is_valid(static_cast<const Settings *>(nullptr)))) {
            return false;
        } else if constexpr (!weights_allow_a_sink<Settings...>()) {
            return false;
        } else if constexpr (!all_are_for_heads<heads>(
                                 static_cast<decltype(expressions_of(std::declval<const given &>())) *>(nullptr))) {
            return false;
        } else if constexpr (!all_constants_fit(
                                 static_cast<decltype(expressions_of(std::declval<const given &>())) *>(nullptr))) {
            return false;
        } else {
            return inputs_agree(lookups_of<given>{});
        }
    }
}

/// Stands for a declaration that broke a rule, so that no further error hides the first.
struct invalid_variant {};

constexpr void check_scale(double scale) {
    // Kernels take it as a 32-bit float.
    rule::scale_must_be_a_finite_number(arithmetic::is_finite(arithmetic::tag{}, scale) &&
                                        scale <= std::numeric_limits<float>::max() &&
                                        scale >= std::numeric_limits<float>::lowest());
    rule::scale_must_not_be_zero(static_cast<float>(scale) != 0);
}

template <class... Settings>
constexpr void check_position([[maybe_unused]] const attention_variant<Settings...> &variant) {
    using type = attention_variant<Settings...>;
    if constexpr (is_given<position_, Settings...>) {
        const auto scheme = variant.template given<position_>();
        if constexpr (requires { scheme.template check<type::head_dim>(); }) scheme.template check<type::head_dim>();
    }
}

}  // namespace detail

namespace detail {

/// Whole numbers that are C++ numbers: constants_fit for values.
template <Expression E>
constexpr void check_whole_numbers(const E &expression) {
    if constexpr (std::same_as<E, literal<std::int64_t>>) {
        rule::whole_number_is_within_two_to_the_30(expression.value);
    } else {
        for_each_child(expression, [](const auto &child) { check_whole_numbers(child); });
    }
}

template <class Key, class Value>
constexpr void check_whole_numbers_of([[maybe_unused]] const setting<Key, Value> &given) {
    if constexpr (is_expression_key<Key> && Operand<Value>) check_whole_numbers(as_expression(given.value));
}

}  // namespace detail

/// Declares a variant: `variant(heads = 8_c, head_dim = 64_c, mask = causal)`. Keys may come in any order.
template <class... Settings>
constexpr auto variant(Settings... given) {
    if constexpr (detail::is_valid<Settings...>()) {
        const attention_variant<Settings...> result{given...};
        detail::check_scale(result.scale());
        detail::check_position(result);
        (detail::check_whole_numbers_of(given), ...);
        return result;
    } else {
        return detail::invalid_variant{};
    }
}

}  // namespace heed
