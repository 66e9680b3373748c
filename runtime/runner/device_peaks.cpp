// SPDX-License-Identifier: MIT
#include "device_peaks.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "device_buffer.hpp"

namespace heed::runner {

namespace {

constexpr std::int64_t columns = std::int64_t{1} << 20;  // 16 bytes for each of 2^18 threads: more than run at once
constexpr std::int64_t fma_threads = std::int64_t{1} << 21;
constexpr int pieces = 3;

using clock = std::chrono::steady_clock;

std::size_t bytes_read(device_kind kind) {
    // A buffer of Vulkan may have no more on some devices.
    const std::size_t most = kind == device_kind::vulkan ? std::size_t{128} << 20 : std::size_t{512} << 20;
    constexpr std::size_t row = columns * 4;
    const auto memory = static_cast<std::size_t>(device_of(kind).memory_bytes);
    const std::size_t wanted = memory == 0 ? most : std::min(most, memory / 8);
    return std::max<std::size_t>(wanted / row, 1) * row;
}

// The device has nothing else to do when the clock is first read, and has done all when it is read again.
template <typename Run>
double seconds_of(device_kind kind, device_buffer &result, const Run &run) {
    result.finish();
    const auto begin = clock::now();
    run_halide(kind, "a yardstick of bench", run);
    result.finish();
    return std::chrono::duration<double>(clock::now() - begin).count();
}

}  // namespace

device_peaks::device_peaks(const device_yardsticks &yardsticks)
    : yardsticks_(yardsticks),
      bytes_(bytes_read(yardsticks.device)),
      data_(
          std::make_unique<device_buffer>(yardsticks.device, halide_type_t(halide_type_int, 32),
                                          buffer_extents{columns, static_cast<std::int64_t>(bytes_) / (4 * columns)})),
      all_(std::make_unique<device_buffer>(yardsticks.device, halide_type_t(halide_type_int, 32),
                                           buffer_extents{columns})),
      sums_(std::make_unique<device_buffer>(yardsticks.device, halide_type_t(halide_type_float, 32),
                                            buffer_extents{fma_threads})) {
    // The kernel knows one dimension; rows follow each other without gaps.
    halide_buffer_t line = *data_->raw();
    halide_dimension_t only{0, static_cast<std::int32_t>(bytes_ / 4), 1};
    line.dimensions = 1;
    line.dim = &only;
    seconds_of(yardsticks_.device, *data_, [&](void *user_context) {
        void *arguments[] = {&user_context, &line};
        return yardsticks_.fill(arguments);
    });
}

device_peaks::~device_peaks() = default;

double device_peaks::measure_fma() {
    constexpr double chains = 8, least_seconds = 2e-3, most_seconds = 0.03;
    constexpr int first_steps = 4, most_steps = 1 << 20;
    // Values converge to a small number, so no operand is ever subnormal.
    float factor = 0.5f, summand = 0.25f;
    const auto measure = [&] {
        return seconds_of(yardsticks_.device, *sums_, [&](void *user_context) {
            void *arguments[] = {&user_context, &factor, &summand, &steps_, sums_->raw()};
            const int result = yardsticks_.multiply_add(arguments);
            sums_->forget_host();
            return result;
        });
    };
    if (steps_ == 0) {
        steps_ = first_steps;
        measure();  // the driver compiles the kernel
        // Until twice the work takes twice the time: what a launch costs is then small.
        for (double before = 0.0, now = measure();
             steps_ < most_steps &&
             (now < least_seconds || (now < most_seconds && (before == 0.0 || now < 1.95 * before)));) {
            steps_ *= 2;
            before = std::exchange(now, measure());
        }
    }
    double seconds = measure();
    for (int i = 1; i < pieces; ++i) seconds = std::min(seconds, measure());
    return 2.0 * chains * steps_ * static_cast<double>(fma_threads) / seconds;
}

double device_peaks::measure_read() {
    const auto measure = [&] {
        return seconds_of(yardsticks_.device, *all_, [&](void *user_context) {
            void *arguments[] = {&user_context, data_->raw(), all_->raw()};
            const int result = yardsticks_.read(arguments);
            all_->forget_host();
            return result;
        });
    };
    double seconds = measure();
    for (int i = 1; i < pieces; ++i) seconds = std::min(seconds, measure());
    return static_cast<double>(bytes_) / seconds;
}

}  // namespace heed::runner
