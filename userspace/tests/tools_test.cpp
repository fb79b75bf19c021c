// SPDX-License-Identifier: MIT
// What the tools read: pictures, arrays and raw bytes, whole, cut and hostile.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "input.hpp"
#include "npy.hpp"
#include "picture.hpp"
#include "pnm.hpp"
#include "support/files.hpp"

using namespace rknpu::tools;

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
    std::vector<std::byte> out(text.size());
    std::memcpy(out.data(), text.data(), text.size());
    return out;
}

std::optional<Picture> pnm(const std::string& text, std::string& error) {
    return read_pnm(bytes_of(text), error);
}

std::vector<int> samples(const std::string& text) {
    std::string error;
    const auto picture = pnm(text, error);
    INFO(error);
    REQUIRE(picture);
    std::vector<int> out;
    for (const auto pixel : picture->pixels)
        out.push_back(std::to_integer<int>(pixel));
    return out;
}

/// A file of a folder of this test's own that goes with the object.
class Folder {
 public:
    std::string write(const std::string& name, const std::string& text) const {
        const auto path = folder_.path() + "/" + name;
        REQUIRE(write_bytes(path, bytes_of(text)));
        return path;
    }

 private:
    rknpu::test::TempFolder folder_;
};

rknn_tensor_attr image(uint32_t height, uint32_t width, uint32_t channels) {
    rknn_tensor_attr attr{};
    attr.n_dims = 4;
    attr.dims[0] = 1;
    attr.dims[1] = height;
    attr.dims[2] = width;
    attr.dims[3] = channels;
    attr.n_elems = height * width * channels;
    attr.fmt = RKNN_TENSOR_NHWC;
    attr.type = RKNN_TENSOR_INT8;
    std::snprintf(attr.name, sizeof(attr.name), "x");
    return attr;
}

std::string npy(const std::string& descr, const std::string& shape, size_t size) {
    std::string header =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
    const auto length = static_cast<uint16_t>(header.size());
    std::string out("\x93NUMPY\x01\x00", 8);
    out.append(reinterpret_cast<const char*>(&length), 2);
    return out + header + std::string(size, '\x01');
}

}  // namespace

TEST_CASE("PGM and PPM give the pixels that the file has", "[tools]") {
    CHECK(samples("P2 2 2 255\n0 1\n254 255\n") == std::vector<int>{0, 1, 254, 255});
    CHECK(samples(std::string("P5\n# a comment\n2 2\n255\n\x00\x01\xfe\xff", 30)) ==
          std::vector<int>{0, 1, 254, 255});
    CHECK(samples("P3 1 1 255 1 2 3") == std::vector<int>{1, 2, 3});
    CHECK(samples("P6 1 1 255 abc") == std::vector<int>{'a', 'b', 'c'});
    CHECK(samples("P2#x\n1#y 7\n#z\r1 255#\n9") == std::vector<int>{9});
}

TEST_CASE("PGM and PPM samples of another maximum are scaled to 255", "[tools]") {
    CHECK(samples("P2 3 1 100 0 50 100") == std::vector<int>{0, 128, 255});
    CHECK(samples("P2 2 1 1 0 1") == std::vector<int>{0, 255});
    CHECK(samples(std::string("P5 3 1 100\n\x00\x32\x64", 14)) == std::vector<int>{0, 128, 255});
    CHECK(samples(std::string("P5 3 1 65535\n\x00\x00\x80\x80\xff\xff", 19)) ==
          std::vector<int>{0, 128, 255});
    CHECK(samples(std::string("P6 1 1 1023\n\x00\x00\x02\x00\x03\xff", 18)) ==
          std::vector<int>{0, 128, 255});
}

TEST_CASE("A PGM or PPM that is cut anywhere is refused", "[tools]") {
    const std::string whole[] = {"P2 3 2 255\n1 2 3\n4 5 6", "P3 1 2 255\n1 2 3\n4 5 6",
                                 "P5 3 2 255\nabcdef", "P6 1 2 255\nabcdef",
                                 "P5 3 1 999\n\x01\x01\x01\x01\x01\x01"};
    for (const auto& text : whole) {
        std::string error;
        CHECK(pnm(text, error));
        for (size_t size = 0; size < text.size(); ++size) {
            INFO(text.substr(0, size));
            error.clear();
            CHECK_FALSE(pnm(text.substr(0, size), error));
            CHECK_FALSE(error.empty());
        }
    }
}

TEST_CASE("A picture without pixels, or with more than the file can hold, is refused", "[tools]") {
    const Folder folder;
    for (const std::string kind : {"P2", "P3", "P5", "P6"})
        for (const std::string size :
             {"0 0", "0 4", "4 0", "-1 4", "4 -4", "30000 30000", "4294967297 1", "65536 65536",
              "99999999999999999999 1", "x 1", "1"})
            for (const std::string most : {"255", "0", "65536", "-1"}) {
                const auto text = kind + " " + size + " " + most + "\n";
                INFO(text);
                std::string error;
                CHECK_FALSE(read_picture(folder.write("p.pgm", text), 1, error));
                CHECK(error.find("p.pgm") != std::string::npos);
            }
    // A BMP with 24 bits a pixel: its sides are 32-bit numbers at 18 and 22.
    for (const int32_t width : {0, 2, -2})
        for (const int32_t height : {0, 2}) {
            std::string bmp("BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00",
                            18);
            bmp.append(reinterpret_cast<const char*>(&width), 4);
            bmp.append(reinterpret_cast<const char*>(&height), 4);
            bmp.append(std::string("\x01\x00\x18\x00", 4) + std::string(24 + 16, '\0'));
            INFO(width << "x" << height);
            std::string error;
            const auto picture = read_picture(folder.write("p.bmp", bmp), 3, error);
            CHECK(picture.has_value() == (width == 2 && height == 2));
            CHECK((picture || !error.empty()));
        }
}

