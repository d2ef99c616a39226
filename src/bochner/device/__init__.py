"""Device: the accelerator that large sums, factors and transforms may run on, through PyTorch.

`device_for(work)` gives the one in force for a piece of work, or None: then NumPy does it. Rooms below keep their own
device code in files of their own (`moments/device_sums.py`, `solvers/device_cholesky.py`, ...), each beside the code
that it stands in for; here lie only the choice, the moves there and back, and what happens when memory runs out.
"""

from __future__ import annotations

from bochner.device.accelerator import Device, device_for, device_throughout, named_device
from bochner.device.matrix import DeviceMatrix

__all__ = ["Device", "DeviceMatrix", "device_for", "device_throughout", "named_device"]
