// SPDX-License-Identifier: MIT
#include "gpu_passes.hpp"

#include <cstdint>
#include <set>
#include <string>

namespace heed::generators {

namespace {

using Halide::Expr;
using Halide::Internal::IRMutator;
using Halide::Internal::LetStmt;
using Halide::Internal::Stmt;
using Halide::Internal::Variable;

/// Halide computes on the CPU what is the same for all threads and hands it to kernels; truth values become numbers,
/// since arguments of Vulkan cannot be truth values.
class truth_values_as_numbers : public IRMutator {
    std::set<std::string> names_;

    using IRMutator::visit;
    Stmt visit(const LetStmt *let) override {
        if (!let->value.type().is_bool() || !let->value.type().is_scalar()) return IRMutator::visit(let);
        const Expr value = Halide::cast<int>(mutate(let->value));
        names_.insert(let->name);
        return LetStmt::make(let->name, value, mutate(let->body));
    }
    Expr visit(const Variable *variable) override {
        if (names_.count(variable->name) == 0) return variable;
        return Variable::make(Halide::Int(32), variable->name) != 0;
    }
};

/// Halide divides negative numbers by a constant wrongly on Vulkan, unless it is a power of two. Here they become
/// unsigned ones before. Right for all but as many of the lowest numbers as the divisor tells, which no position is.
class unsigned_divisions : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Halide::Internal::Div *div) override {
        return rewritten(div, [](const Expr &sum, const Expr &divisor, const Expr &removed) {
            // In unsigned numbers, too: Halide reckons that signed ones do not overflow, whatever it makes of this.
            return Halide::cast(removed.type(), sum / divisor - Halide::cast(sum.type(), removed));
        });
    }
    Expr visit(const Halide::Internal::Mod *mod) override {
        // Remainders by 0 are 0, which Halide sees to elsewhere.
        if (!mod->type.is_float() && !Halide::Internal::is_const(mod->b)) {
            const Expr divisor = mutate(mod->b), zero = Halide::Internal::make_zero(mod->type);
            return Halide::select(divisor == zero, zero, Halide::Internal::Mod::make(mutate(mod->a), divisor));
        }
        return rewritten(mod, [](const Expr &sum, const Expr &divisor, const Expr &removed) {
            return Halide::cast(removed.type(), sum % divisor);
        });
    }

    template <typename Operation, typename Rewrite>
    Expr rewritten(const Operation *operation, const Rewrite &rewrite) {
        const Halide::Type type = operation->type;
        const auto divisor = Halide::Internal::as_const_int(operation->b);
        if (type.code() != halide_type_int || type.bits() != 32 || !divisor || *divisor <= 2 ||
            (*divisor & (*divisor - 1)) == 0) {
            return IRMutator::visit(operation);
        }
        const Halide::Type counted = type.with_code(halide_type_uint);
        const std::int64_t removed = (std::int64_t{1} << 31) / *divisor;
        const Expr sum =
            Halide::cast(counted, mutate(operation->a)) + Halide::Internal::make_const(counted, removed * *divisor);
        return rewrite(sum, Halide::Internal::make_const(counted, *divisor),
                       Halide::Internal::make_const(type, removed));
    }
};

}  // namespace

void add_gpu_passes(Halide::Pipeline &pipeline, const Halide::Target &target) {
    if (target.has_gpu_feature()) pipeline.add_custom_lowering_pass(new truth_values_as_numbers);
    if (target.has_feature(Halide::Target::Vulkan)) pipeline.add_custom_lowering_pass(new unsigned_divisions);
}

}  // namespace heed::generators
