// SPDX-License-Identifier: MIT

#include "cached_check.hpp"

#include <algorithm>
#include <utility>

#include "argument_checker.hpp"
#include "kernel_arguments.hpp"

namespace heed::detail {
namespace {

/// Reads an input for the range reading, at clamped indices as kernels do.
double input_element(const void *context, int number, const std::int64_t *indices) {
    const tensor &input = static_cast<const tensor *>(context)[number];
    std::int64_t offset = 0;
    for (int i = 0; i < input.rank; ++i) {
        if (extent_of(input, i) == 0) {
            return 0.0;
        }
        offset += std::clamp<std::int64_t>(indices[i], 0, extent_of(input, i) - 1) * stride_of(input, i);
    }
    return input.type == data_type::i32 ? static_cast<const std::int32_t *>(input.data)[offset]
                                        : static_cast<double>(static_cast<const float *>(input.data)[offset]);
}

/// Positions, and what declarations add to them, stay within 32 bits.
constexpr std::int64_t largest_length = std::int64_t{1} << 30;

/// What calls with a cache check, whatever they do.
class cached_checker : public checker {
  public:
    cached_checker(const cached_arguments &arguments, const kernel_description &kernel)
        : checker(*arguments.variant, kernel.pass),
          arguments_(arguments),
          variant_(*arguments.variant),
          types_(kernel.types) {}

    /// Rows of all sequences one behind another: (1, heads or groups, tokens, row_size).
    void rows_are_sound(std::string_view name, const tensor &rows, data_type type, std::string_view heads_name,
                        std::int64_t heads, std::string_view size_name, std::int64_t row_size) const {
        tensor_is_sound(
            name, rows, type, 4,
            text("a tensor (1, ", heads_name == "groups" ? "groups" : "heads", ", tokens, ", size_name, ")"),
            typed_by::the_kernel);
        if (extent_of(rows, 0) != 1) {
            refuse(name, " has batch ", extent_of(rows, 0),
                   ", it must be 1: the tokens of all sequences stand one behind another in dimension 2. Extents ",
                   extents_text(rows), ". Fix: pass all rows as one batch element");
        }
        heads_are(name, rows, heads_name, heads);
        last_extent_is(name, rows, size_name, row_size);
        innermost_is_contiguous(name, rows, size_name);
        fits_kernels(name, rows);
    }

    void cache_is_sound(checked_cached_call &call) const {
        const cache_tensors &cache = arguments_.cache;
        const tensor key = readable(cache.key), value = readable(cache.value);
        pages_are_sound("the cache's key", key, types_.key, "head_dim", variant_.head_dim);
        pages_are_sound("the cache's value", value, types_.value, "value_dim", variant_.value_dim);
        extent_agrees("the cache's value", value, "the cache's key", key, 0, "pages");
        extent_agrees("the cache's value", value, "the cache's key", key, 2, "page_size");
        if (extent_of(key, 2) == 0) {
            refuse("the cache has page_size 0, a page holds at least one token. Fix: pass pages with tokens");
        }
        scale_is_sound("key_scale", readable(cache.key_scale), "key", key);
        scale_is_sound("value_scale", readable(cache.value_scale), "value", value);
        call.cache_key = shape_of(key);
        call.cache_value = shape_of(value);
        call.key_scale = shape_of(readable(cache.key_scale));
        call.value_scale = shape_of(readable(cache.value_scale));
        call.page_size = extent_of(key, 2);
    }

