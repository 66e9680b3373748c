// SPDX-License-Identifier: MIT
//
// Masks: conditions that are true where a query may attend to a key. Each is an ordinary expression, so masks combine
// with '&&', '||' and '!', and a user's own condition needs no registration.
//
// Widths, strides and counts are constants ('64_c'), numbers, or expressions such as 'input<"width", i32>[head]'. Where
// a word takes a table, give the input without indices: 'same(input<"document", i32>)'; its shape is told below. A mask
// that is already a table is one comparison: 'input<"visible", i32>(batch, q_pos, kv_pos) != 0'.
#pragma once

#include <heed/expression.hpp>

#include <cstdint>
#include <utility>

namespace heed {

namespace detail {

// Sizes known while compiling are checked while compiling.
template <class... Size>
constexpr bool sizes_are_positive(const Size &...) {
    constexpr auto check = []<class T>(const T *) {
        if constexpr (is_int<T>) {
            return rule::size_of_a_mask_is_positive<T::value>::check();
        } else {
            return true;
        }
    };
    return (... && check(static_cast<const Size *>(nullptr)));
}

template <class Table>
constexpr bool is_table = rule::table_is_an_input_without_indices<Table, InputWithoutIndices<Table>>::check();

/// True for whole numbers that inputs decide: their values are those of a call.
template <class Width>
constexpr bool comes_with_the_call() {
    if constexpr (!Expression<Width>) {
        return false;
    } else {
        return Width::kind == value_kind::integer && lookups<Width>::type::size > 0;
    }
}

inline constexpr int_<rule::largest_whole_number> largest_width{};

/// A width or count, stopped at +-2^30 if it comes with the call. Kernels find the keys that a window holds by q_pos -
/// width; a caller's "no window", the largest number of 32 bits, would leave these bits there. `variant` checks
/// constants.
template <Operand Width>
constexpr auto bounded(Width width) {
    if constexpr (comes_with_the_call<Width>()) {
        return min(max(width, int_<-rule::largest_whole_number>{}), largest_width);
    } else {
        return width;
    }
}

/// `count * step`, stopped at +-2^30 if one of them comes with the call: before they are multiplied, because the
/// product could leave 32 bits.
template <Operand Count, Operand Step>
constexpr auto bounded_product(Count count, Step step) {
    if constexpr (comes_with_the_call<Count>() || comes_with_the_call<Step>()) {
        const auto most = largest_width / step;
        return min(max(count, -most), most) * step;
    } else {
        return count * step;
    }
}

}  // namespace detail

// Along the sequence.

/// Each query sees keys up to and including its own position.
inline constexpr auto causal = q_pos >= kv_pos;

/// Each query sees the `width` most recent keys, itself included. Says nothing about later keys: combine with `causal`.
template <Operand Width>
constexpr auto sliding_window(Width width) {
    return q_pos - kv_pos < detail::bounded(width);
}

/// Every `dilation`-th of the most recent keys, itself included, `width` of them (Longformer, Beltagy et al. 2020,
/// section 3.1, "Dilated Sliding Window"). Says nothing about later keys but that they lie at the same steps: combine
/// with `causal`. To both sides: `neighbourhood(radius) && strided(dilation)`.
template <Operand Width, Operand Dilation>
constexpr auto dilated_window(Width width, Dilation dilation) {
    detail::sizes_are_positive(width, dilation);
    const auto step = detail::bounded(dilation);
    return q_pos - kv_pos < detail::bounded_product(width, step) && (q_pos - kv_pos) % step == 0_c;
}

/// Keys at most `radius` positions away, to both sides: a window of 2 radius + 1 (Longformer, section 3.1, whose w is
/// 2 radius).
template <Operand Radius>
constexpr auto neighbourhood(Radius radius) {
    return abs(q_pos - kv_pos) <= detail::bounded(radius);
}

/// The first `count` keys of the sequence. Often called attention sinks (Xiao et al. 2023, section 3), but see
/// `sink_logit`.
template <Operand Count>
constexpr auto first_tokens(Count count) {
    return kv_pos < detail::bounded(count);
}

/// Causal, but the first `length` tokens all see each other: `prefix_lm(input<"prefix", i32>[batch])` (Raffel et al.
/// 2020, section 3.2.1, "causal with prefix"; UniLM, Dong et al. 2019, section 2.3, sequence-to-sequence).
template <Operand Length>
constexpr auto prefix_lm(Length length) {
    return causal || kv_pos < detail::bounded(length);
}

/// Keys a multiple of `stride` away: the second half of the strided pattern of the Sparse Transformer (Child et al.
/// 2019, section 4.3).
template <Operand Stride>
constexpr auto strided(Stride stride) {
    detail::sizes_are_positive(stride);
    return (q_pos - kv_pos) % stride == 0_c;
}

/// Strided attention of the Sparse Transformer, both halves in one head (Child et al. 2019, section 4.3; merged as in
/// section 5.1): the query, the `stride` keys before it, and every `stride`-th key before. Causal.
template <Operand Stride>
constexpr auto sparse_strided(Stride stride) {
    return causal && (q_pos - kv_pos <= detail::bounded(stride) || strided(stride));
}

/// The last `count` keys of each block of `size`: the second half of the fixed pattern of the Sparse Transformer (Child
/// et al. 2019, section 4.3), to which blocks pass on what they hold.
template <Operand Size, Operand Count>
constexpr auto block_ends(Size size, Count count) {
    detail::sizes_are_positive(size, count);
    return kv_pos % size >= size - count;
}

/// Fixed attention of the Sparse Transformer, both halves in one head (Child et al. 2019, section 4.3): the query's own
/// block of `stride`, and the last `count` keys of earlier blocks. Causal.
template <Operand Stride, Operand Count>
constexpr auto sparse_fixed(Stride stride, Count count) {
    detail::sizes_are_positive(stride, count);
    return causal && (q_pos / stride == kv_pos / stride || block_ends(stride, count));
}

// Blocks of the sequence.

/// Queries and keys in the same block of `size`. With `causal` the chunked attention of Llama 4.
template <Operand Size>
constexpr auto blocks(Size size) {
    detail::sizes_are_positive(size);
    return q_pos / size == kv_pos / size;
}

/// Blocks of `size` at most `radius` blocks away, the query's own included (BigBird, Zaheer et al. 2020, section 2: its
/// window of w blocks is radius (w - 1) / 2).
template <Operand Size, Operand Radius>
constexpr auto neighbouring_blocks(Size size, Radius radius) {
    detail::sizes_are_positive(size);
    return abs(q_pos / size - kv_pos / size) <= detail::bounded(radius);
}

/// The blocks of keys that a table of whole numbers lists for each block of queries (BigBird, section 2, "random
/// attention"): `random_blocks(64_c, 3_c, input<"blocks", i32>)` reads blocks of shape (query block, slot), here with 3
/// slots; -1 leaves a slot empty. Indices after the table lead: with `head` the shape is (head, query block, slot).
template <Operand Size, class Slots, class Table, Operand... Leading>
constexpr auto random_blocks(Size size, Slots /*slots*/, Table table, Leading... leading) {
    detail::sizes_are_positive(size);
    if constexpr (!detail::is_table<Table>) {
        return literal<bool>{{}, true};
    } else if constexpr (!rule::number_of_slots_is_a_constant<Slots, detail::is_int<Slots>>::check()) {
        return literal<bool>{{}, true};
    } else {
        detail::sizes_are_positive(Slots{});
        return [&]<std::int64_t... Slot>(std::integer_sequence<std::int64_t, Slot...>) {
            return (... || (table(leading..., q_pos / size, int_<Slot>{}) == kv_pos / size));
        }
        (std::make_integer_sequence<std::int64_t, Slots::value>{});
    }
}

/// Blocks of `size` that a table of shape (query block, key block) marks with anything but 0; indices after the table
/// lead, as for `random_blocks`. Any block-sparse layout, e.g. of BigBird or of an index of live blocks.
template <Operand Size, class Table, Operand... Leading>
constexpr auto marked_blocks(Size size, Table table, Leading... leading) {
    detail::sizes_are_positive(size);
    if constexpr (!detail::is_table<Table>) {
        return literal<bool>{{}, true};
    } else {
        return table(leading..., q_pos / size, kv_pos / size) != 0_c;
    }
}

// Tokens that tables tell apart. The tables hold a value for each position of the sequence: (batch, kv_len).

/// Queries and keys with the same value in a table of shape (batch, position): documents packed into one sequence,
/// `causal && same(input<"document", i32>)`; segments, modalities, beams.
template <class Table>
constexpr auto same(Table table) {
    if constexpr (!detail::is_table<Table>) {
        return literal<bool>{{}, true};
    } else {
        return table(batch, q_pos) == table(batch, kv_pos);
    }
}

/// Keys that a table of shape (batch, position) marks with anything but 0, such as the attention mask of a tokenizer.
template <class Table>
constexpr auto marked_keys(Table table) {
    if constexpr (!detail::is_table<Table>) {
        return literal<bool>{{}, true};
    } else {
        return table(batch, kv_pos) != 0_c;
    }
}

/// Tokens that see every token and are seen by every token (Longformer, section 3.1, "Global Attention"): the first
/// `count`, or those that a table of shape (batch, position) marks: `global_tokens(input<"is_global", i32>)`.
template <Operand Count>
constexpr auto global_tokens(Count count) {
    if constexpr (detail::InputWithoutIndices<Count>) {
        return count(batch, q_pos) != 0_c || count(batch, kv_pos) != 0_c;
    } else {
        return q_pos < detail::bounded(count) || kv_pos < detail::bounded(count);
    }
}

// Sequences of different lengths in one tensor.

/// The first `kv_len[batch]` keys of each batch element.
inline constexpr auto padded = kv_pos < input<"kv_len", i32>[batch];

/// Keys from position `first_key[batch]` on, where the padding stands before the tokens.
inline constexpr auto padded_left = kv_pos >= input<"first_key", i32>[batch];

/// Queries before position `query_end[batch]`; the others see nothing, so their output is 0. A position, not a count:
/// they are the same with `align = top_left`.
inline constexpr auto padded_queries = q_pos < input<"query_end", i32>[batch];

// Images and video: the sequence is an image row by row, or frames of them, so position = (frame * height + y) * width
// + x. Sizes are in pixels, or in whatever the tokens are.

/// The row of a position in an image of this width.
template <Operand Position, Operand Width>
constexpr auto row_of(Position position, Width width) {
    return position / width;
}

/// The column of a position in an image of this width.
template <Operand Position, Operand Width>
constexpr auto column_of(Position position, Width width) {
    return position % width;
}

/// Keys at most `height_radius` rows and `width_radius` columns away. At the border the window is cut off, so queries
/// there see fewer keys (stand-alone self-attention, Ramachandran et al. 2019, section 3.1); see
/// `shifted_neighbourhood_2d`.
template <Operand Width, Operand HeightRadius, Operand WidthRadius>
constexpr auto neighbourhood_2d(Width width, HeightRadius height_radius, WidthRadius width_radius) {
    detail::sizes_are_positive(width);
    return abs(row_of(q_pos, width) - row_of(kv_pos, width)) <= detail::bounded(height_radius) &&
           abs(column_of(q_pos, width) - column_of(kv_pos, width)) <= detail::bounded(width_radius);
}

/// The same in frames of `height` rows, and at most `depth_radius` frames away. Cut off at the borders.
template <Operand Height, Operand Width, Operand DepthRadius, Operand HeightRadius, Operand WidthRadius>
constexpr auto neighbourhood_3d(Height height, Width width, DepthRadius depth_radius, HeightRadius height_radius,
                                WidthRadius width_radius) {
    detail::sizes_are_positive(height, width);
    return abs(q_pos / (width * height) - kv_pos / (width * height)) <= detail::bounded(depth_radius) &&
           abs(row_of(q_pos, width) % height - row_of(kv_pos, width) % height) <= detail::bounded(height_radius) &&
           abs(column_of(q_pos, width) - column_of(kv_pos, width)) <= detail::bounded(width_radius);
}

namespace detail {

// Windows that are shifted inwards are those around the nearest coordinate that is `radius` from both ends.
template <class Query, class Key, class Length, class Radius>
constexpr auto within_shifted_window(const Query &query, const Key &key, const Length &length, const Radius &radius) {
    if constexpr (is_int<Length> && is_int<Radius>) {
        rule::shifted_window_fits<Length::value, Radius::value>::check();
        constexpr auto last = int_<Length::value - 1 - Radius::value>{};
        return abs(min(max(query, radius), last) - key) <= radius;
    } else {
        const auto reach = bounded(radius);
        return abs(min(max(query, reach), length - 1_c - reach) - key) <= reach;
    }
}

}  // namespace detail

/// Each query of `length` sees 2 radius + 1 keys, those around it; near an end the window is shifted inwards instead of
/// cut off (neighborhood attention, Hassani et al. 2023, section 3.1; NATTEN in one dimension).
template <Operand Length, Operand Radius>
constexpr auto shifted_neighbourhood(Length length, Radius radius) {
    detail::sizes_are_positive(length);
    return detail::within_shifted_window(q_pos, kv_pos, length, radius);
}

/// The same in an image: every query sees (2 height_radius + 1) (2 width_radius + 1) keys (NATTEN in two dimensions,
/// its kernel sizes are odd as these).
template <Operand Height, Operand Width, Operand HeightRadius, Operand WidthRadius>
constexpr auto shifted_neighbourhood_2d(Height height, Width width, HeightRadius height_radius,
                                        WidthRadius width_radius) {
    detail::sizes_are_positive(height, width);
    return detail::within_shifted_window(row_of(q_pos, width), row_of(kv_pos, width), height, height_radius) &&
           detail::within_shifted_window(column_of(q_pos, width), column_of(kv_pos, width), width, width_radius);
}

/// The same in `depth` frames (NATTEN in three dimensions).
template <Operand Depth, Operand Height, Operand Width, Operand DepthRadius, Operand HeightRadius, Operand WidthRadius>
constexpr auto shifted_neighbourhood_3d(Depth depth, Height height, Width width, DepthRadius depth_radius,
                                        HeightRadius height_radius, WidthRadius width_radius) {
    detail::sizes_are_positive(depth, height, width);
    return detail::within_shifted_window(q_pos / (width * height), kv_pos / (width * height), depth, depth_radius) &&
           detail::within_shifted_window(row_of(q_pos, width) % height, row_of(kv_pos, width) % height, height,
                                         height_radius) &&
           detail::within_shifted_window(column_of(q_pos, width), column_of(kv_pos, width), width, width_radius);
}

/// Queries and keys in the same window of an image that windows tile (Swin, Liu et al. 2021, section 3.2). The tiling
/// starts `height_shift` rows and `width_shift` columns before the image; half a window gives Swin's shifted windows
/// without a cyclic shift. Windows of one row or one column are axial attention (Ho et al. 2019).
template <Operand Width, Operand WindowHeight, Operand WindowWidth, Operand HeightShift = int_<0>,
          Operand WidthShift = int_<0>>
constexpr auto windows_2d(Width width, WindowHeight window_height, WindowWidth window_width,
                          HeightShift height_shift = {}, WidthShift width_shift = {}) {
    detail::sizes_are_positive(width, window_height, window_width);
    const auto row_of_windows = [&](auto position) { return (row_of(position, width) + height_shift) / window_height; };
    const auto column_of_windows = [&](auto position) {
        return (column_of(position, width) + width_shift) / window_width;
    };
    return row_of_windows(q_pos) == row_of_windows(kv_pos) && column_of_windows(q_pos) == column_of_windows(kv_pos);
}

}  // namespace heed
