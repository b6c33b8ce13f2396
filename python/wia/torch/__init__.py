"""Makes "wia" a backend of torch.distributed: import wia.torch; torch.distributed.init_process_group("wia")."""

from ._process_group import ProcessGroupWia, register

__all__ = ["ProcessGroupWia"]

register()
