"""ONNX graphs as they are written: nodes, constants, and tree ensembles among the nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from scoring_model.arrays import BoolArray, FloatArray, IntArray

OPSET: Final = 21
ML_OPSET: Final = 5
IR_VERSION: Final = 10


class Mode(IntEnum):
    """The comparisons of a TreeEnsemble's splits that are used here."""

    AT_MOST = 0
    BELOW = 1


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes and constants of a graph, in the order of writing."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def add(
        self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node; return the name of its output."""
        self.nodes.append(helper.make_node(operator, inputs, [output], output, domain=domain, **attributes))
        return output

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        """Add a constant; return its name."""
        self.constants.append(numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def serialise(
        self,
        inputs: Sequence[onnx.ValueInfoProto],
        outputs: Sequence[onnx.ValueInfoProto],
        metadata: Mapping[str, str],
    ) -> bytes:
        """Check the graph and write it; nothing in it depends on the clock or the machine."""
        model = helper.make_model(
            helper.make_graph(self.nodes, "margin", inputs, outputs, self.constants),
            producer_name="scoring_model",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        )
        helper.set_model_props(model, dict(metadata))
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))


def ensemble(
    *,
    modes: NDArray[np.integer],
    columns: IntArray,
    thresholds: FloatArray,
    missing: BoolArray,
    yes: IntArray,
    no: IntArray,
    leaves: FloatArray,
    roots: IntArray,
) -> dict[str, Any]:
    """Return the attributes of a TreeEnsemble (ai.onnx.ml 5) that sums one leaf of each tree.

    Parameters
    ----------
    modes : ndarray of shape (splits,), integers
        `Mode` of each split.
    columns : ndarray of shape (splits,), int64
        Column that it reads.
    thresholds : ndarray of shape (splits,), float64
        What it compares with.
    missing : ndarray of shape (splits,), bool
        Its answer to NaN.
    yes, no : ndarray of shape (splits,), int64
        Where each answer leads: split ``i`` as ``i``, leaf ``i`` as ``~i``.
    leaves : ndarray of shape (leaves,), float64
        Values of the leaves.
    roots : ndarray of shape (trees,), int64
        The split that each tree begins with.

    Returns
    -------
    dict of str to object
        Attributes for ``onnx.helper.make_node``.
    """
    return {
        "aggregate_function": 1,
        "n_targets": 1,
        "nodes_modes": numpy_helper.from_array(modes.astype(np.uint8)),
        "nodes_featureids": columns.tolist(),
        "nodes_splits": numpy_helper.from_array(thresholds),
        "nodes_missing_value_tracks_true": missing.astype(np.int64).tolist(),
        "nodes_truenodeids": np.where(yes >= 0, yes, ~yes).tolist(),
        "nodes_trueleafs": (yes < 0).astype(np.int64).tolist(),
        "nodes_falsenodeids": np.where(no >= 0, no, ~no).tolist(),
        "nodes_falseleafs": (no < 0).astype(np.int64).tolist(),
        "leaf_targetids": [0] * len(leaves),
        "leaf_weights": numpy_helper.from_array(leaves),
        "tree_roots": roots.tolist(),
    }
