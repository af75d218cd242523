"""What a process that works for others does first."""

import faulthandler
import os
import threading


def show_faults() -> None:
    """Write the stacks of all threads to standard error when machine code ends this process."""
    if not faulthandler.is_enabled():
        faulthandler.enable(2)


def begin_work() -> None:
    """Let this process of `multiprocessing` end at once when its parent is gone, however that ended.

    One that waits for a task, or trains a model, would notice a closed pipe late or never.
    """
    show_faults()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import connection, parent_process  # services do without it

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
