"""Answers of the drawn families by another way than their own: name -> function of the operands."""

from helpers.diagram_solvers import data, geometry

SOLVERS = geometry.SOLVERS | data.SOLVERS
