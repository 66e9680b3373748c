// SPDX-License-Identifier: MIT
//
// The cache of keys and values: who owns which page. Memory is allocated once, as pages of some number of tokens; a
// sequence has a list of the pages that hold its tokens, and the pool has the others. What the tokens hold is not
// looked at: heed::append writes it and heed::attend reads it (heed/cached_call.hpp), once per layer of the model.
//
//     heed::key_value_cache cache(models::my_variant.description(), {heed::data_type::f16, 1024, 64, layers});
//     const int chat = cache.add();
//     cache.extend(chat, prompt_tokens);          // room first, for all layers,
//     ... cache.tensors(layer), cache.view(chat, prompt_tokens) ...  // then append and attend of each layer
//
// Pages are shared. fork() copies a page list and no token; a page that others use is copied before a sequence grows
// into it. So tokens are written where they have just been given room, and before the sequence is forked: only that
// room belongs to the sequence alone.
//
// - A prefix that many sequences start with: append it to one sequence, fork that one per request.
// - Tokens that were proposed and refused: truncate().
// - A sliding window: keep() after each step. The pages between the first tokens and the window go back to the pool,
//   and the next extend() takes them out again: the list grows at its end while only a few of its pages are real, the
//   others being -1. That is a ring buffer: some pages, used round and round, whose tokens keep their positions.
// - A contiguous cache: pages of as many tokens as the longest sequence has, one page per sequence.
//
// Not thread-safe: a function that changes the cache runs alone. Those that are const may run together.
#pragma once

#include <cstdint>
#include <memory>

#include <heed/cached_call.hpp>
#include <heed/error.hpp>
#include <heed/kernel_table.hpp>

namespace heed {

struct cache_options {
    data_type type = data_type::f32;  ///< of the elements: f32, f16, bf16, or i8 with a scale per token and group
    std::int64_t pages = 0;           ///< of all sequences together
    std::int64_t page_size = 64;      ///< tokens of a page
    std::int64_t layers = 1;          ///< layers share the page lists; each has memory of its own
};

/// Pages for the keys and values of many sequences. Errors are invalid_argument_error unless something else is said,
/// and nothing has changed then. A cache that was moved from can only be destroyed or assigned to.
class key_value_cache {
  public:
    /// The number of a sequence, which is given out again after remove().
    using sequence = int;

    /// Takes groups, head_dim and value_dim from the variant, which may go away afterwards. Throws out_of_memory_error
    /// where there is no memory. The memory holds whatever it holds, and is touched when tokens are written.
    key_value_cache(const variant_description &variant, const cache_options &options);
    ~key_value_cache();
    key_value_cache(key_value_cache &&) noexcept;
    key_value_cache &operator=(key_value_cache &&) noexcept;

    /// A sequence without tokens.
    sequence add();

    /// A sequence with the tokens of `original`, in the same pages. With truncate(), one with the first of them.
    sequence fork(sequence original);

    /// Gives back the pages that no other sequence uses.
    void remove(sequence number);

    /// Tokens, those that keep() gave up included.
    std::int64_t length(sequence number) const;

    /// Makes room for `tokens` more tokens. A page that is partly filled and shared is copied for it, in all layers, to
    /// a free page. Throws cache_full_error if there are too few free pages.
    void extend(sequence number, std::int64_t tokens);

    /// The same without exceptions; status_code::cache_full.
    status try_extend(sequence number, std::int64_t tokens) noexcept;

    /// Drops all tokens but the first `length`. The last token that stays must not be one that keep() gave up.
    void truncate(sequence number, std::int64_t length);

    /// Gives up the tokens between the first `first_tokens` and the last `recent_tokens`, which a mask must hide from
    /// then on: pages that hold nothing else leave the list, which has -1 for them. Either number may exceed the
    /// length.
    void keep(sequence number, std::int64_t first_tokens, std::int64_t recent_tokens);

    std::int64_t free_pages() const;

    /// The sequence as a call takes it, for its last `new_tokens` tokens. Valid until the sequence changes.
    cached_sequence view(sequence number, std::int64_t new_tokens) const;

    /// The memory of a layer, for calls of any of the sequences. Valid as long as the cache, also if that moves.
    cache_tensors tensors(int layer = 0) const;

    /// Size of all keys, values and scales, in all layers.
    std::int64_t bytes() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace heed
