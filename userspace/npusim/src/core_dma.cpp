// SPDX-License-Identifier: MIT
#include "core_dma.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace npusim {

namespace {

constexpr uint64_t kIovaEnd = 1ULL << 32;
constexpr uint32_t kPage = MmuBank::kPageSize;
constexpr size_t kMergeDepth = 4;  // earlier ranges a new access may be joined to

uint32_t page_of(uint32_t iova) {
    return iova & ~(kPage - 1);
}

}  // namespace

LiveBuffers::LiveBuffers(const std::vector<DmaRange>& ranges) {
    for (const DmaRange& range : ranges)
        spans_.push_back({range.iova, range.iova + range.size});
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& a, const Span& b) { return a.first < b.first; });
    std::vector<Span> merged;
    for (const Span& span : spans_) {
        if (!merged.empty() && span.first <= merged.back().end)
            merged.back().end = std::max(merged.back().end, span.end);
        else
            merged.push_back(span);
    }
    spans_ = std::move(merged);
}

bool LiveBuffers::contains(uint32_t iova, uint64_t size) const {
    const auto next =
        std::upper_bound(spans_.begin(), spans_.end(), iova,
                         [](uint64_t address, const Span& span) { return address < span.first; });
    return next != spans_.begin() && iova + size <= std::prev(next)->end;
}

CoreDma::CoreDma(PhysicalMemory& memory, std::vector<MmuBank*> banks, const SocConfig& soc)
    : memory_(memory),
      banks_(std::move(banks)),
      chip_rules_{soc.walk_address_bits, soc.data_address_bits},
      rules_(chip_rules_) {}

void CoreDma::begin_job(const JobFaults& faults, bool record,
                        std::shared_ptr<const LiveBuffers> live) {
    rules_ = chip_rules_;
    if (faults.low_4g)
        rules_ = {32, 32};
    fault_page_ = faults.fault_page;
    bus_page_ = faults.bus_page;
    fault_ = {};
    record_ = record;
    bytes_read_ = 0;
    bytes_written_ = 0;
    ranges_.clear();
    first_of_task_ = 0;
    live_ = std::move(live);
    stray_accesses_ = 0;
}

bool CoreDma::fail(DmaFault::Kind kind, uint32_t iova, Access access) {
    if (fault_.kind == DmaFault::Kind::kNone && !observed_)
        fault_ = {kind, iova, access};
    return false;
}

bool CoreDma::check_start(uint32_t iova, uint64_t len, Access access) {
    if (aborted_.load(std::memory_order_relaxed))
        return fail(DmaFault::Kind::kAborted, iova, access);
    // Addresses are 32 bits wide: what runs over the end reaches nothing.
    if (len > kIovaEnd - iova)
        return fail(DmaFault::Kind::kBusError, iova, access);
    return true;
}

MmuBank* CoreDma::bank_for(Access access) const {
    if (banks_.empty())
        return nullptr;
    return access == Access::kWrite ? banks_.back() : banks_.front();
}

DmaFault::Kind CoreDma::translate(uint32_t iova, Access access, uint64_t& pa) {
    if (fault_page_ && page_of(iova) == *fault_page_)
        return DmaFault::Kind::kPageFault;
    if (bus_page_ && page_of(iova) == *bus_page_)
        return DmaFault::Kind::kBusError;
    if (MmuBank* bank = bank_for(access))
        return bank->translate(iova, access, rules_, pa);
    pa = iova;
    return DmaFault::Kind::kNone;
}

uint64_t CoreDma::contiguous(uint32_t iova, uint64_t len, Access access, uint64_t& pa,
                             DmaFault::Kind& kind) {
    kind = translate(iova, access, pa);
    if (kind != DmaFault::Kind::kNone)
        return 0;
    const MmuBank* bank = bank_for(access);
    if ((!bank || !bank->paging()) && !fault_page_ && !bus_page_)
        return len;
    uint64_t size = std::min<uint64_t>(len, kPage - iova % kPage);
    while (size < len) {
        uint64_t next = 0;
        // A fault further on is reported when the transfer gets there.
        if (translate(static_cast<uint32_t>(iova + size), access, next) != DmaFault::Kind::kNone ||
            next != pa + size)
            break;
        size += std::min<uint64_t>(len - size, kPage);
    }
    return size;
}

std::span<std::byte> CoreDma::piece(uint32_t iova, uint64_t len, Access access,
                                    DmaFault::Kind& kind) {
    uint64_t pa = 0;
    const uint64_t size = contiguous(iova, len, access, pa, kind);
    if (size == 0) {
        if (MmuBank* bank = observed_ ? nullptr : bank_for(access))
            bank->note_fault(kind, iova, access);
        return {};
    }
    auto host = memory_.view(pa, size, access);
    // One translation may span several host buffers: go on page by page there.
    const uint64_t first = std::min<uint64_t>(size, kPage - iova % kPage);
    if (host.empty() && size > first)
        host = memory_.view(pa, first, access);
    if (host.empty())
        kind = DmaFault::Kind::kBusError;
    return host;
}

