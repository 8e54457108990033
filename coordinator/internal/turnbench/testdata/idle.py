"""A job that never needs its GPU again after its first steps: `idle.py`. It ends with its standard input."""
import sys
import time

import gpushare

for _ in range(20):
    time.sleep(0.05)
    gpushare.step()
with gpushare.idle():
    sys.stdin.read()
