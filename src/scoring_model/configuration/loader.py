"""The dialect of YAML of configurations; a service that is started by flags alone never loads it."""

from collections import Counter
from typing import Final

import yaml

try:
    from yaml import CSafeLoader as SafeLoader  # reads a large file in a fifth of the time
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]

_MOST_NAMED: Final = 100


class Loader(SafeLoader):
    """A YAML loader that rejects duplicate keys and keeps dates and times as text."""


def _mapping_once(loader: Loader, node: yaml.MappingNode) -> dict[object, object]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    mapping = loader.construct_mapping(node, deep=True)  # refuses keys that can't be hashed
    twice = sorted(str(key) for key, count in Counter(keys).items() if count > 1)
    if twice:
        raise yaml.constructor.ConstructorError(
            None, None, f"duplicate keys: {', '.join(twice[:_MOST_NAMED])}", node.start_mark
        )
    return mapping


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_once)
Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: str(node.value))
