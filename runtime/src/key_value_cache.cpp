// SPDX-License-Identifier: MIT

#include <heed/key_value_cache.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <utility>
#include <vector>

#include "as_status.hpp"
#include "text.hpp"

namespace heed {
namespace {

using detail::text;

constexpr std::int64_t largest_extent = INT32_MAX;  ///< of a tensor in a call
constexpr std::int64_t alignment = 64;
constexpr std::int32_t given_up = -1;  ///< in a page list

template <typename... Piece>
[[noreturn]] void refuse(const Piece &...pieces) {
    throw invalid_argument_error(text("heed::key_value_cache", pieces...));
}

/// The product of factors that are not negative, rounded up to whole cache lines; false if it is out of range.
bool aligned_product(std::initializer_list<std::int64_t> factors, std::int64_t &product) {
    product = 1;
    for (const std::int64_t factor : factors) {
        if (__builtin_mul_overflow(product, factor, &product)) {
            return false;
        }
    }
    if (__builtin_add_overflow(product, alignment - 1, &product)) {
        return false;
    }
    product = product / alignment * alignment;
    return true;
}

/// What `change` returns; no memory for it is one of Heed's errors.
template <typename Change>
auto with_memory(const Change &change) {
    try {
        return change();
    } catch (const std::bad_alloc &) {
        throw out_of_memory_error("heed: out of memory");
    }
}

/// The tokens of a sequence: ceil(length / page_size) pages.
struct page_list {
    bool exists = false;
    std::int64_t length = 0;
    std::vector<std::int32_t> pages;
};

/// One of the tensors that every layer has.
struct stored_tensor {
    std::int64_t token_bytes = 0;  ///< of a group; 0 for scales that the type does without
    std::int64_t extents[4] = {};
    std::int64_t offset = 0;  ///< in the memory of a layer
};

struct memory_deleter {
    void operator()(char *memory) const noexcept { std::free(memory); }
};

}  // namespace

struct key_value_cache::state {
    cache_options options;
    stored_tensor key, value, key_scale, value_scale;
    std::int64_t layer_bytes = 0;  ///< with the space that aligns the tensors
    std::unique_ptr<char, memory_deleter> memory;

    std::vector<page_list> sequences;
    std::vector<std::int32_t> free_pages;  ///< the next one last; has room for all
    std::vector<int> users;                ///< of each page: the sequences that list it

    page_list &known(const char *function, sequence number) {
        if (number < 0 || static_cast<std::size_t>(number) >= sequences.size() ||
            !sequences[static_cast<std::size_t>(number)].exists) {
            refuse("::", function, ": there is no sequence ", number,
                   ": add() and fork() give numbers out, remove() takes them back. Fix: pass a number that is in use");
        }
        return sequences[static_cast<std::size_t>(number)];
    }

    std::int32_t take_page() noexcept {
        const std::int32_t page = free_pages.back();
        free_pages.pop_back();
        users[static_cast<std::size_t>(page)] = 1;
        return page;
    }

    bool is_shared(std::int32_t page) const noexcept { return users[static_cast<std::size_t>(page)] > 1; }

    void leave_page(std::int32_t page) noexcept {
        if (page != given_up && --users[static_cast<std::size_t>(page)] == 0) {
            free_pages.push_back(page);
        }
    }

    char *data_of(const stored_tensor &stored, std::int64_t layer) const noexcept {
        return memory.get() + layer * layer_bytes + stored.offset;
    }

