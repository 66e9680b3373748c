// SPDX-License-Identifier: MIT
//
// Reading ahead, which generated kernels call: compilers emit no prefetches of their own, and Halide's ask for one line
// of several. Prefetches never fault, so rows behind the last one do no harm.

#include <HalideRuntime.h>

#include <cstdint>

namespace {

constexpr std::int64_t cache_line = 64;

template <int Locality>
void read_lines(const std::uint8_t *first, const std::uint8_t *end) noexcept {
    for (; first < end; first += cache_line) {
        __builtin_prefetch(first, 0, Locality);
    }
}

}  // namespace

extern "C" {

/// Asks for `rows` rows of key or value (dim, key, group, batch), from `row` on, of each `elements` elements from
/// `element` on: into the first cache, or the second if `far`. Returns 0, for a sum to start with.
float heed_read_ahead(const halide_buffer_t *tensor, std::int32_t element, std::int32_t row, std::int32_t group,
                      std::int32_t batch, std::int32_t rows, std::int32_t elements, bool far) {
    const std::int64_t bytes = tensor->type.bytes();
    const auto &[dims, keys, groups, batches] = *reinterpret_cast<const halide_dimension_t(*)[4]>(tensor->dim);
    const std::uint8_t *line =
        tensor->host +
        bytes * ((element - dims.min) + std::int64_t{row - keys.min} * keys.stride +
                 std::int64_t{group - groups.min} * groups.stride + std::int64_t{batch - batches.min} * batches.stride);
    for (std::int32_t i = 0; i < rows; ++i, line += bytes * keys.stride) {
        const std::uint8_t *const end = line + bytes * elements;
        far ? read_lines<2>(line, end) : read_lines<3>(line, end);
    }
    return 0.0F;
}
}
