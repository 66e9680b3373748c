// SPDX-License-Identifier: MIT
#include "invoke.hpp"

#include <fmt/format.h>
#include <heed/cached_call.hpp>
#include <heed/device.hpp>
#include <heed/float16.hpp>
#include <heed/isa.hpp>
#include <heed/key_value_cache.hpp>
#include <heed/untyped_call.hpp>

#include <algorithm>
#include <vector>

#include "device_buffer.hpp"

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

heed::tensor described(const input_table &from) {
    const bool reals = from.type == data_type::f32;
    const void *data = reals ? static_cast<const void *>(from.reals.data()) : from.integers.data();
    return {data, from.type, static_cast<int>(from.shape.extents.size()), from.shape.extents.data(),
            from.shape.strides.data()};
}

// A tensor with the type of the kernel: f32 where it is, others as copies.
class typed_tensor {
  public:
    typed_tensor(const tensor &from, data_type type) : from_(from), type_(type) {
        if (type != data_type::f32) copy_ = halved(from, type);
    }

    template <typename Tensor>
    Tensor described() const {
        Tensor tensor{from_.first, type_, static_cast<int>(from_.shape.extents.size()), from_.shape.extents.data(),
                      from_.shape.strides.data()};
        if (copy_) tensor.data = static_cast<std::uint16_t *>(copy_->data()) + (from_.first - from_.all());
        return tensor;
    }

    // What was written into the copy.
    void fetch() const {
        if (!copy_) return;
        const auto *halves = static_cast<const std::uint16_t *>(copy_->data());
        for (std::size_t i = 0; i < from_.all_count(); ++i) {
            if (halves[i] == untouched_half) continue;
            float16 half;
            bfloat16 brain;
            half.bits = brain.bits = halves[i];
            from_.all()[i] = type_ == data_type::f16 ? float{half} : float{brain};
        }
    }

  private:
    const tensor &from_;
    data_type type_;
    std::shared_ptr<guarded_memory> copy_;
};

std::vector<heed::tensor> inputs_of(const problem &of) {
    std::vector<heed::tensor> inputs;
    for (const input_table &table : of.inputs.tables()) inputs.push_back(described(table));
    return inputs;
}

// Rows of all batch elements one behind another, (1, heads, batch * length, dim) as projections write them.
tensor rows_of(const tensor &from, bool copy_elements) {
    const auto &extents = from.shape.extents;
    const std::int64_t dim = extents.size() == 4 ? extents[3] : 1, length = extents[2];
    std::vector<std::int64_t> made_extents{1, extents[1], extents[0] * length};
    if (extents.size() == 4) made_extents.push_back(dim);
    tensor rows = make_tensor(made_extents, extents.size() == 4 ? arrangement::length_major : arrangement::row_major,
                              untouched_pattern());
    for (std::int64_t b = 0; copy_elements && b < extents[0]; ++b)
        for (std::int64_t h = 0; h < extents[1]; ++h)
            for (std::int64_t i = 0; i < length; ++i)
                std::copy_n(from.row(b, h, i), dim, rows.row(0, h, b * length + i));
    return rows;
}

void copy_back(const tensor &rows, const tensor &to) {
    const auto &extents = to.shape.extents;
    const std::int64_t dim = extents.size() == 4 ? extents[3] : 1, length = extents[2];
    for (std::int64_t b = 0; b < extents[0]; ++b)
        for (std::int64_t h = 0; h < extents[1]; ++h)
            for (std::int64_t i = 0; i < length; ++i) std::copy_n(rows.row(0, h, b * length + i), dim, to.row(b, h, i));
}

}  // namespace

struct prepared_call::arguments {
    virtual ~arguments() = default;
    virtual void call() const = 0;
    virtual void fetch_results() const = 0;
};