    /// Fills in the sequences of the call, whose rows are those of `rows`.
    void sequences_are_sound(std::string_view name, const tensor &rows, checked_cached_call &call) const {
        const std::int64_t tokens = extent_of(rows, 2), count = arguments_.sequence_count;
        if (count < 0 || count > largest_extent) {
            refuse("the call has ", count, " sequences, their number is between 0 and ", largest_extent,
                   ". Fix: pass the length of the list");
        }
        if (arguments_.sequences == nullptr && count > 0) {
            refuse("the call has ", count,
                   " sequences, but the list of them is a null pointer. Fix: pass the list, or no sequences");
        }
        std::int64_t first_row = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const cached_sequence &sequence = arguments_.sequences[i];
            if (sequence.new_tokens < 0 || sequence.length < sequence.new_tokens || sequence.length > largest_length) {
                refuse("sequence ", i, " has ", sequence.new_tokens, " new tokens and length ", sequence.length,
                       ": the length counts the new tokens too, and is at most ", largest_length,
                       ". Fix: pass the length behind the new tokens");
            }
            if (sequence.new_tokens > tokens - first_row) {
                refuse("the sequences have more new tokens than ", name, " has rows, ", tokens, ": sequence ", i,
                       " has ", sequence.new_tokens, ", those before it ", first_row,
                       ". Fix: pass one row for each new token");
            }
            if (sequence.new_tokens > 0) {
                if (sequence.pages == nullptr) {
                    refuse("sequence ", i, " has length ", sequence.length,
                           ", but its list of pages is a null pointer. Fix: pass a page for each page_size tokens");
                }
                call.sequences.push_back({i, first_row, sequence.new_tokens, sequence.length, sequence.pages});
            }
            first_row += sequence.new_tokens;
        }
        if (first_row != tokens) {
            refuse(name, " has ", tokens, " rows, the sequences have ", first_row,
                   " new tokens in all: they must agree. Extents of ", name, " ", extents_text(rows),
                   ". Fix: pass one row for each new token");
        }
    }

    void inputs_are_sound(const checked_cached_call &call) const {
        inputs_are_listed(arguments_.inputs, arguments_.input_count);
        for (int i = 0; i < variant_.input_count; ++i) {
            for (const checked_sequence &sequence : call.sequences) {
                input_covers_its_indices(i, arguments_.inputs[i], sizes_of(sequence));
            }
        }
    }

    /// Pages from `first_block` on are those that there are; only tokens that are not written may be without one.
    void pages_exist(const checked_cached_call &call, const checked_sequence &sequence, std::int64_t first_block,
                     bool are_written) const {
        const std::int64_t pages = call.cache_key.axes[0].extent;
        for (std::int64_t block = first_block; block * call.page_size < sequence.length; ++block) {
            const std::int32_t page = sequence.pages[block];
            if (pages == 0) {
                refuse("sequence ", sequence.number, " has page ", page, " for its tokens ", block * call.page_size,
                       " to ", std::min((block + 1) * call.page_size, sequence.length) - 1,
                       ", but the cache has no pages. Fix: pass the tensors of the cache that the list belongs to");
            }
            if (page < -1 || page >= pages || (page == -1 && are_written)) {
                refuse("sequence ", sequence.number, " has page ", page, " for its tokens ", block * call.page_size,
                       " to ", std::min((block + 1) * call.page_size, sequence.length) - 1,
                       ", the cache has pages 0 to ", pages - 1,
                       page == -1 ? ". Fix: give tokens that are written a page"
                                  : ". Fix: pass the list that belongs to this cache");
            }
        }
    }

    /// The mask hides tokens whose page is -1; they get any page that there is.
    void complete_pages(checked_cached_call &call, checked_sequence &sequence) const {
        const std::int64_t blocks = (sequence.length + call.page_size - 1) / call.page_size;
        const std::int32_t *const end = sequence.pages + blocks;
        const std::int32_t *missing = std::find(sequence.pages, end, -1);
        if (missing == end) {
            return;
        }
        for (const std::int32_t *first = missing; first != end;) {
            const std::int32_t *const next = std::find_if(first, end, [](std::int32_t page) { return page != -1; });
            const std::int64_t first_key = (first - sequence.pages) * call.page_size;
            const std::int64_t end_key = std::min((next - sequence.pages) * call.page_size, sequence.length);
            const tile_bounds hidden{sequence.number,     0,         variant_.heads,     0,
                                     sequence.new_tokens, first_key, end_key - first_key};
            if (variant_.readings.classify(sizes_of(sequence), hidden, {input_element, arguments_.inputs}) !=
                tile_class::empty) {
                refuse("sequence ", sequence.number, " has no page for its tokens ", first_key, " to ", end_key - 1,
                       ", but the mask of the declaration may let its new tokens see them. Fix: keep them in the "
                       "cache, or "
                       "declare a mask, such as sliding_window, that hides them");
            }
            first = std::find(next, end, -1);
        }
        std::vector<std::int32_t> completed(sequence.pages, end);
        const auto any = std::find_if(completed.begin(), completed.end(), [](std::int32_t page) { return page != -1; });
        std::replace(completed.begin(), completed.end(), -1, any == completed.end() ? 0 : std::int32_t{*any});
        call.completed_lists.push_back(std::move(completed));
        sequence.pages = call.completed_lists.back().data();
    }