    void copy_first_tokens(std::int32_t from, std::int32_t to, std::int64_t tokens) const noexcept {
        for (const stored_tensor *stored : {&key, &value, &key_scale, &value_scale}) {
            const std::int64_t groups = stored->extents[1];
            const std::int64_t group_bytes = options.page_size * stored->token_bytes;
            for (std::int64_t layer = 0; layer < options.layers; ++layer) {
                char *const data = data_of(*stored, layer);
                for (std::int64_t group = 0; group < groups; ++group) {
                    std::memcpy(data + (to * groups + group) * group_bytes,
                                data + (from * groups + group) * group_bytes,
                                static_cast<std::size_t>(tokens * stored->token_bytes));
                }
            }
        }
    }
};

key_value_cache::key_value_cache(const variant_description &variant, const cache_options &options) {
    const data_type type = options.type;
    if (type != data_type::f32 && type != data_type::f16 && type != data_type::bf16 && type != data_type::i8) {
        refuse(": type is ", name_of(type), ", keys and values are f32, f16, bf16 or i8. Fix: pass one of these");
    }
    const auto check_count = [](const char *name, std::int64_t count, const char *what) {
        if (count < 1 || count > largest_extent) {
            refuse(": ", name, " is ", count, ", it must be between 1 and ", largest_extent, ". Fix: pass ", what);
        }
    };
    check_count("pages", options.pages, "the number of pages for all sequences");
    check_count("page_size", options.page_size,
                "the tokens of a page, for a contiguous cache those of the longest sequence");
    check_count("layers", options.layers, "the number of layers that use the page lists");

    with_memory([&] { state_ = std::make_unique<state>(); });
    state_->options = options;
    const bool has_scales = type == data_type::i8;
    const auto place = [&](stored_tensor &stored, std::int64_t last_extent, std::int64_t token_bytes) {
        stored = {token_bytes, {options.pages, variant.groups, options.page_size, last_extent}, state_->layer_bytes};
        std::int64_t bytes = 0;
        return aligned_product({token_bytes, variant.groups, options.page_size, options.pages}, bytes) &&
               !__builtin_add_overflow(state_->layer_bytes, bytes, &state_->layer_bytes);
    };
    std::int64_t all_bytes = 0;
    const bool fits = place(state_->key, variant.head_dim, std::int64_t{variant.head_dim} * bytes_of(type)) &&
                      place(state_->value, variant.value_dim, std::int64_t{variant.value_dim} * bytes_of(type)) &&
                      place(state_->key_scale, 1, has_scales ? bytes_of(data_type::f32) : 0) &&
                      place(state_->value_scale, 1, has_scales ? bytes_of(data_type::f32) : 0) &&
                      aligned_product({state_->layer_bytes, options.layers}, all_bytes);
    if (!fits) {
        refuse(": ", options.pages, " pages of ", options.page_size, " tokens in ", options.layers,
               " layers are more bytes than an address can reach: each token has ", variant.groups, " groups of ",
               variant.head_dim, " and ", variant.value_dim, " elements. Fix: pass fewer or smaller pages");
    }
    // Calls count the elements of a layer in 32 bits.
    const std::int64_t row_size = std::max(variant.head_dim, variant.value_dim);
    std::int64_t elements = 0;
    if (__builtin_mul_overflow(options.pages * options.page_size, row_size * variant.groups, &elements) ||
        elements > largest_extent) {
        refuse(": ", options.pages, " pages of ", options.page_size, " tokens, ", variant.groups, " groups and ",
               row_size, " elements are more than ", largest_extent,
               " elements in a layer, calls count them in 32 bits. Fix: spread sequences over several caches");
    }
    state_->memory.reset(static_cast<char *>(
        std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(all_bytes))));
    if (state_->memory == nullptr) {
        throw out_of_memory_error(text("heed::key_value_cache: no memory for ", all_bytes, " bytes: ", options.pages,
                                       " pages of ", options.page_size, " tokens in ", options.layers,
                                       " layers. Fix: pass fewer or smaller pages"));
    }
    with_memory([&] {
        state_->users.resize(static_cast<std::size_t>(options.pages));
        state_->free_pages.resize(static_cast<std::size_t>(options.pages));
    });
    for (std::size_t i = 0; i < state_->free_pages.size(); ++i) {
        state_->free_pages[i] = static_cast<std::int32_t>(state_->free_pages.size() - 1 - i);
    }
}

