// SPDX-License-Identifier: MIT
#include "invoke.hpp"

#include <heed/float16.hpp>
#include <heed/isa.hpp>
#include <heed/untyped_call.hpp>

namespace heed::runner {

namespace {

// A NaN that no kernel writes, in either of the two-byte types.
constexpr std::uint16_t untouched_half = 0x7fe9;

// The memory of an f32 tensor, element by element in two bytes.
std::shared_ptr<guarded_memory> halved(const tensor &from, data_type type) {
    const std::size_t count = from.all_count();
    auto memory = std::make_shared<guarded_memory>(count * 2);
    auto *halves = static_cast<std::uint16_t *>(memory->data());
    for (std::size_t i = 0; i < count; ++i) {
        const float value = from.all()[i];
        halves[i] = is_untouched(value)      ? untouched_half
                    : type == data_type::f16 ? float16(value).bits
                                             : bfloat16(value).bits;
    }
    return memory;
}

}  // namespace

struct prepared_call::arguments {
    call_arguments call;
    std::vector<heed::tensor> inputs;
    std::vector<std::shared_ptr<guarded_memory>> copies;
    const results *into = nullptr;

    template <typename Tensor>
    Tensor described(const tensor &from, data_type type) {
        Tensor tensor{from.first, type, static_cast<int>(from.shape.extents.size()), from.shape.extents.data(),
                      from.shape.strides.data()};
        if (type != data_type::f32) {
            copies.push_back(halved(from, type));
            tensor.data = static_cast<std::uint16_t *>(copies.back()->data()) + (from.first - from.all());
        }
        return tensor;
    }
};

namespace {

heed::tensor described(const input_table &from) {
    const bool reals = from.type == data_type::f32;
    const void *data = reals ? static_cast<const void *>(from.reals.data()) : from.integers.data();
    return {data, from.type, static_cast<int>(from.shape.extents.size()), from.shape.extents.data(),
            from.shape.strides.data()};
}

}  // namespace

bool has_log_sum_exp(const variant_description &variant) { return variant.readings.weight_of_score == nullptr; }

bool runs_here(const kernel_description &kernel) { return isa_available(kernel.isa); }

prepared_call::prepared_call(const problem &of, const results &into, const kernel_description &kernel, int threads,
                             bool log_sum_exp)
    : arguments_(std::make_unique<arguments>()) {
    for (const input_table &table : of.inputs.tables()) arguments_->inputs.push_back(described(table));
    call_arguments &call = arguments_->call;
    const tensor_types &types = kernel.types;
    arguments_->into = &into;
    call.variant = of.variant;
    call.query = arguments_->described<heed::tensor>(of.query, types.query);
    call.key = arguments_->described<heed::tensor>(of.key, types.key);
    call.pass = kernel.pass;
    if (computed_by(kernel) == computed::output)
        call.value = arguments_->described<heed::tensor>(of.value, types.value);
    call.output = arguments_->described<output_tensor>(into.output, types.output);
    call.inputs = arguments_->inputs.data();
    call.input_count = static_cast<int>(arguments_->inputs.size());
    if (log_sum_exp && has_log_sum_exp(*of.variant))
        call.log_sum_exp = arguments_->described<output_tensor>(into.log_sum_exp, data_type::f32);
    call.threads = threads;
    call.kernel = &kernel;
}

prepared_call::~prepared_call() = default;
prepared_call::prepared_call(prepared_call &&) noexcept = default;

void prepared_call::operator()() const { run(arguments_->call); }

void prepared_call::fetch_results() const {
    const data_type type = arguments_->call.output.type;
    if (type == data_type::f32) return;
    const tensor &output = arguments_->into->output;
    const auto *halves = static_cast<const std::uint16_t *>(arguments_->copies.back()->data());
    for (std::size_t i = 0; i < output.all_count(); ++i) {
        if (halves[i] == untouched_half) continue;
        float16 half;
        bfloat16 brain;
        half.bits = brain.bits = halves[i];
        output.all()[i] = type == data_type::f16 ? float{half} : float{brain};
    }
}

}  // namespace heed::runner
