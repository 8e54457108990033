"""Memory of a training process: what a step frees, the next one wants again."""
import ctypes

# of mallopt(3); 32 MiB is the most that glibc takes for the second
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
KEEP_FREE, OWN_MAPPING = 1 << 30, 32 << 20


def keep():
    """Have malloc keep what is freed instead of giving it back to the kernel after every step.

    Each page that it gives back is a page fault in the next step. Where a hypervisor makes those dear they take as long as
    the training itself. Returns whether this libc knows how; without it all works the same, slower.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return mallopt(TRIM_THRESHOLD, KEEP_FREE) == 1 and mallopt(MMAP_THRESHOLD, OWN_MAPPING) == 1
