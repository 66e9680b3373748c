// SPDX-License-Identifier: MIT
#include "gpu_launch.hpp"

#include <sstream>
#include <stdexcept>

namespace heed::generators {

gpu_launch main_launch_of(const Halide::Module &module) {
    struct : Halide::Internal::IRVisitor {
        using Halide::Internal::IRVisitor::visit;
        gpu_launch main;
        void visit(const Halide::Internal::Call *call) override {
            if (call->name.rfind("halide_", 0) == 0 && call->name.size() > 11 &&
                call->name.compare(call->name.size() - 4, 4, "_run") == 0 && call->args.size() > 8) {
                // State, kernel, three numbers of blocks, three of threads, bytes that a block shares.
                const int bytes = number(call, 8, "shared memory");
                if (bytes > main.shared_bytes) {
                    const auto *name = call->args[1].as<Halide::Internal::StringImm>();
                    main = {name != nullptr ? name->value : "",
                            number(call, 5, "threads") * number(call, 6, "threads") * number(call, 7, "threads"),
                            bytes};
                }
            }
            IRVisitor::visit(call);
        }
        static int number(const Halide::Internal::Call *call, std::size_t argument, const char *what) {
            const Halide::Expr value = Halide::Internal::simplify(call->args[argument]);
            if (const auto constant = Halide::Internal::as_const_int(value)) return static_cast<int>(*constant);
            std::ostringstream message;
            message << what << " of a kernel depend on data, " << call->args[1] << ": " << value;
            throw std::logic_error(message.str());
        }
    } found;
    for (const auto &function : module.functions()) function.body.accept(&found);
    return found.main;
}

}  // namespace heed::generators
