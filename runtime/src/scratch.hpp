// SPDX-License-Identifier: MIT
//
// Scratch memory: each thread keeps the blocks that its kernels gave back, so that a task does not ask the system for
// memory each time. A thread that ends gives its blocks to the system.
#pragma once

#include <cstddef>

namespace heed::detail {

/// Kernels read and write whole vectors: blocks start at a multiple of this and may be read as far before and behind.
inline constexpr std::size_t scratch_alignment = 128;

/// What a thread keeps at most while it runs no kernel.
inline constexpr std::size_t scratch_kept_bytes = std::size_t{16} << 20;

/// Null if the system has no memory left.
void *allocate_scratch(std::size_t bytes) noexcept;

/// Null is allowed. The block may come from another thread.
void free_scratch(void *block) noexcept;

/// Bytes that wait for their next use in this thread.
std::size_t scratch_kept() noexcept;

/// A block for one scope.
class scratch_block {
  public:
    scratch_block() noexcept = default;
    scratch_block(const scratch_block &) = delete;
    scratch_block &operator=(const scratch_block &) = delete;
    ~scratch_block() { free_scratch(data_); }

    /// Throws std::bad_alloc.
    float *allocate(std::size_t floats);

  private:
    void *data_ = nullptr;
};

}  // namespace heed::detail
