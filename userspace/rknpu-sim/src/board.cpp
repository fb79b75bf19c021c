// SPDX-License-Identifier: MIT
#include "board.hpp"

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace rknpusim {

namespace {

constexpr unsigned kQuiesceMs = 4000;  // below the client's message timeout of 5 s

}  // namespace

std::unique_ptr<Board> Board::create(const npusim::SocConfig& soc, npusim::NpuOptions options) {
    std::unique_ptr<Board> board(new Board);
    board->sram_fd_ = make_memfd("npu-sram", kSramBarSize);
    auto mapping = Mapping::map(board->sram_fd_.get(), 0, kSramBarSize, true);
    if (!mapping)
        return nullptr;
    board->sram_ = std::move(*mapping);
    board->sram_used_ = std::min<uint64_t>(soc.sram_size, kSramBarSize);
    board->npu_ = std::make_unique<npusim::Npu>(soc, board->memory_, std::move(options));
    board->control_ = std::make_unique<BoardControl>(
        *board->npu_, [raw = board.get()](std::string line) { raw->log(std::move(line)); });
    board->place_sram(kDefaultSramAddress);
    return board;
}

void Board::write_register(unsigned core, uint32_t offset, uint32_t value) {
    npu_->write(core, offset, value);
    if (synchronous_ && !npu_->wait_idle(kQuiesceMs))
        log("a job did not end while its start was being written");
}

void Board::place_sram(uint64_t address) {
    if (sram_used_ == 0 || address == sram_address_)
        return;
    if (sram_address_ != 0)
        memory_.remove(sram_address_);
    sram_address_ = address;
    if (!memory_.add(address, sram_.bytes().first(sram_used_))) {
        char text[80];
        std::snprintf(text, sizeof(text), "SRAM at 0x%llx overlaps guest memory",
                      static_cast<unsigned long long>(address));
        log(text);
        sram_address_ = 0;
    }
}

int Board::map(uint64_t address, uint64_t size, uint64_t offset, bool writable, UniqueFd fd) {
    struct stat info {};
    if (fd && ::fstat(fd.get(), &info) != 0)
        return errno;
    for (GuestRange& range : ranges_) {
        if (range.address != address || range.size != size)
            continue;
        if (range.offset != offset || range.device != info.st_dev || range.inode != info.st_ino)
            return EEXIST;
        ++range.users;
        return 0;
    }
    GuestRange range{address, size, offset, info.st_dev, info.st_ino, 1, {}};
    if (fd) {
        auto mapping = Mapping::map(fd.get(), offset, size, writable);
        if (!mapping)
            return EINVAL;
        range.mapping = std::move(*mapping);
        if (!memory_.add(address, range.mapping.bytes(), writable))
            return EEXIST;
    } else if (memory_.view(address, 1, npusim::Access::kRead).empty()) {
        // QEMU reports the SRAM's BAR this way too; that one the board has itself.
        char text[120];
        std::snprintf(text, sizeof(text),
                      "guest memory 0x%llx+0x%llx came without a file: accesses give bus errors",
                      static_cast<unsigned long long>(address),
                      static_cast<unsigned long long>(size));
        log(text);
    }
    ranges_.push_back(std::move(range));
    return 0;
}

int Board::unmap(uint64_t address, uint64_t size) {
    const auto it = std::find_if(ranges_.begin(), ranges_.end(), [&](const GuestRange& range) {
        return range.address == address && range.size == size;
    });
    if (it == ranges_.end())
        return ENOENT;
    if (--it->users != 0)
        return 0;
    // A job may still use the memory: it ends first, or is ended.
    if (!it->mapping.bytes().empty()) {
        if (!npu_->wait_idle(kQuiesceMs)) {
            log("guest memory was taken away under a running job: all cores reset");
            npu_->assert_reset(~0U, true);
            npu_->assert_reset(~0U, false);
        }
        memory_.remove(address);
    }
    ranges_.erase(it);
    return 0;
}

std::vector<std::string> Board::take_log() {
    std::vector<std::string> lines = std::exchange(log_, {});
    for (std::string& line : npu_->take_log())
        lines.push_back(std::move(line));
    return lines;
}

}  // namespace rknpusim
