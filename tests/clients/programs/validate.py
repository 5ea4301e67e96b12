"""Say of documents what is wrong with them, each by the validator of its format: nothing, where all is right.

Called with the shapes of DCAT-AP and the documents, whose names end in the format and .json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import frictionless
import mlcroissant
import pyshacl
import rdflib
from frictionless import FrictionlessException
from frictionless.resources import FileResource

shapes = rdflib.Graph().parse(sys.argv[1], format="json-ld")


def croissant(place: Path) -> str:
    try:
        found = mlcroissant.Dataset(jsonld=place).metadata
    except mlcroissant.ValidationError as error:
        return str(error)
    for each in found.record_sets:
        assert each.fields
    return "\n".join([*found.issues.errors, *found.issues.warnings])


def dcat(place: Path) -> str:
    graph = rdflib.Graph().parse(place, format="json-ld")
    assert len(graph) > 20
    right, _, report = pyshacl.validate(graph, shacl_graph=shapes)
    return "" if right else report


def datapackage(place: Path) -> str:
    try:
        package = frictionless.Package(place)
    except FrictionlessException as error:
        return str([error.error.message, *(each.message for each in error.reasons)])
    wrong = []
    for each in package.resources:
        # Whether the file has as many bytes, and the digest, that are stated.
        file = FileResource(
            path=each.path, basepath=str(place.parent), hash=each.hash, bytes=each.bytes
        )
        wrong += [error.message for task in file.validate().tasks for error in task.errors]
    return "\n".join(wrong)


json.dump(
    {name: globals()[Path(name).name.split(".")[-2]](Path(name)) for name in sys.argv[2:]},
    sys.stdout,
)