    call_sizes sizes_of(const checked_sequence &sequence) const noexcept {
        return {arguments_.sequence_count, sequence.new_tokens, sequence.length};
    }

    /// Kernels count elements in 32 bits.
    void fits_kernels(std::string_view name, const tensor &argument) const {
        const tensor_shape shape = shape_of(argument);
        offset_range range;
        for (int i = 0; i < shape.rank; ++i) {
            extend(range, {std::max<std::int64_t>(shape.axes[i].extent, 1), shape.axes[i].stride});
        }
        if (!fits_halide(shape.axes, shape.rank) || range.highest - range.lowest >= halide_limit) {
            refuse(name, " spans more than ", halide_limit, " elements, kernels count them in 32 bits. Extents ",
                   extents_text(argument), ", strides ", strides_text(argument),
                   ". Fix: spread sequences over several calls, and over several caches");
        }
    }

  private:
    void pages_are_sound(std::string_view name, const tensor &pages, data_type type, std::string_view size_name,
                         std::int64_t row_size) const {
        tensor_is_sound(name, pages, type, 4, text("a tensor (pages, groups, page_size, ", size_name, ")"),
                        typed_by::the_kernel);
        heads_are(name, pages, "groups", variant_.groups);
        last_extent_is(name, pages, size_name, row_size);
        innermost_is_contiguous(name, pages, size_name);
        fits_kernels(name, pages);
    }

    void scale_is_sound(std::string_view name, const tensor &scale, std::string_view of_name, const tensor &of) const {
        if (of.type != data_type::i8) {
            if (scale.given()) {
                refuse(name, " is given, but the cache's ", of_name, " holds ", name_of(of.type),
                       ": only i8 has a scale. Fix: leave it out");
            }
            return;
        }
        tensor_is_sound(name, scale, data_type::f32, 3, "a tensor (pages, groups, page_size)",
                        typed_by::the_declaration);
        for (int i = 0; i < 3; ++i) {
            extent_agrees(name, scale, text("the cache's ", of_name), of, i,
                          i == 0   ? "pages"
                          : i == 1 ? "groups"
                                   : "page_size");
        }
        fits_kernels(name, scale);
    }

    const cached_arguments &arguments_;
    const variant_description &variant_;
    const tensor_types &types_;
};

/// The parts of a cache by name.
std::vector<std::pair<const char *, tensor>> parts_of(const cache_tensors &cache) {
    return {{"the cache's key", readable(cache.key)},
            {"the cache's value", readable(cache.value)},
            {"key_scale", readable(cache.key_scale)},
            {"value_scale", readable(cache.value_scale)}};
}

}  // namespace

