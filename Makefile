# SPDX-License-Identifier: MIT
# "make help" lists the targets. KDIR, ARCH, CROSS_COMPILE, LLVM, W, C, CF and V reach kbuild as
# given on the command line: nothing here sets them.

KDIR   ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
VERSION := $(shell sed -n 's/^project.rknpu.* VERSION \([0-9.]*\).*/\1/p' userspace/CMakeLists.txt)
# Headers that come with a vmlinux make kbuild call pahole, which few who build one driver have.
NO_BTF := $(if $(shell command -v pahole),,CONFIG_DEBUG_INFO_BTF_MODULES=)

export PREFIX DESTDIR V RKNPU_CACHE RKNPU_BUILD
BUILD := $(or $(RKNPU_BUILD),$(CURDIR)/build)

.DEFAULT_GOAL := all
.PHONY: help all modules modules_install userspace dtbs demo check check-unit golden check-arm check-vm \
	check-debug check-kernels check-intree check-dts check-packages check-install check-doctor check-scripts fuzz packages bsp bench style install uninstall dkms clean

help: ## list the targets
	@sed -n 's/^\([a-z_-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18
	@echo
	@echo 'Variables: KDIR ARCH CROSS_COMPILE LLVM W C CF V (kbuild), DESTDIR PREFIX INSTALL_MOD_PATH,'
	@echo 'RKNPU_BUILD (build folder), RKNPU_CACHE (downloads), KERNELS (of check-vm: "6.1 6.12")'

all: userspace ## driver for KDIR, and userspace
ifneq ($(shell test -e '$(KDIR)/Makefile' && echo yes),)
all: modules
else
all: no-kdir
.PHONY: no-kdir
no-kdir:
	@echo 'No kernel headers in $(KDIR): only userspace was built. For the driver: make modules KDIR=DIR'
endif

modules: ## driver only: kernel/rknpu.ko
	@test -e '$(KDIR)/Makefile' || { echo 'No kernel headers in $(KDIR): set KDIR=DIR' >&2; exit 1; }
	@case '$(CURDIR)$(KDIR)' in *[[:space:]]*) \
		echo 'Kernels cannot build in a folder with blanks in its name: $(CURDIR), $(KDIR)' >&2; exit 1;; esac
	$(MAKE) -C '$(KDIR)' M='$(CURDIR)/kernel' $(NO_BTF) modules

modules_install: modules ## install the driver (INSTALL_MOD_PATH)
	$(MAKE) -C '$(KDIR)' M='$(CURDIR)/kernel' $(NO_BTF) modules_install

userspace: ## runtime, tools and NPU model for this machine
	@scripts/build-userspace.sh host

dtbs: ## device tree overlays for real boards: build/dts/*.dtbo
	@scripts/build-dtbs.sh

demo: ## run a model on the emulated RK3588 (installs and fetches what is missing)
	@scripts/setup.sh demo
	@scripts/demo.sh

check: ## everything: unit tests, style, tests on the emulated board
	@scripts/setup.sh
	@scripts/check.sh all

check-unit: ## unit tests on this machine
	@scripts/check.sh unit

golden: ## the NPU model against slow rules, 200,000 random cases
	@scripts/check.sh golden

check-arm: ## conversions with NEON and 32-bit programs, on this machine
	@scripts/setup.sh
	@scripts/check.sh arm

check-vm: ## kselftests and runtime tests on the emulated board (KERNELS="6.1 6.12")
	@scripts/check.sh vm

check-debug: ## unit tests with sanitizers, kselftests on a kernel with KASAN, lockdep, kmemleak
	@scripts/setup.sh
	@scripts/check.sh debug

check-kernels: ## build the driver for every kernel of scripts/kernels.txt, print the table
	@scripts/check-kernels.sh

check-intree: ## build the driver inside of Debian's kernel sources, as y and as m
	@scripts/check-intree.sh

check-dts: ## put the NPU into all board trees of Debian's kernels, validate the results
	@scripts/check-dts.sh

check-packages: ## build the Debian packages, install and remove them in clean systems
	@scripts/check-packages.sh

check-install: ## install, uninstall, dkms and modules of this file
	@scripts/check-install.sh

check-doctor: ## rknpu-doctor on boards made of files
	@scripts/check-doctor.sh

check-scripts: ## this file and the scripts: what they refuse, what they leave behind
	@scripts/check-scripts.sh

fuzz: ## loader and NPU model under sanitizers, RKNPU_FUZZ_SECONDS=600 each
	@scripts/fuzz.sh

bench: ## what the driver costs, speed of the NPU model and of the runtime
	@scripts/bench.sh

style: ## licences, formatting, checkpatch, sparse, include rules, sizes
	@scripts/check-style.sh

install: userspace ## runtime, headers and tools below DESTDIR/PREFIX
	DESTDIR='$(DESTDIR)' cmake --install '$(BUILD)/userspace' --prefix '$(PREFIX)'

uninstall: ## remove what install put there
	@test -e '$(BUILD)/userspace/install_manifest.txt' || { echo 'nothing was installed from here' >&2; exit 1; }
	while IFS= read -r file || test -n "$$file"; do rm -f -- '$(DESTDIR)'"$$file" || exit 1; done \
		<'$(BUILD)/userspace/install_manifest.txt'

dkms: ## stage the driver for DKMS below DESTDIR/usr/src (no DESTDIR: this machine's own)
	@scripts/stage-dkms.sh '$(DESTDIR)/usr/src/rknpu-$(VERSION)' '$(VERSION)'

bsp: ## copy the driver into a kernel tree as drivers/rknpu (BSP=DIR)
	@scripts/stage-bsp.sh '$(BSP)'

packages: ## Debian packages for arm64: build/packages
	@scripts/build-packages.sh

clean: ## remove build products, keep the cache
	@scripts/clean.sh