key_value_cache::~key_value_cache() = default;
key_value_cache::key_value_cache(key_value_cache &&) noexcept = default;
key_value_cache &key_value_cache::operator=(key_value_cache &&) noexcept = default;

key_value_cache::sequence key_value_cache::add() {
    std::vector<page_list> &sequences = state_->sequences;
    auto place = std::find_if(sequences.begin(), sequences.end(), [](const page_list &list) { return !list.exists; });
    if (place == sequences.end()) {
        with_memory([&] { sequences.emplace_back(); });
        place = sequences.end() - 1;
    }
    place->exists = true;
    return static_cast<sequence>(place - sequences.begin());
}

key_value_cache::sequence key_value_cache::fork(sequence original) {
    page_list copy = with_memory([&] { return page_list(state_->known("fork", original)); });
    const sequence number = add();
    for (const std::int32_t page : copy.pages) {
        if (page != given_up) {
            ++state_->users[static_cast<std::size_t>(page)];
        }
    }
    state_->sequences[static_cast<std::size_t>(number)] = std::move(copy);
    return number;
}

void key_value_cache::remove(sequence number) {
    page_list &list = state_->known("remove", number);
    for (const std::int32_t page : list.pages) {
        state_->leave_page(page);
    }
    list = {};
}

std::int64_t key_value_cache::length(sequence number) const { return state_->known("length", number).length; }

void key_value_cache::extend(sequence number, std::int64_t tokens) {
    page_list &list = state_->known("extend", number);
    if (tokens < 0) {
        refuse("::extend: sequence ", number, " is to get ", tokens,
               " tokens, which must not be negative. Fix: call truncate() to drop tokens");
    }
    if (tokens == 0) {
        return;
    }
    const std::int64_t page_size = state_->options.page_size;
    const std::int64_t tokens_of_last_page = list.length % page_size;
    const std::int64_t room = tokens_of_last_page == 0 ? 0 : page_size - tokens_of_last_page;
    const bool copies = room > 0 && state_->is_shared(list.pages.back());
    const std::int64_t added = tokens > room ? (tokens - room - 1) / page_size + 1 : 0;
    const std::int64_t needed = added + (copies ? 1 : 0);
    if (needed > free_pages()) {
        throw cache_full_error(text(
            "heed::key_value_cache::extend: sequence ", number, " has ", list.length, " tokens and is to get ", tokens,
            " more, for which it needs ", needed, needed == 1 ? " page" : " pages", " of ", page_size, " tokens",
            copies ? " (one is the copy of its last page, which is shared)" : "", ", but ", free_pages(), " of ",
            state_->options.pages, " are free. Fix: truncate or remove sequences, or make the cache with more pages"));
    }
    const std::size_t pages_before = list.pages.size();
    with_memory([&] { list.pages.resize(pages_before + static_cast<std::size_t>(added), given_up); });
    if (copies) {
        std::int32_t &last = list.pages[pages_before - 1];
        const std::int32_t copy = state_->take_page();
        state_->copy_first_tokens(last, copy, tokens_of_last_page);
        state_->leave_page(last);
        last = copy;
    }
    std::generate(list.pages.begin() + static_cast<std::ptrdiff_t>(pages_before), list.pages.end(),
                  [this] { return state_->take_page(); });
    list.length += tokens;
}

status key_value_cache::try_extend(sequence number, std::int64_t tokens) noexcept {
    return detail::as_status([&] { extend(number, tokens); });
}