checked_cached_call check_cached_arguments(const cached_arguments &arguments, const kernel_description &kernel) {
    const variant_description &variant = *arguments.variant;
    const cached_checker check(arguments, kernel);
    const tensor &query = arguments.query, output = readable(arguments.output),
                 log_sum_exp = readable(arguments.log_sum_exp);
    checked_cached_call call;
    check.rows_are_sound("query", query, kernel.types.query, "heads", variant.heads, "head_dim", variant.head_dim);
    check.rows_are_sound("output", output, kernel.types.output, "heads", variant.heads, "value_dim", variant.value_dim);
    if (arguments.key.given() || arguments.value.given()) {
        check.refuse(
            "key or value is given, but attention reads them from the cache. Fix: leave them out, and store new "
            "tokens by heed::append before");
    }
    check.extent_agrees("output", output, "query", query, 2, "tokens");
    if (log_sum_exp.given()) {
        check.log_sum_exp_is_sound(log_sum_exp, query, "a tensor (1, heads, tokens)", "tokens");
        check.fits_kernels("log_sum_exp", log_sum_exp);
    }
    check.cache_is_sound(call);
    check.sequences_are_sound("query", query, call);
    check.inputs_are_sound(call);
    call.completed_lists.reserve(call.sequences.size());
    for (checked_sequence &sequence : call.sequences) {
        check.pages_exist(call, sequence, 0, false);
        check.complete_pages(call, sequence);
    }
    std::vector<std::pair<const char *, tensor>> read = parts_of(arguments.cache);
    read.emplace_back("query", query);
    for (const auto &[name, written] : {std::pair("output", &output), std::pair("log_sum_exp", &log_sum_exp)}) {
        if (written->given()) {
            check.written_is_separate(name, *written, read, arguments.inputs);
        }
    }
    check.memory_is_separate("output", output, "log_sum_exp", log_sum_exp);
    call.query = shape_of(query);
    call.output = shape_of(output);
    call.log_sum_exp = shape_of(log_sum_exp);
    return call;
}

checked_cached_call check_append_arguments(const cached_arguments &arguments, const kernel_description &kernel) {
    const variant_description &variant = *arguments.variant;
    const cached_checker check(arguments, kernel);
    const tensor &key = arguments.key, &value = arguments.value;
    checked_cached_call call;
    check.rows_are_sound("key", key, kernel.types.query, "groups", variant.groups, "head_dim", variant.head_dim);
    check.rows_are_sound("value", value, kernel.types.query, "groups", variant.groups, "value_dim", variant.value_dim);
    if (arguments.query.given() || arguments.output.given() || arguments.log_sum_exp.given()) {
        check.refuse(
            "query, output or log_sum_exp is given, but append only stores keys and values. Fix: leave them out, "
            "and call heed::attend with them afterwards");
    }
    check.extent_agrees("value", value, "key", key, 2, "tokens");
    check.cache_is_sound(call);
    check.sequences_are_sound("key", key, call);
    check.inputs_are_sound(call);
    std::vector<std::pair<std::int32_t, std::int64_t>> written_pages;
    for (const checked_sequence &sequence : call.sequences) {
        const std::int64_t first_token = sequence.length - sequence.new_tokens;
        const std::int64_t first_block = first_token / call.page_size;
        const std::int64_t first_writable = arguments.sequences[sequence.number].first_writable;
        if (first_token < first_writable) {
            check.refuse(
                "sequence ", sequence.number, " would get tokens from ", first_token, " on, but those before ",
                first_writable,
                " are in pages that other sequences share. Fix: store tokens before the sequence is forked, or "
                "make room by extend() after that");
        }
        check.pages_exist(call, sequence, first_block, true);
        for (std::int64_t block = first_block; block * call.page_size < sequence.length; ++block) {
            written_pages.emplace_back(sequence.pages[block], sequence.number);
        }
    }
    std::sort(written_pages.begin(), written_pages.end());
    const auto twice = std::adjacent_find(written_pages.begin(), written_pages.end(),
                                          [](const auto &a, const auto &b) { return a.first == b.first; });
    if (twice != written_pages.end()) {
        check.refuse("page ", twice->first, " would get new tokens of sequence ", twice->second, " and of sequence ",
                     (twice + 1)->second,
                     ": a page that is shared, or occurs twice, cannot be written. Fix: give each a page of its own");
    }
    const std::vector<std::pair<const char *, tensor>> parts = parts_of(arguments.cache);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].second.given()) {
            std::vector<std::pair<const char *, tensor>> others(parts);
            others[i] = {"key", key};
            others.emplace_back("value", value);
            check.written_is_separate(parts[i].first, parts[i].second, others, arguments.inputs);
        }
    }
    call.key = shape_of(key);
    call.value = shape_of(value);
    return call;
}

}  // namespace heed::detail
