"""What a process that works for others does first."""

import faulthandler


def show_faults() -> None:
    """Write the stacks of all threads to standard error when machine code ends this process."""
    if not faulthandler.is_enabled():
        faulthandler.enable(2)
