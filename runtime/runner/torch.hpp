// SPDX-License-Identifier: MIT
//
// PyTorch's scaled_dot_product_attention and FlexAttention on the same tensors, timed in a Python process of its own.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "flex_functions.hpp"
#include "problem.hpp"

namespace heed::runner {

/// How scaled_dot_product_attention can compute a problem.
struct torch_equivalent {
    enum class kind { none, dense, causal, boolean_mask, additive_mask };
    kind how = kind::none;
    std::string why_not;  ///< for `none`
    std::int64_t mask_batch = 1, mask_heads = 1;
    std::vector<std::uint8_t> mask;  ///< (mask_batch, mask_heads, q_len, kv_len), true where the pair attends
    std::vector<float> bias;         ///< the same shape, added to the scores; -inf where the pair does not attend
};

/// Decides from the readings alone: `is_causal` where q_len == kv_len and the mask is the lower triangle, a mask
/// otherwise.
torch_equivalent find_torch_equivalent(const problem &of);

/// What of PyTorch is timed.
enum class torch_peer { sdpa, flex };

/// The Python process is gone.
struct torch_ended : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A Python process with PyTorch. All but the first of its functions throw torch_ended if it ends.
class torch_process {
  public:
    /// Starts `python` (a name or a path). Throws std::runtime_error that says what is missing.
    explicit torch_process(const std::string &python);
    ~torch_process();
    torch_process(const torch_process &) = delete;
    torch_process &operator=(const torch_process &) = delete;

    const std::string &version() const { return version_; }

    /// Why it has no GPU to compute on; empty if it has one.
    std::string why_no_gpu();

    /// Hands the tensors over, for query, key and value of this type, to the GPU if asked for, and returns the number
    /// by which the problem is called later. There, numbers of threads are 0.
    int load(const problem &of, data_type storage, bool on_gpu = false);
    /// Warms scaled_dot_product_attention up; where groups share keys, the faster of `enable_gqa` and expanded keys is
    /// taken.
    void load_sdpa(int number, const problem &of, const torch_equivalent &how);

    /// Edge of the square blocks of the mask, 0 without a mask; or why the problem cannot be computed.
    struct flex_outcome {
        int block = 0;
        std::string why_not;
    };
    /// Compiles FlexAttention for a number of threads and warms it up, with the fastest of several sizes of blocks.
    flex_outcome load_flex(int number, const problem &of, const flex_functions &functions, int threads);

    /// Seconds of `calls` calls, each timed in the process.
    std::vector<double> time(int number, torch_peer peer, int threads, int calls);
    /// The result, (batch, heads, q_len, value_dim) row-major.
    std::vector<float> result(int number, torch_peer peer, int threads, std::size_t count);
    void unload(int number);

  private:
    nlohmann::json ask(const nlohmann::json &command);
    nlohmann::json answer();
    std::string file(const std::string &name) const { return folder_ + "/" + name; }
    void stop();

    std::string python_, version_, folder_;
    pid_t process_ = -1;
    int socket_ = -1;
    std::FILE *answers_ = nullptr;
    int problems_ = 0;
};

}  // namespace heed::runner