TEST_CASE("Colours become grey and grey becomes colours", "[tools]") {
    const Folder folder;
    std::string error;
    const auto path = folder.write("p.ppm", "P3 2 1 255 255 255 255 255 0 0");
    const auto grey = read_picture(path, 1, error);
    REQUIRE(grey);
    CHECK(grey->pixels == std::vector<std::byte>{std::byte{255}, std::byte{76}});
    const auto four = read_picture(path, 4, error);
    REQUIRE(four);
    CHECK(four->pixels[3] == std::byte{255});
    CHECK(four->pixels[4] == std::byte{255});
    CHECK(four->pixels[5] == std::byte{0});
    const auto three = read_picture(folder.write("p.pgm", "P2 1 1 255 7"), 3, error);
    REQUIRE(three);
    CHECK(three->pixels == std::vector<std::byte>(3, std::byte{7}));
}

TEST_CASE("An array must have the input's shape, in one of its orders", "[tools]") {
    const Folder folder;
    struct Case {
        const char* shape;
        int format;  // -1: refused
    };
    // Of an input [1, 4, 6, 2], 48 elements
    const Case cases[] = {{"1, 4, 6, 2", RKNN_TENSOR_NHWC},
                          {"4, 6, 2", RKNN_TENSOR_NHWC},
                          {"1, 2, 4, 6", RKNN_TENSOR_NCHW},
                          {"2, 4, 6", RKNN_TENSOR_NCHW},
                          {"48,", RKNN_TENSOR_NHWC},
                          {"1, 48", RKNN_TENSOR_NHWC},
                          {"1, 6, 4, 2", -1},
                          {"1, 8, 6, 1", -1},
                          {"2, 12, 2", -1},
                          {"24, 2", -1},
                          {"1, 2, 6, 4", -1},
                          {"2, 4, 6, 2", -1},
                          {"", -1},
                          {"0, 4, 6, 2", -1}};
    for (const auto& [shape, format] : cases) {
        INFO(shape);
        std::string error;
        const auto path = folder.write("x.npy", npy("|u1", shape, 48));
        const auto data = load_input(path, image(4, 6, 2), error);
        CHECK(data.has_value() == (format >= 0));
        if (data)
            CHECK(data->fmt == format);
        else
            CHECK(error.find("x.npy") != std::string::npos);
    }
}

TEST_CASE("An array holds as much data as its shape takes, no less and no more", "[tools]") {
    const Folder folder;
    std::string error;
    for (const std::string descr : {"|u1", "<f2", "<f4", "<i8"}) {
        const size_t size = 6 * static_cast<size_t>(descr[2] - '0');
        for (const size_t wrong : {size_t{0}, size - 1, size + 1, 2 * size}) {
            INFO(descr << " " << wrong);
            CHECK_FALSE(read_npy(folder.write("x.npy", npy(descr, "2, 3", wrong)), error));
        }
        CHECK(read_npy(folder.write("x.npy", npy(descr, "2, 3", size)), error));
    }
    // The products wrap around to 0, 1 and 6.
    for (const char* shape : {"4294967295, 4294967295, 4294967295", "65536, 65536, 65536, 65536",
                              "2147483648, 2147483648, 4, 6", "4294967296, 6"})
        CHECK_FALSE(read_npy(folder.write("x.npy", npy("|u1", shape, 6)), error));
    CHECK_FALSE(
        load_input(folder.write("x.npy", npy("<f8", "1, 1, 6, 1", 48)), image(1, 6, 1), error));
    CHECK_THAT(error, Catch::Contains("float32"));
}

TEST_CASE("A file that cannot be read is named with the reason", "[tools]") {
    const Folder folder;
    std::string error;
    for (const char* name :
         {"/nowhere/x.png", "/nowhere/x.pgm", "/nowhere/x.npy", "/nowhere/x.bin"}) {
        CHECK_FALSE(load_input(name, image(2, 2, 1), error));
        CHECK_THAT(error, Catch::Contains(name) && Catch::Contains("No such file"));
    }
    CHECK_FALSE(load_input("/", image(2, 2, 1), error));
    CHECK_THAT(error, Catch::Contains("Is a directory"));
}

TEST_CASE("Writing to a full disk fails", "[tools]") {
    if (!std::filesystem::exists("/dev/full")) {
        WARN("skipped: this machine has no /dev/full");
        return;
    }
    // Less and more than a buffer
    for (const size_t size : {size_t{1}, size_t{1} << 20})
        CHECK_FALSE(write_bytes("/dev/full", std::vector<std::byte>(size)));
}
