#!/usr/bin/env python3
"""Checks of one process on a card, for scripts/gpu-check: `cardcheck.py cap|mps-memory|mps-threads|busy|fault`.

Prints what it found. Exit code 0: as expected, 1: not, 77: this machine cannot check it.
"""
import argparse
import ctypes
import sys
import time

UNCHECKED = 77
MIB = 1 << 20

# A kernel that writes to address 0. The driver ends the process and reports XID 31 (or 13).
FAULTY = b"""
.version 6.0
.target sm_60
.address_size 64
.visible .entry faulty() {
    .reg .u64 %a;
    .reg .u32 %v;
    mov.u64 %a, 0;
    mov.u32 %v, 1;
    st.global.u32 [%a], %v;
    ret;
}
\0"""


def cuda():
    """PyTorch, if it can use a card."""
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("cardcheck: PyTorch sees no card")
        raise SystemExit(UNCHECKED)
    return torch


def fits(torch, mebibytes):
    """Whether an allocation of this size succeeds."""
    try:
        block = torch.empty(mebibytes * MIB, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        return False
    del block
    torch.cuda.empty_cache()
    return True


def limited(torch, limit, free):
    """Whether half of the limit fits, and twice the limit does not, though free MiB of the card are.

    A client of MPS that is limited sees its own part as the card, so the driver is asked what is free.
    """
    if free < 2 * limit:
        print("cardcheck: the card has %d MiB free, the check needs %d" % (free, 2 * limit))
        return UNCHECKED
    small, large = fits(torch, limit // 2), fits(torch, 2 * limit)
    print("limit %d MiB: %d MiB %s, %d MiB %s" % (limit, limit // 2, "fits" if small else "is refused", 2 * limit,
                                                  "fits" if large else "is refused"))
    return 0 if small and not large else 1


def cap(limit, free):
    """PyTorch's limit, which the shim sets from GPUSHARE_GPU_MEM_FRACTION."""
    torch = cuda()
    import gpushare
    gpushare.step()   # as each of its calls, it sets the limit once PyTorch is imported
    return limited(torch, limit, free)


def mps_threads():
    """The number of multiprocessors that a client of MPS sees: its part. Without MPS it sees all of them."""
    print(cuda().cuda.get_device_properties(0).multi_processor_count)
    return 0


def busy(seconds):
    """Matrix products without a pause."""
    torch = cuda()
    a = torch.randn(2048, 2048, device="cuda")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(20):
            a = torch.tanh(a @ a)
        torch.cuda.synchronize()
    return 0


def fault():
    """Run the faulty kernel by the driver's own interface. The context is lost; other processes are not affected."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as err:
        print("cardcheck: %s" % err)
        return UNCHECKED
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    device = ctypes.c_int()
    calls = (
        ("cuInit", 0), ("cuDeviceGet", ctypes.byref(device), 0),
        ("cuCtxCreate_v2", ctypes.byref(context), 0, device),
        ("cuModuleLoadData", ctypes.byref(module), FAULTY),
        ("cuModuleGetFunction", ctypes.byref(function), module, b"faulty"),
        ("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None),
    )
    for name, *args in calls:
        code = getattr(driver, name)(*args)
        if code:
            print("cardcheck: %s returned %d" % (name, code))
            return UNCHECKED
    code = driver.cuCtxSynchronize()
    print("the kernel ended with CUDA error %d" % code)
    return 0 if code else 1


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=("cap", "mps-memory", "mps-threads", "busy", "fault"))
    parser.add_argument("--limit", type=int, default=1024, help="MiB, for cap and mps-memory")
    parser.add_argument("--free", type=int, default=0, help="MiB that the driver reports as free, for cap and mps-memory")
    parser.add_argument("--seconds", type=float, default=10, help="for busy")
    options = parser.parse_args(argv)
    if options.check == "cap":
        return cap(options.limit, options.free)
    if options.check == "mps-memory":
        return limited(cuda(), options.limit, options.free)
    if options.check == "mps-threads":
        return mps_threads()
    if options.check == "busy":
        return busy(options.seconds)
    return fault()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
