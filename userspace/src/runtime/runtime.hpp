// SPDX-License-Identifier: MIT
// What the API layer sees of everything below it.
#pragma once

#include "cpu/convert.hpp"      // IWYU pragma: export
#include "device/device.hpp"    // IWYU pragma: export
#include "model/graph.hpp"      // IWYU pragma: export
#include "model/reader.hpp"     // IWYU pragma: export
#include "runtime/convert.hpp"  // IWYU pragma: export
#include "runtime/session.hpp"  // IWYU pragma: export