namespace {

// Tensors as they are.
class call_on_tensors : public prepared_call::arguments {
  public:
    call_on_tensors(const problem &of, const results &into, const kernel_description &kernel, int threads,
                    bool log_sum_exp)
        : inputs_(inputs_of(of)),
          query_(of.query, kernel.types.query),
          key_(of.key, kernel.types.key),
          value_(of.value, computed_by(kernel) == computed::output ? kernel.types.value : data_type::f32),
          output_(into.output, kernel.types.output),
          log_sum_exp_(into.log_sum_exp, data_type::f32) {
        call_.variant = of.variant;
        call_.query = query_.described<heed::tensor>();
        call_.key = key_.described<heed::tensor>();
        call_.pass = kernel.pass;
        if (computed_by(kernel) == computed::output) call_.value = value_.described<heed::tensor>();
        call_.output = output_.described<output_tensor>();
        call_.inputs = inputs_.data();
        call_.input_count = static_cast<int>(inputs_.size());
        if (log_sum_exp) call_.log_sum_exp = log_sum_exp_.described<output_tensor>();
        call_.threads = threads;
        call_.kernel = &kernel;
    }
    void call() const override { run(call_); }
    void fetch_results() const override { output_.fetch(); }

  private:
    std::vector<heed::tensor> inputs_;
    typed_tensor query_, key_, value_, output_, log_sum_exp_;
    call_arguments call_;
};

// A tensor with the type of the kernel, in memory of a device: the elements from the first to the last one.
class device_tensor {
  public:
    device_tensor(device_kind kind, const tensor &from, data_type type)
        : host_(from, type),
          is_empty_(from.shape.element_count() == 0),
          copy_(kind, halide_type_t(halide_type_uint, static_cast<std::uint8_t>(8 * bytes_of(type))),
                extents_of(span_of(from))) {
        if (!is_empty_) copy_.upload(host_.described<heed::tensor>().data);
    }

    template <typename Tensor>
    Tensor described() {
        Tensor tensor = host_.described<Tensor>();
        tensor.data = reinterpret_cast<decltype(tensor.data)>(copy_.address());
        return tensor;
    }

    void fetch() {
        if (is_empty_) return;
        copy_.download(host_.described<output_tensor>().data);
        host_.fetch();
    }

  private:
    // At least one element, so that there is memory to name in calls.
    static std::int64_t span_of(const tensor &of) {
        std::int64_t last = 0;
        for (std::size_t i = 0; i < of.shape.extents.size(); ++i)
            last += std::max<std::int64_t>(of.shape.extents[i] - 1, 0) * of.shape.strides[i];
        return last + 1;
    }

    typed_tensor host_;
    bool is_empty_;
    device_buffer copy_;
};

// Tensors in memory of the kernel's device.
class call_on_device : public prepared_call::arguments {
  public:
    call_on_device(const problem &of, const results &into, const kernel_description &kernel)
        : kind_(kernel.device),
          inputs_(inputs_of(of)),
          query_(kind_, of.query, kernel.types.query),
          key_(kind_, of.key, kernel.types.key),
          value_(kind_, of.value, kernel.types.value),
          output_(kind_, into.output, kernel.types.output),
          log_sum_exp_(kind_, into.log_sum_exp, data_type::f32) {
        call_.variant = of.variant;
        call_.query = query_.described<heed::tensor>();
        call_.key = key_.described<heed::tensor>();
        call_.value = value_.described<heed::tensor>();
        call_.output = output_.described<output_tensor>();
        // Otherwise each call would take memory for it.
        if (has_log_sum_exp(*of.variant)) call_.log_sum_exp = log_sum_exp_.described<output_tensor>();
        call_.inputs = inputs_.data();
        call_.input_count = static_cast<int>(inputs_.size());
        call_.kernel = &kernel;
        call_.memory = kind_;
    }
    void call() const override {
        const device_scope scope(kind_);
        run(call_);
    }
    void fetch_results() const override {
        output_.fetch();
        log_sum_exp_.fetch();
    }

