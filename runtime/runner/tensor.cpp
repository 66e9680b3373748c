// SPDX-License-Identifier: MIT
#include "tensor.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace heed::runner {

namespace {

std::size_t page_size() {
    static const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

}  // namespace

guarded_memory::guarded_memory(std::size_t bytes) : size_(bytes) {
    const std::size_t page = page_size();
    const std::size_t usable = (bytes + page - 1) / page * page;
    page_bytes_ = usable + 2 * page;
    pages_ = mmap(nullptr, page_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages_ == MAP_FAILED) throw std::bad_alloc();
    auto *begin = static_cast<std::byte *>(pages_) + page;
    if (usable > 0 && mprotect(begin, usable, PROT_READ | PROT_WRITE) != 0) {
        munmap(pages_, page_bytes_);
        throw std::bad_alloc();
    }
    data_ = begin + (usable - bytes);
}

guarded_memory::~guarded_memory() { munmap(pages_, page_bytes_); }

const char *name_of(arrangement how) {
    switch (how) {
        case arrangement::row_major:
            return "row-major";
        case arrangement::length_major:
            return "length-major";
        case arrangement::packed:
            return "packed";
        case arrangement::padded:
            return "padded";
        case arrangement::reversed:
            return "reversed";
        case arrangement::broadcast:
            return "broadcast";
    }
    return "?";
}

std::int64_t layout::element_count() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    return count;
}

layout row_major_layout(std::vector<std::int64_t> extents) {
    layout result{std::move(extents), {}};
    result.strides.resize(result.extents.size());
    std::int64_t stride = 1;
    for (std::size_t i = result.extents.size(); i-- > 0;) {
        result.strides[i] = stride;
        stride *= std::max<std::int64_t>(result.extents[i], 1);
    }
    return result;
}

tensor make_tensor(const std::vector<std::int64_t> &extents, arrangement how, float background) {
    // An odd number of unused elements: rows then begin at every alignment.
    constexpr std::int64_t row_padding = 3;
    tensor result;
    result.shape = row_major_layout(extents);
    auto &strides = result.shape.strides;
    std::int64_t count = result.shape.element_count();
    std::int64_t first = 0;
    if (extents.size() == 4) {
        const std::int64_t heads = extents[1], length = extents[2], dim = extents[3];
        switch (how) {
            case arrangement::length_major:
                strides = {length * heads * dim, dim, heads * dim, 1};
                break;
            case arrangement::padded:
                strides = {heads * length * (dim + row_padding), length * (dim + row_padding), dim + row_padding, 1};
                count = extents[0] * strides[0];
                break;
            case arrangement::reversed:
                strides = {heads * length * dim, -length * dim, -dim, 1};
                first = count > 0 ? (heads - 1) * length * dim + (length - 1) * dim : 0;
                break;
            case arrangement::broadcast:
                strides = {0, 0, dim, 1};
                count = length * dim;
                break;
            case arrangement::row_major:
            case arrangement::packed:
                break;
        }
    }
    result.memory = std::make_shared<guarded_memory>(static_cast<std::size_t>(count) * sizeof(float));
    result.first = result.all() + first;
    fill_memory(result, background);
    return result;
}

void fill_memory(const tensor &target, float value) { std::fill_n(target.all(), target.all_count(), value); }

}  // namespace heed::runner
