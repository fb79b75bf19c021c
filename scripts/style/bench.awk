# SPDX-License-Identifier: MIT
# bench.awk BASELINE TABLE: print the table beside what it was, and fail when something costs more.
#
# Lines of both: NAME instructions reads writes interrupts iommu-reads iommu-writes; the baseline has
# a goal for the instructions behind it, "-" for none. A line with one value has only a goal, "<N" or
# ">N". A goal that is missed is said; what fails is to become worse than the baseline. Instructions
# may grow by 5 %: where paths sleep depends on when exactly the interrupt comes.
function note(text) { notes = notes (notes == "" ? "" : ", ") text }
function complain(text) { note("WORSE: " text); bad++ }

/^#/ || NF < 2 { next }

FNR == NR { if (NF == 2) ratio[$1] = $2; else { line[$1] = $0; goal[$1] = $8 } next }

!printed++ {
    printf "%-28s %10s %10s %7s %9s %6s %6s %4s %7s %7s\n", "driver", "instr.", "baseline", "change",
        "goal", "reads", "writes", "irqs", "mmu rd", "mmu wr"
}

NF == 2 && $1 in ratio {
    notes = ""
    value = substr(ratio[$1], 2) + 0
    if (substr(ratio[$1], 1, 1) == "<" ? $2 >= value : $2 <= value) note("goal missed")
    printf "%-28s %10s %10s %s\n", $1, $2, ratio[$1], notes
    delete ratio[$1]
    next
}

NF == 7 && $1 in line {
    split(line[$1], was)
    notes = ""
    if ($2 > was[2] * 1.05) complain("more instructions")
    if (goal[$1] != "-" && $2 > goal[$1] + 0) note("goal missed")
    for (i = 3; i <= 7; i++) if ($i > was[i]) { complain("more register accesses or interrupts"); break }
    printf "%-28s %10d %10d %+6.1f%% %9s %6d %6d %4d %7d %7d %s\n", $1, $2, was[2],
        100 * ($2 - was[2]) / was[2], goal[$1], $3, $4, $5, $6, $7, notes
    delete line[$1]
}

END {
    for (name in line) { print name ": not measured"; bad++ }
    for (name in ratio) { print name ": not measured"; bad++ }
    exit bad > 0
}
