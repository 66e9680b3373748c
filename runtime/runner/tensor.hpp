// SPDX-License-Identifier: MIT
//
// Tensors of the runner: f32 memory seen through extents and strides, in the arrangements that callers have in
// practice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heed::runner {

/// Pages of memory of our own. The last element ends at an unreadable page, and the first page is unreadable as well,
/// so that a kernel which leaves its tensors is stopped at once.
class guarded_memory {
  public:
    explicit guarded_memory(std::size_t bytes);
    ~guarded_memory();
    guarded_memory(const guarded_memory &) = delete;
    guarded_memory &operator=(const guarded_memory &) = delete;

    void *data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    void *pages_;
    std::size_t page_bytes_;
    void *data_;
    std::size_t size_;
};

/// How the elements of a call's tensors lie in memory.
enum class arrangement {
    row_major,     ///< (batch, heads, length, dim), as allocated
    length_major,  ///< (batch, length, heads, dim)
    packed,     ///< one buffer of rows [query heads | keys | values] where the lengths agree, else of [keys | values]
    padded,     ///< row-major with unused elements after each row
    reversed,   ///< row-major with heads and rows in descending order: negative strides
    broadcast,  ///< keys and values shared by all groups and batches: strides of 0
};

const char *name_of(arrangement how);

/// Extents and strides (in elements) outermost first.
struct layout {
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;

    std::int64_t element_count() const;
};

layout row_major_layout(std::vector<std::int64_t> extents);

/// A view of f32 elements with the memory that it lies in, which several tensors may share.
struct tensor {
    std::shared_ptr<guarded_memory> memory;
    float *first = nullptr;  ///< the element at index (0, 0, …)
    layout shape;

    float *row(std::int64_t batch, std::int64_t head, std::int64_t position) const {
        return first + batch * shape.strides[0] + head * shape.strides[1] + position * shape.strides[2];
    }
    float *all() const { return static_cast<float *>(memory->data()); }
    std::size_t all_count() const { return memory->size() / sizeof(float); }
};

/// A tensor in memory of its own, every element of that memory set to `background`.
tensor make_tensor(const std::vector<std::int64_t> &extents, arrangement how, float background);

/// Sets all memory of a tensor, the elements between its rows included.
void fill_memory(const tensor &target, float value);

}  // namespace heed::runner
