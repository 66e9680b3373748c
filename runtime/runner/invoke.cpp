// SPDX-License-Identifier: MIT
#include "invoke.hpp"

#include <heed/isa.hpp>
#include <heed/untyped_call.hpp>

namespace heed::runner {

struct prepared_call::arguments {
    call_arguments call;
    std::vector<heed::tensor> inputs;
};

namespace {

template <typename Tensor>
Tensor described(const tensor &from) {
    return {from.first, data_type::f32, static_cast<int>(from.shape.extents.size()), from.shape.extents.data(),
            from.shape.strides.data()};
}

heed::tensor described(const input_table &from) {
    const bool reals = from.type == data_type::f32;
    const void *data = reals ? static_cast<const void *>(from.reals.data()) : from.integers.data();
    return {data, from.type, static_cast<int>(from.shape.extents.size()), from.shape.extents.data(),
            from.shape.strides.data()};
}

}  // namespace

bool runs_here(const kernel_description &kernel) { return isa_available(kernel.isa); }

prepared_call::prepared_call(const problem &of, const results &into, const kernel_description &kernel, int threads,
                             bool log_sum_exp)
    : arguments_(std::make_unique<arguments>()) {
    for (const input_table &table : of.inputs.tables()) arguments_->inputs.push_back(described(table));
    call_arguments &call = arguments_->call;
    call.variant = of.variant;
    call.query = described<heed::tensor>(of.query);
    call.key = described<heed::tensor>(of.key);
    call.value = described<heed::tensor>(of.value);
    call.output = described<output_tensor>(into.output);
    call.inputs = arguments_->inputs.data();
    call.input_count = static_cast<int>(arguments_->inputs.size());
    if (log_sum_exp) call.log_sum_exp = described<output_tensor>(into.log_sum_exp);
    call.threads = threads;
    call.isa = kernel.isa;
}

prepared_call::~prepared_call() = default;
prepared_call::prepared_call(prepared_call &&) noexcept = default;

void prepared_call::operator()() const { run(arguments_->call); }

}  // namespace heed::runner
