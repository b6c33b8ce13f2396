"""libwia: collective communication for deep learning.

    import numpy, wia
    world = wia.init()                      # started by `wia run -n 4 -- python program.py`, or torchrun
    values = numpy.ones(1000, "float32")
    world.all_reduce(values)                # in place; every rank holds the sum
    request = world.asynchronous.all_reduce(values)
    request.wait()

`import wia.torch` makes "wia" a backend of torch.distributed.
"""

from ._communicator import Communicator, Collectives, Op, Request, finalize, init, init_rank, unique_id
from ._errors import ArgumentError, Error, Status, TimeoutError
from ._native import version as _version

__version__: str = _version()
__all__ = [
    "ArgumentError",
    "Collectives",
    "Communicator",
    "Error",
    "Op",
    "Request",
    "Status",
    "TimeoutError",
    "finalize",
    "init",
    "init_rank",
    "unique_id",
]