void CoreDma::account(uint32_t iova, uint64_t len, Access access) {
    if (observed_)
        return;
    (access == Access::kRead ? bytes_read_ : bytes_written_) += len;
    if (live_ && !fetching_ && !live_->contains(iova, len) && stray_accesses_++ == 0)
        first_stray_ = {iova, len, access, false};
    if (!record_)
        return;
    const size_t depth = std::min(ranges_.size() - first_of_task_, kMergeDepth);
    for (size_t i = 1; i <= depth; ++i) {
        DmaRange& range = ranges_[ranges_.size() - i];
        if (range.access != access || range.fetch != fetching_ || iova < range.iova ||
            iova > range.iova + range.size)
            continue;
        range.size = std::max<uint64_t>(range.size, iova + len - range.iova);
        return;
    }
    ranges_.push_back({iova, len, access, fetching_});
}

namespace {

constexpr size_t kAtom = 16;
constexpr size_t kWord = sizeof(uint64_t);

/// A single atom in memory. The cores that share an operator end it with a pool task each, which
/// reads and writes one atom that is the same for all: only these transfers meet on purpose.
bool is_atom(std::span<const std::byte> host) {
    return host.size() == kAtom && reinterpret_cast<uintptr_t>(host.data()) % kWord == 0;
}

std::atomic_ref<uint64_t> word_of(std::span<std::byte> host, size_t at) {
    return std::atomic_ref(*reinterpret_cast<uint64_t*>(host.data() + at));
}

void copy_out(std::span<std::byte> host, std::byte* to) {
    if (!is_atom(host)) {
        std::memcpy(to, host.data(), host.size());
        return;
    }
    for (size_t at = 0; at < kAtom; at += kWord) {
        const uint64_t word = word_of(host, at).load(std::memory_order_relaxed);
        std::memcpy(to + at, &word, kWord);
    }
}

void copy_in(const std::byte* from, std::span<std::byte> host) {
    if (!is_atom(host)) {
        std::memcpy(host.data(), from, host.size());
        return;
    }
    for (size_t at = 0; at < kAtom; at += kWord) {
        uint64_t word = 0;
        std::memcpy(&word, from + at, kWord);
        word_of(host, at).store(word, std::memory_order_relaxed);
    }
}

}  // namespace

bool CoreDma::read(uint32_t iova, std::span<std::byte> dst) {
    if (dst.empty())
        return true;
    if (!check_start(iova, dst.size(), Access::kRead))
        return false;
    for (uint64_t done = 0; done < dst.size();) {
        DmaFault::Kind kind;
        const uint32_t at = static_cast<uint32_t>(iova + done);
        const auto host = piece(at, dst.size() - done, Access::kRead, kind);
        if (host.empty())
            return fail(kind, at, Access::kRead);
        copy_out(host, dst.data() + done);
        done += host.size();
    }
    account(iova, dst.size(), Access::kRead);
    return true;
}

bool CoreDma::write(uint32_t iova, std::span<const std::byte> src) {
    if (src.empty())
        return true;
    if (!check_start(iova, src.size(), Access::kWrite))
        return false;
    for (uint64_t done = 0; done < src.size();) {
        DmaFault::Kind kind;
        const uint32_t at = static_cast<uint32_t>(iova + done);
        const auto host = piece(at, src.size() - done, Access::kWrite, kind);
        if (host.empty())
            return fail(kind, at, Access::kWrite);
        copy_in(src.data() + done, host);
        done += host.size();
    }
    account(iova, src.size(), Access::kWrite);
    return true;
}

std::span<std::byte> CoreDma::try_view(uint32_t iova, uint32_t len, Access access) {
    if (len == 0 || aborted_.load(std::memory_order_relaxed) || len > kIovaEnd - iova)
        return {};
    uint64_t pa = 0;
    DmaFault::Kind kind;
    if (contiguous(iova, len, access, pa, kind) != len)
        return {};
    const auto host = memory_.view(pa, len, access);
    if (!host.empty())
        account(iova, len, access);
    return host;
}

void CoreDma::set_observed(bool on) {
    observed_ = on;
}

bool CoreDma::fetch(uint32_t iova, std::span<std::byte> dst) {
    fetching_ = true;
    const bool ok = read(iova, dst);
    fetching_ = false;
    return ok;
}

}  // namespace npusim
