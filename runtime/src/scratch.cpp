// SPDX-License-Identifier: MIT

#include "scratch.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace heed::detail {
namespace {

/// Stands in front of each block, in a space of its own of scratch_alignment bytes.
struct block_header {
    std::size_t bytes;  ///< without header and the space behind
    block_header *next;
};
static_assert(sizeof(block_header) <= scratch_alignment);

void *data_of(block_header *header) noexcept { return reinterpret_cast<char *>(header) + scratch_alignment; }

block_header *header_of(void *data) noexcept {
    return reinterpret_cast<block_header *>(static_cast<char *>(data) - scratch_alignment);
}

/// Blocks that wait for their next use, the one given back last first.
class block_cache {
  public:
    block_cache() noexcept = default;
    block_cache(const block_cache &) = delete;
    block_cache &operator=(const block_cache &) = delete;

    ~block_cache() {
        trim(0);
        closed_ = true;
    }

    /// A waiting block of at least `bytes` that does not waste more than it serves; null if there is none.
    block_header *take(std::size_t bytes) noexcept {
        for (block_header **link = &first_; *link != nullptr; link = &(*link)->next) {
            block_header *header = *link;
            if (header->bytes >= bytes && header->bytes / 2 <= bytes) {
                *link = header->next;
                kept_bytes_ -= header->bytes;
                return header;
            }
        }
        return nullptr;
    }

    void keep(block_header *header) noexcept {
        // Thread-local destructors that still run kernels come here after ours: keep nothing then.
        if (closed_ || header->bytes > scratch_kept_bytes) {
            std::free(header);
            return;
        }
        trim(scratch_kept_bytes - header->bytes);
        header->next = first_;
        first_ = header;
        kept_bytes_ += header->bytes;
    }

    std::size_t kept_bytes() const noexcept { return kept_bytes_; }

  private:
    /// Frees the blocks that waited longest until at most `limit` bytes are kept.
    void trim(std::size_t limit) noexcept {
        if (kept_bytes_ <= limit) {
            return;
        }
        std::size_t bytes = 0;
        block_header **link = &first_;
        while (*link != nullptr && bytes + (*link)->bytes <= limit) {
            bytes += (*link)->bytes;
            link = &(*link)->next;
        }
        block_header *rest = *link;
        *link = nullptr;
        kept_bytes_ = bytes;
        while (rest != nullptr) {
            block_header *next = rest->next;
            std::free(rest);
            rest = next;
        }
    }

    block_header *first_ = nullptr;
    std::size_t kept_bytes_ = 0;
    bool closed_ = false;
};

thread_local block_cache cache;

}  // namespace

void *allocate_scratch(std::size_t bytes) noexcept {
    constexpr std::size_t around = 2 * scratch_alignment;
    if (bytes > SIZE_MAX / 2) {
        return nullptr;
    }
    bytes = (bytes + scratch_alignment) / scratch_alignment * scratch_alignment;
    if (block_header *waiting = cache.take(bytes)) {
        return data_of(waiting);
    }
    void *memory = std::aligned_alloc(scratch_alignment, bytes + around);
    return memory == nullptr ? nullptr : data_of(new (memory) block_header{bytes, nullptr});
}

void free_scratch(void *block) noexcept {
    if (block != nullptr) {
        cache.keep(header_of(block));
    }
}

std::size_t scratch_kept() noexcept { return cache.kept_bytes(); }

float *scratch_block::allocate(std::size_t floats) {
    data_ = floats > SIZE_MAX / sizeof(float) ? nullptr : allocate_scratch(floats * sizeof(float));
    if (data_ == nullptr) {
        throw std::bad_alloc();
    }
    return static_cast<float *>(data_);
}

}  // namespace heed::detail
