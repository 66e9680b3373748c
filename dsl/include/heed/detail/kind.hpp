// SPDX-License-Identifier: MIT
//
// What an expression yields. The kind is a property of the type, so that rules can reject a wrong operand by name.
#pragma once

#include <heed/detail/needs_cpp20.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace heed {

/// What an expression yields: a whole number, a real number, or a condition.
enum class value_kind : std::uint8_t { integer, real, boolean };

/// Base of everything that `evaluate` can walk over.
struct expression_base {};

/// A terminal, a literal, a looked-up input, or an operator on other expressions.
template <class T>
concept Expression = std::derived_from<std::remove_cvref_t<T>, expression_base>;

namespace detail {

constexpr bool is_number(value_kind kind) { return kind != value_kind::boolean; }

}  // namespace detail
}  // namespace heed
