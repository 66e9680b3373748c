// SPDX-License-Identifier: MIT
//
// A variant of attention: settings of keys, checked here once and for all, with defaults for those not given. The
// result is one constexpr object that the generators and the readings ask for its parts.
#pragma once

#include <heed/arithmetic.hpp>
#include <heed/expression.hpp>
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
struct key {
    template <class Value>
    constexpr auto operator=(Value value) const {
        return setting<Name, Value>{value};
    }
};

// clang-format off
struct heads_ : key<heads_> { using key::operator=; };
struct groups_ : key<groups_> { using key::operator=; };
struct head_dim_ : key<head_dim_> { using key::operator=; };
struct value_dim_ : key<value_dim_> { using key::operator=; };
struct scale_ : key<scale_> { using key::operator=; };
struct mask_ : key<mask_> { using key::operator=; };
struct score_mod_ : key<score_mod_> { using key::operator=; };
struct sink_logit_ : key<sink_logit_> { using key::operator=; };
struct align_ : key<align_> { using key::operator=; };
struct query_start_ : key<query_start_> { using key::operator=; };
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

template <class Key>
inline constexpr bool is_known_key =
    std::same_as<Key, heads_> || std::same_as<Key, groups_> || std::same_as<Key, head_dim_> ||
    std::same_as<Key, value_dim_> || std::same_as<Key, scale_> || std::same_as<Key, mask_> ||
    std::same_as<Key, score_mod_> || std::same_as<Key, sink_logit_> || std::same_as<Key, align_> ||
    std::same_as<Key, query_start_>;

// 1 / sqrt(x) for x >= 1: Newton's iteration for the root from above, in more digits than the result has.
constexpr double inverse_square_root(long double x) {
    long double root = x;
    long double next = (root + x / root) / 2;
    while (next < root) {
        root = next;
        next = (root + x / root) / 2;
    }
    return static_cast<double>(1 / root);
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

template <class Given>
using lookups_of =
    typename concatenate<typename lookups<decltype(mask_of(std::declval<const Given &>()))>::type,
                         typename lookups<decltype(score_mod_of(std::declval<const Given &>()))>::type,
                         typename lookups<decltype(sink_logit_of(std::declval<const Given &>()))>::type,
                         typename lookups<decltype(query_start_of(std::declval<const Given &>()))>::type>::type;

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
    static constexpr bool has_sink = detail::is_given<sink_logit_, Settings...>;

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

    /// The types of all uses of inputs in mask, score_mod, sink_logit and query_start, in this order.
    using lookups = detail::lookups_of<given_type>;

    /// The distinct inputs in order of first use.
    static constexpr auto inputs = detail::distinct_inputs<lookups>();

    /// Calls `function(lookup)` for every use of an input, in the order of `lookups`.
    template <class Function>
    constexpr void for_each_lookup(const Function &function) const {
        heed::for_each_lookup(mask(), function);
        heed::for_each_lookup(score_mod(), function);
        heed::for_each_lookup(detail::sink_logit_of(given_), function);
        heed::for_each_lookup(query_start(), function);
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
    if constexpr (std::same_as<Key, heads_> || std::same_as<Key, groups_> || std::same_as<Key, head_dim_> ||
                  std::same_as<Key, value_dim_>) {
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
        } else {
            return inputs_agree(lookups_of<given>{});
        }
    }
}

/// Stands for a declaration that broke a rule, so that no further error hides the first.
struct invalid_variant {};

constexpr void check_scale(double scale) {
    // Kernels take it as a 32-bit float.
    if (!arithmetic::is_finite(arithmetic::tag{}, scale) || scale > std::numeric_limits<float>::max() ||
        scale < std::numeric_limits<float>::lowest()) {
        rule::scale_must_be_a_finite_number();
    }
    if (static_cast<float>(scale) == 0) {
        rule::scale_must_not_be_zero();
    }
}

}  // namespace detail

/// Declares a variant: `variant(heads = 8_c, head_dim = 64_c, mask = causal)`. Keys may come in any order.
template <class... Settings>
constexpr auto variant(Settings... given) {
    if constexpr (detail::is_valid<Settings...>()) {
        const attention_variant<Settings...> result{given...};
        detail::check_scale(result.scale());
        return result;
    } else {
        return detail::invalid_variant{};
    }
}

}  // namespace heed
