// SPDX-License-Identifier: MIT
// Says at the end of a run how many random cases were compared.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
#include <cstdio>

#include "engine_machine.hpp"

namespace {

struct CountCases : Catch::TestEventListenerBase {
    using TestEventListenerBase::TestEventListenerBase;
    void testRunEnded(const Catch::TestRunStats& /*stats*/) override {
        if (engine_test::Machine::built() != 0)
            std::printf("random cases: %llu\n",
                        static_cast<unsigned long long>(engine_test::Machine::built()));
    }
};

CATCH_REGISTER_LISTENER(CountCases)

}  // namespace
