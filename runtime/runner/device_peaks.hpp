// SPDX-License-Identifier: MIT
//
// Yardsticks 1 and 2 for devices: how many multiplications and additions a device does, how fast it reads its memory.
#pragma once

#include <heed/device.hpp>
#include <heed/yardsticks.hpp>

#include <cstddef>
#include <memory>

namespace heed::runner {

class device_buffer;

/// The device that there is of a kind.
class device_peaks {
  public:
    /// `yardsticks` of the device's kind, for which there must be a device.
    explicit device_peaks(const device_yardsticks &yardsticks);
    ~device_peaks();

    /// FLOP/s of independent multiply-adds (f32) in registers, the best of several milliseconds.
    double measure_fma();
    /// Bytes/s of reading memory of `bytes()` once, the best of several times.
    double measure_read();

    /// 512 MiB, beyond the caches of devices; an eighth of the memory where that is less.
    std::size_t bytes() const { return bytes_; }

  private:
    device_yardsticks yardsticks_;
    std::size_t bytes_;
    std::unique_ptr<device_buffer> data_, all_, sums_;
    int steps_ = 0;  ///< of a measurement; 0: not known yet
};

}  // namespace heed::runner
