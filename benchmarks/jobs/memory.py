"""Memory of a training process: each step allocates what the previous one freed."""
import ctypes

# of mallopt(3); 32 MiB is the most that glibc takes for the second
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
KEEP_FREE, OWN_MAPPING = 1 << 30, 32 << 20


def keep():
    """Make malloc keep freed memory instead of returning it to the kernel after every step.

    Each returned page is a page fault in the next step. On some hypervisors page faults take as long as the training
    itself. Returns whether this libc supports it; without it training is slower.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return mallopt(TRIM_THRESHOLD, KEEP_FREE) == 1 and mallopt(MMAP_THRESHOLD, OWN_MAPPING) == 1
