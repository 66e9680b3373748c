// SPDX-License-Identifier: MIT

#include "device_memory.hpp"

#include <algorithm>

namespace heed::detail {

device_memory::~device_memory() {
    for (halide_buffer_t *buffer : lent_) free(*buffer);
}

void device_memory::lend(halide_buffer_t &buffer, bool is_written) {
    if (std::find(lent_.begin(), lent_.end(), &buffer) == lent_.end()) lent_.push_back(&buffer);
    buffer.flags = 0;
    if (!is_written) buffer.flags = halide_buffer_flag_host_dirty;
}

int device_memory::fetch(halide_buffer_t &buffer) noexcept { return halide_copy_to_host(&context_, &buffer); }

void device_memory::free(halide_buffer_t &buffer) noexcept {
    if (buffer.device != 0) halide_device_free(&context_, &buffer);
    buffer.flags = 0;
}

}  // namespace heed::detail
