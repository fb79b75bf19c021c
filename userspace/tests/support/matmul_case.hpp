// SPDX-License-Identifier: MIT
// One matrix multiplication through the public interface, and what it should give.
#pragma once

#include <rknn_matmul_api.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rknpu::test {

struct MatmulCase {
    rknn_matmul_type type = RKNN_INT8_MM_INT8_TO_INT32;
    int32_t m = 1, k = 32, n = 32;
    rknn_matmul_layout b_layout = RKNN_MM_LAYOUT_NORM;
    rknn_matmul_layout ac_layout = RKNN_MM_LAYOUT_NORM;
    rknn_matmul_quant_type b_quant = RKNN_QUANT_TYPE_PER_LAYER_SYM;
    rknn_matmul_quant_type ac_quant = RKNN_QUANT_TYPE_PER_LAYER_SYM;
    int16_t group_size = 0;
    uint32_t core_mask = 0;
    uint32_t seed = 1;
    uint32_t k_segment = 8192;  ///< where the chip cuts a native B
};

std::string describe(const MatmulCase& test);

/// What C should be, row major; each value with the error that types and order of the sum excuse.
struct Expected {
    std::vector<double> values;
    std::vector<double> tolerance;
};
Expected expect(const MatmulCase& test);

/// C as the library computes it on the device RKNPU_DEVICE names, row major. Empty on failure.
std::vector<double> multiply(const MatmulCase& test);

/// Largest error in units of its tolerance; more than 1 is wrong.
double worst(const std::vector<double>& got, const Expected& expected);

/// Random case of that type: shape, layouts, quantisation and mask follow from the seed.
MatmulCase random_case(rknn_matmul_type type, uint32_t seed);

/// Types that RK3588 and RK3576 take.
std::vector<rknn_matmul_type> types_of(const std::string& soc);

double half_to_double(uint16_t bits);

}  // namespace rknpu::test
