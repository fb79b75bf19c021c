// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "npuregs/regcmd.hpp"

namespace npuregs {

/// All registers with their fields, built once from the .def files, ascending offsets.
class RegisterTable {
 public:
    RegisterTable();
    [[nodiscard]] std::span<const RegisterInfo> registers() const { return registers_; }

 private:
    template <typename Entries>
    void add_block(Block block, const Entries& entries);

    std::vector<FieldInfo> fields_;
    std::vector<RegisterInfo> registers_;
};

const RegisterTable& register_table();

}  // namespace npuregs
