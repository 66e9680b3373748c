// SPDX-License-Identifier: MIT
//
// Reading ahead, which generated kernels call: compilers emit no prefetches of their own, and Halide's ask for one line
// of several. Prefetches never fault, so rows behind the last one do no harm.

#include <HalideRuntime.h>

#include <cstdint>

namespace {

constexpr std::int64_t cache_line = 64;

}  // namespace

extern "C" {

/// Asks for the first `elements` elements of `rows` rows of key or value (dim, key, group, batch), from `row` on, into
/// the second cache. Returns 0, for a sum to start with.
float heed_read_ahead(const halide_buffer_t *tensor, std::int32_t row, std::int32_t group, std::int32_t batch,
                      std::int32_t rows, std::int32_t elements) {
    const std::int64_t bytes = tensor->type.bytes();
    const auto &[dims, keys, groups, batches] = *reinterpret_cast<const halide_dimension_t(*)[4]>(tensor->dim);
    (void)dims;  // starts at 0
    const std::uint8_t *first = tensor->host + bytes * (std::int64_t{row - keys.min} * keys.stride +
                                                        std::int64_t{group - groups.min} * groups.stride +
                                                        std::int64_t{batch - batches.min} * batches.stride);
    for (std::int32_t i = 0; i < rows; ++i, first += bytes * keys.stride) {
        for (std::int64_t line = 0; line < bytes * elements; line += cache_line) {
            __builtin_prefetch(first + line, 0, 2);
        }
    }
    return 0.0F;
}

/// The same for rows of one group of a cache (dim, token, group, page), whose pages a list names in order.
float heed_read_ahead_in_pages(const halide_buffer_t *tensor, const halide_buffer_t *pages, std::int32_t row,
                               std::int32_t group, std::int32_t rows, std::int32_t elements) {
    const std::int64_t bytes = tensor->type.bytes();
    const std::int64_t first_element = tensor->dim[0].min;
    const halide_dimension_t &tokens = tensor->dim[1], &groups = tensor->dim[2], &all_pages = tensor->dim[3];
    const auto *const list = reinterpret_cast<const std::int32_t *>(pages->host);
    std::int32_t block = row / tokens.extent, token = row % tokens.extent;
    for (std::int32_t i = 0; i < rows && block < pages->dim[0].extent; ++i) {
        const std::uint8_t *first =
            tensor->host + bytes * (std::int64_t{token} * tokens.stride + std::int64_t{group} * groups.stride +
                                    std::int64_t{list[block]} * all_pages.stride - first_element);
        for (std::int64_t line = 0; line < bytes * elements; line += cache_line) {
            __builtin_prefetch(first + line, 0, 2);
        }
        if (++token == tokens.extent) {
            token = 0;
            ++block;
        }
    }
    return 0.0F;
}
}
