"""A position in the metadata log and the image at that position, as JSON. A follower continues from it after a restart.

It contains no secrets: a sensitive value is represented by the offset of the record that set it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kconf.client.kraft.image import MetadataImage
from kconf.errors import StoreMismatch
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import topic_from_json, topic_to_json

_FORMAT = 1
_TYPES = {each.word: each for each in ResourceType}


class Checkpoint(NamedTuple):
    """`offset` is the next offset to fetch, `epoch` that of the last batch before it."""

    cluster: str
    offset: int
    epoch: int
    image: MetadataImage

    @classmethod
    def empty(cls, cluster: str) -> Checkpoint:
        """The start of a log."""
        return cls(cluster, 0, 0, MetadataImage())

    def to_json(self) -> dict[str, Any]:
        image = self.image
        return {
            "format": _FORMAT,
            "cluster": self.cluster,
            "offset": self.offset,
            "epoch": self.epoch,
            "topics": {name: topic_to_json(topic) for name, topic in image.topics.items()},
            "configs": [[each.type.word, each.name, values] for each, values in image.configs.items()],
            "acls": {key.hex(): list(binding) for key, binding in image.acls.items()},
            "sensitive": [[resource.type.word, resource.name, key] for resource, key in image.sensitive],
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], source: object = "the checkpoint") -> Checkpoint:
        """Parse a checkpoint. Raises StoreMismatch, which names the source, if it is invalid."""
        try:
            if facts["format"] != _FORMAT:
                raise StoreMismatch(f"{source} was written by a newer version of kconf")
            image = MetadataImage.restore(
                [topic_from_json(name, text) for name, text in facts["topics"].items()],
                {Resource(_TYPES[kind], name): dict(values) for kind, name, values in facts["configs"]},
                {bytes.fromhex(key): values for key, values in facts["acls"].items()},
                {(Resource(_TYPES[kind], name), key): None for kind, name, key in facts["sensitive"]},
            )
            return cls(str(facts["cluster"]), int(facts["offset"]), int(facts["epoch"]), image)
        except (KeyError, TypeError, ValueError):
            raise StoreMismatch(f"{source} is damaged") from None
