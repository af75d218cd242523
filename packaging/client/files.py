"""The files of the client, which lie outside its folder. An editable install finds them by a path instead."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("__init__.py", "py.typed", "client", "contract")


class Hook(BuildHookInterface[Any]):
    """Adds the files to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them, where they belong in the package."""
        if version == "standard":
            package = "scoring_model"
            build_data["force_include"] |= {f"../../src/{package}/{one}": f"{package}/{one}" for one in FILES}
