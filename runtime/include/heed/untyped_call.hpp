// SPDX-License-Identifier: MIT
//
// The call without types: for programs that choose a variant by name from a kernel_library. The typed calls of call.hpp
// end here too, so both check the same things with the same words.
//
//     const std::int64_t extents[] = {batch, 8, length, 64};
//     heed::call_arguments call;
//     call.variant = &my_kernels.variants[0];
//     call.query = {q, heed::data_type::f32, 4, extents};  // row-major; strides in elements may follow
//     ...
//     heed::status status = heed::try_run(call);
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <heed/error.hpp>
#include <heed/float16.hpp>
#include <heed/kernel_table.hpp>
#include <heed/view.hpp>

namespace heed {

/// A tensor whose type and rank are known at run time only. `data == nullptr && extents == nullptr` is "not given".
/// A tensor of rank 0 is a single number. Extents and strides must live as long as the call.
template <typename Pointer>
struct basic_tensor {
    Pointer data = nullptr;
    data_type type = data_type::f32;
    int rank = 0;
    const std::int64_t *extents = nullptr;  ///< outermost first
    const std::int64_t *strides = nullptr;  ///< in elements; null for row-major

    constexpr bool given() const noexcept { return data != nullptr || extents != nullptr; }
};

using tensor = basic_tensor<const void *>;
using output_tensor = basic_tensor<void *>;

/// Where a call may run. Tensors lie in host memory whatever it is; a call on a GPU moves them there and back. `isa`
/// then names one of a device, if any, and one of CPUs is refused.
enum class device_preference : std::uint8_t {
    cpu,
    gpu,          ///< refused where there is none for a kernel of the library
    gpu_else_cpu  ///< on the CPU where there is none, or where it fails or cannot count so many elements
};

/// Everything that a call takes. See heed/call.hpp for the shapes.
struct call_arguments {
    const variant_description *variant = nullptr;
    tensor query = {};
    tensor key = {};
    tensor value = {};
    output_tensor output = {};
    const tensor *inputs = nullptr;  ///< in the order of variant->inputs
    int input_count = 0;
    output_tensor log_sum_exp = {};              ///< optional
    int threads = 0;                             ///< 0: see heed/threads.hpp
    const char *isa = nullptr;                   ///< null: see heed/isa.hpp
    const char *schedule = nullptr;              ///< null: by the number of queries
    const char *pass = "forward";                ///< null means the same; or "weights", which takes no value
    const kernel_description *kernel = nullptr;  ///< one of the variant's, run whatever isa, device and types are
    device_preference device = device_preference::cpu;
    std::string *why_cpu = nullptr;  ///< receives why `gpu_else_cpu` ran on the CPU; else emptied
    /// Where query, key, value, output and log_sum_exp lie; see heed/device.hpp. Inputs lie in host memory always.
    device_kind memory = device_kind::cpu;
    void *stream = nullptr;  ///< of CUDA, on which a call on its memory works; null: the default one
};

/// Checks every argument, picks a kernel and runs it. Throws a heed::error.
void run(const call_arguments &arguments);

/// The same without exceptions.
status try_run(const call_arguments &arguments) noexcept;

/// The kernel that a call with this `isa` and `schedule` (may be null) and `q_len` queries runs on this CPU: one for
/// `pass` and `types`, if given, or for the types that the library has. Throws unsupported_error.
const kernel_description &choose_kernel(const variant_description &variant, const char *isa,
                                        const char *pass = "forward", const tensor_types *types = nullptr,
                                        std::int64_t q_len = INT64_MAX, const char *schedule = nullptr);

namespace detail {

template <typename T>
struct element {
    static constexpr data_type type = data_type::f32;  // of a type that is refused elsewhere
};
template <typename T>
inline constexpr bool is_element =
    std::is_same_v<T, float> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <>
struct element<float> {
    static constexpr data_type type = data_type::f32;
};
template <>
struct element<std::int32_t> {
    static constexpr data_type type = data_type::i32;
};
template <>
struct element<float16> {
    static constexpr data_type type = data_type::f16;
};
template <>
struct element<bfloat16> {
    static constexpr data_type type = data_type::bf16;
};

}  // namespace detail

/// The view as the untyped call takes it; `argument` must outlive the call.
template <typename T, int Rank>
constexpr tensor as_tensor(const view<const T, Rank> &argument) noexcept {
    if (!argument.given()) {
        return {};
    }
    return {argument.data(), detail::element<T>::type, Rank, argument.extents().data(), argument.strides().data()};
}

template <int Rank>
constexpr output_tensor as_tensor(const view<float, Rank> &argument) noexcept {
    if (!argument.given()) {
        return {};
    }
    return {argument.data(), data_type::f32, Rank, argument.extents().data(), argument.strides().data()};
}

template <typename T>
constexpr tensor as_tensor(const scalar<T> &argument) noexcept {
    if (!argument.given()) {
        return {};
    }
    return {&argument.value(), detail::element<T>::type, 0, nullptr, nullptr};
}

}  // namespace heed
