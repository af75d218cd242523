"""Margins from an ONNX graph: the only caller of onnxruntime."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

# From 1.29 on its builds for Linux report to Microsoft, among others the names of a graph and hashes of its weights.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime

from scoring_model.arrays import FloatArray
from scoring_model.bundle.contents import GRAPH
from scoring_model.bundle.errors import ContentInvalid
from scoring_model.decision.forest import check_rows

BLOCK_ROWS: Final = 256
"""Approximate number of rows per thread and task."""


class MarginSession:
    """A loaded graph that gives margins; calls from several threads are safe.

    Parameters
    ----------
    model : bytes
        Result of `training.export.to_onnx`.
    threads : int
        Threads over which `margins` spreads rows, 1 or more. Results do not depend on them: one thread computes a
        whole row, and its sums are exact in any order.

    Raises
    ------
    ContentInvalid
        If the bytes are not such a graph.
    """

    def __init__(self, model: bytes, *, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        options = onnxruntime.SessionOptions()
        # Threads inside the runtime increase the tail latency of single rows and do not speed up many rows.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            self._rows_per_call = int(self._session.get_modelmeta().custom_metadata_map["rows_per_call"])
        except Exception as error:  # the runtime's own errors share no class
            raise ContentInvalid(f"{GRAPH}: not a graph of margins ({type(error).__name__})") from error
        self._threads = threads
        self.feature_count = int(self._session.get_inputs()[0].shape[1])

    def margin(self, row: FloatArray) -> float:
        """Return the margin of one row.

        Parameters
        ----------
        row : ndarray of shape (d,), float64
            The features; categorical ones as integer codes or NaN.

        Returns
        -------
        float
            The margin, in log-odds: the same bits as in `margins`.
        """
        return float(self._session.run(["margin"], {"features": row.reshape(1, -1)})[0][0])

    def margins(self, rows: FloatArray) -> FloatArray:
        """Return the margins of many rows.

        Parameters
        ----------
        rows : ndarray of shape (n, d), float64
            The features; categorical ones as integer codes or NaN.

        Returns
        -------
        ndarray of shape (n,), float64
            The margins, in log-odds.

        Raises
        ------
        ValueError
            If the rows have another type or width.
        """
        check_rows(rows, self.feature_count)
        rows = np.ascontiguousarray(rows)
        margins = np.empty(len(rows))
        step = self._rows_per_call * max(1, BLOCK_ROWS // self._rows_per_call)
        starts = range(0, len(rows), step)
        if self._threads == 1 or len(starts) < 2:
            self._fill(rows, margins)
            return margins
        with ThreadPoolExecutor(self._threads) as pool:
            blocks = [(rows[start : start + step], margins[start : start + step]) for start in starts]
            # Reading the results raises exceptions of the threads.
            list(pool.map(lambda block: self._fill(*block), blocks))
        return margins

    def _fill(self, rows: FloatArray, margins: FloatArray) -> None:
        """Compute margins in place, in small blocks whose looked-up columns stay in the cache."""
        for start in range(0, len(rows), self._rows_per_call):
            chunk = slice(start, start + self._rows_per_call)
            margins[chunk] = self._session.run(["margin"], {"features": rows[chunk]})[0]
