"""Plots of an evaluation: plain functions of arrays and of the axes that they draw in."""
