"""Prints the values that wb-bench/src/numpy_random.rs is tested against, made by numpy itself.

    python scripts/golden-numpy-random.py

The sha256 prefixes are those of the project's protocol notes; the FNV-1a values need no hash crate in a test.
"""

import hashlib

import numpy as np


def fnv(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


print("numpy", np.__version__)
for n in [7, 10, 1000, 1261, 3291, 8122, 10955, 14918, 22176]:
    order = np.arange(n)
    np.random.seed(0)
    np.random.shuffle(order)
    data = order.astype("<u4").tobytes()
    first = ", ".join(map(str, order[:6]))
    print(f"        check({n}, [{first}], {fnv(data):#018x}); // sha256 {hashlib.sha256(data).hexdigest()[:16]}")

np.random.seed(0)
print("normals", [float(x) for x in np.random.randn(5)])
np.random.seed(0)
order = np.arange(1400)
np.random.shuffle(order)
print("choice", np.random.choice(np.arange(1000), replace=False, size=50)[:5].tolist())
print("then normals", [float(x) for x in np.random.randn(2)])
np.random.seed([0x123, 0x234, 0x345, 0x456])
print("by array", np.random.randint(0, 2**32, size=5, dtype=np.uint64).tolist(), "(masked draws of 64 bits)")