void key_value_cache::truncate(sequence number, std::int64_t length) {
    page_list &list = state_->known("truncate", number);
    if (length < 0 || length > list.length) {
        refuse("::truncate: sequence ", number, " has ", list.length, " tokens, ", length,
               " of them cannot stay. Fix: pass a length between 0 and ", list.length,
               ", or call extend() for more tokens");
    }
    if (length == list.length) {
        return;
    }
    const std::int64_t page_size = state_->options.page_size;
    // Growing from here would put tokens behind ones that are lost but that a mask may show again.
    if (length > 0 && list.pages[static_cast<std::size_t>((length - 1) / page_size)] == given_up) {
        refuse("::truncate: sequence ", number, " would end with token ", length - 1, " of ", list.length,
               ", which keep() has given up. Fix: let keep() keep as many recent tokens more as truncate() may drop, "
               "or drop fewer");
    }
    const auto pages_kept = static_cast<std::size_t>(length == 0 ? 0 : (length - 1) / page_size + 1);
    for (; list.pages.size() > pages_kept; list.pages.pop_back()) {
        state_->leave_page(list.pages.back());
    }
    list.length = length;
}

void key_value_cache::keep(sequence number, std::int64_t first_tokens, std::int64_t recent_tokens) {
    page_list &list = state_->known("keep", number);
    if (first_tokens < 0 || recent_tokens < 0) {
        refuse("::keep: sequence ", number, " is to keep ", first_tokens, " first and ", recent_tokens,
               " recent tokens, which must not be negative. Fix: pass 0 to keep none");
    }
    const std::int64_t page_size = state_->options.page_size;
    const std::int64_t first_hidden = std::min(first_tokens, list.length);
    const std::int64_t first_recent = list.length - std::min(recent_tokens, list.length);
    // A last page that has room is never given up: it does not end before the recent tokens do.
    for (std::int64_t i = (first_hidden + page_size - 1) / page_size; i < first_recent / page_size; ++i) {
        std::int32_t &page = list.pages[static_cast<std::size_t>(i)];
        state_->leave_page(page);
        page = given_up;
    }
}

std::int64_t key_value_cache::free_pages() const { return static_cast<std::int64_t>(state_->free_pages.size()); }

cached_sequence key_value_cache::view(sequence number, std::int64_t new_tokens) const {
    const page_list &list = state_->known("view", number);
    if (new_tokens < 0 || new_tokens > list.length) {
        refuse("::view: sequence ", number, " has ", list.length, " tokens, ", new_tokens,
               " of them cannot be new. Fix: call extend() for the new tokens first");
    }
    // Pages are shared from the front.
    std::int64_t shared = 0;
    for (std::size_t i = list.pages.size(); i > 0 && shared == 0; --i) {
        const std::int32_t page = list.pages[i - 1];
        if (page != given_up && state_->users[static_cast<std::size_t>(page)] > 1) {
            shared = static_cast<std::int64_t>(i) * state_->options.page_size;
        }
    }
    return {new_tokens, list.length, list.pages.data(), std::min(shared, list.length)};
}

cache_tensors key_value_cache::tensors(int layer) const {
    if (layer < 0 || layer >= state_->options.layers) {
        refuse("::tensors: layer is ", layer, ", the cache has layers 0 to ", state_->options.layers - 1,
               ". Fix: pass 'layers' to the constructor");
    }
    const auto tensor_of = [&](const stored_tensor &stored, data_type type, int rank) {
        return stored.token_bytes == 0
                   ? output_tensor{}
                   : output_tensor{state_->data_of(stored, layer), type, rank, stored.extents, nullptr};
    };
    const data_type type = state_->options.type;
    return {tensor_of(state_->key, type, 4), tensor_of(state_->value, type, 4),
            tensor_of(state_->key_scale, data_type::f32, 3), tensor_of(state_->value_scale, data_type::f32, 3)};
}

std::int64_t key_value_cache::bytes() const {
    std::int64_t token_bytes = 0;
    for (const stored_tensor *stored : {&state_->key, &state_->value, &state_->key_scale, &state_->value_scale}) {
        token_bytes += stored->token_bytes * stored->extents[1];
    }
    return token_bytes * state_->options.page_size * state_->options.pages * state_->options.layers;
}

}  // namespace heed