  private:
    device_kind kind_;
    std::vector<heed::tensor> inputs_;
    device_tensor query_, key_, value_;
    mutable device_tensor output_, log_sum_exp_;
    call_arguments call_;
};

// Keys and values in a cache: each element of the batch is a sequence, and its queries are its last tokens.
class call_on_cache : public prepared_call::arguments {
  public:
    call_on_cache(const problem &of, const results &into, const kernel_description &kernel, int threads,
                  bool log_sum_exp)
        : into_(into),
          inputs_(inputs_of(of)),
          query_rows_(rows_of(of.query, true)),
          output_rows_(rows_of(into.output, false)),
          log_sum_exp_rows_(rows_of(into.log_sum_exp, false)),
          query_(query_rows_, kernel.types.query),
          output_(output_rows_, kernel.types.output),
          log_sum_exp_(log_sum_exp_rows_, data_type::f32),
          cache_(*of.variant, options_of(of, kernel)),
          has_log_sum_exp_(log_sum_exp) {
        call_.variant = of.variant;
        call_.cache = cache_.tensors();
        call_.inputs = inputs_.data();
        call_.input_count = static_cast<int>(inputs_.size());
        call_.threads = threads;
        call_.isa = kernel.isa;
        fill(of, kernel);
        for (std::int64_t b = 0; b < of.sizes.batch; ++b)
            sequences_.push_back(cache_.view(static_cast<int>(b), of.sizes.q_len));
        call_.schedule = kernel.schedule;
        call_.sequences = sequences_.data();
        call_.sequence_count = of.sizes.batch;
        call_.query = query_.described<heed::tensor>();
        call_.output = output_.described<output_tensor>();
        if (log_sum_exp) call_.log_sum_exp = log_sum_exp_.described<output_tensor>();
    }
    void call() const override { attend(call_); }
    void fetch_results() const override {
        output_.fetch();
        copy_back(output_rows_, into_.output);
        if (has_log_sum_exp_) copy_back(log_sum_exp_rows_, into_.log_sum_exp);
    }

  private:
    static cache_options options_of(const problem &of, const kernel_description &kernel) {
        const std::int64_t keys = std::max<std::int64_t>(of.sizes.kv_len, 1);
        const std::int64_t page_size = of.page_size > 0 ? of.page_size : keys;
        return {kernel.types.key, std::max<std::int64_t>(of.sizes.batch, 1) * ((keys + page_size - 1) / page_size),
                page_size};
    }

    // Sequences get their tokens in turn, so that their pages lie between each other.
    void fill(const problem &of, const kernel_description &kernel) {
        for (std::int64_t b = 0; b < of.sizes.batch; ++b) cache_.add();
        constexpr std::int64_t at_once = 16;
        for (std::int64_t first = 0; first < of.sizes.kv_len; first += at_once)
            for (std::int64_t b = 0; b < of.sizes.batch; ++b)
                cache_.extend(static_cast<int>(b), std::min(at_once, of.sizes.kv_len - first));
        std::vector<cached_sequence> all;
        for (std::int64_t b = 0; b < of.sizes.batch; ++b)
            all.push_back(cache_.view(static_cast<int>(b), of.sizes.kv_len));
        const tensor key_rows = rows_of(of.key, true), value_rows = rows_of(of.value, true);
        const typed_tensor key(key_rows, kernel.types.query), value(value_rows, kernel.types.query);
        cached_arguments store = call_;
        store.sequences = all.data();
        store.sequence_count = of.sizes.batch;
        store.key = key.described<heed::tensor>();
        store.value = value.described<heed::tensor>();
        append(store);
    }

    const results &into_;
    std::vector<heed::tensor> inputs_;
    tensor query_rows_, output_rows_, log_sum_exp_rows_;
    typed_tensor query_, output_, log_sum_exp_;
    key_value_cache cache_;
    bool has_log_sum_exp_;
    std::vector<cached_sequence> sequences_;
    cached_arguments call_;
};

}  // namespace

bool has_log_sum_exp(const variant_description &variant) { return variant.readings.weight_of_score == nullptr; }

std::string why_not_here(const kernel_description &kernel) {
    if (kernel.device != device_kind::cpu) return why_unusable(kernel);
    return isa_available(kernel.isa) ? "" : fmt::format("this CPU lacks {}", kernel.isa);
}

bool runs_here(const kernel_description &kernel) { return why_not_here(kernel).empty(); }

prepared_call::prepared_call(const problem &of, const results &into, const kernel_description &kernel, int threads,
                             bool log_sum_exp, bool on_device) {
    const bool wanted = log_sum_exp && has_log_sum_exp(*of.variant);
    if (on_device) {
        arguments_ = std::make_unique<call_on_device>(of, into, kernel);
    } else if (reads_cache(kernel)) {
        arguments_ = std::make_unique<call_on_cache>(of, into, kernel, threads, wanted);
    } else {
        arguments_ = std::make_unique<call_on_tensors>(of, into, kernel, threads, wanted);
    }
}

prepared_call::~prepared_call() = default;
prepared_call::prepared_call(prepared_call &&) noexcept = default;

void prepared_call::operator()() const { arguments_->call(); }

void prepared_call::fetch_results() const { arguments_->fetch_results(); }

}  // namespace heed::runner
