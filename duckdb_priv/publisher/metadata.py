"""Machine-readable metadata of a release: documents next to the export, in formats of catalogs and search engines.

They contain public facts only: the catalog of the release, its population, and the digests of the files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.publisher.described import Described
from duckdb_priv.publisher.placing import beside, refuse_unmarked, write_text
from duckdb_priv.release.catalog import PublishedColumn
from duckdb_priv.release.model import to_json

WEB = re.compile(r"https?://[!-~]+")
MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
TYPES = (
    (re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"), ("sc:Integer", "integer", "integer")),
    (re.compile(r"FLOAT|DOUBLE|DECIMAL.*"), ("sc:Float", "number", "double")),
    (re.compile(r"BOOLEAN"), ("sc:Boolean", "boolean", "boolean")),
    (re.compile(r"DATE"), ("sc:Date", "date", "date")),
    (re.compile(r"TIMESTAMP.*"), ("sc:DateTime", "datetime", "dateTime")),
)
"""By DuckDB type: its name in Croissant, in a Data Package, and in CSVW."""
TEXT = ("sc:Text", "string", "string")
MEDIA = {
    ".parquet": "application/vnd.apache.parquet",
    ".sql": "application/sql",
}
DATABASE = "application/octet-stream"
"""The media type of a DuckDB file, which has no registered one."""


@dataclass(frozen=True)
class ExportedFile:
    """A file of an export."""

    path: str
    """Relative to the documents."""
    media: str
    size: int
    sha256: str

    @property
    def address(self) -> str:
        """The path as a relative address."""
        return quote(self.path)


Document = dict[str, Any]


def _types(column: PublishedColumn) -> tuple[str, str, str]:
    # A noisy column is an ENUM of the domain, whatever the type of the attribute.
    if column.role == "sensitive":
        return TEXT
    return next((names for kind, names in TYPES if kind.fullmatch(column.type)), TEXT)


def _explained(column: PublishedColumn) -> str:
    """Write the description of a column."""
    what = {
        "public": "As in the source.",
        "sensitive": f"Noisy values of {column.attribute}, not the true ones: plain counts of them are wrong.",
        "generalized": "Made coarser.",
        "group": "Which records share a list of sensitive values.",
        "scale": "How many records a row is for, or how far it is perturbed.",
    }[column.role]
    return f"{_sentence(column.description)} {what}" if column.description else what


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _summary(described: Described) -> str:
    """Write a description of the release in one paragraph."""
    stated = described.row["description"]
    return " ".join(
        [
            *([_sentence(stated)] if stated else []),
            f"A table about the population {described.population!r}, published with noise:"
            f" {described.method.words.title}.",
            *described.guarantees,
            "Estimates of true counts are made by the functions in it, from any DuckDB: FROM READ_ME.",
        ]
    )


def _noise(described: Described) -> str:
    return f"priv.publish_{described.method.name}, {to_json(described.row['parameters'])}"


def _croissant(described: Described, files: Sequence[ExportedFile]) -> Document:
    """Return the Croissant 1.0 document of a release, with the responsible-AI vocabulary."""
    table = quote(described.release)
    document = {
        "@context": CROISSANT,
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.0",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "name": described.release,
        "alternateName": described.title,
        "description": _summary(described),
        "version": f"{described.row['version']}.0.0",
        "citeAs": f"{_sentence(described.title)} Version {described.row['version']}, {described.row['created_at']:%Y}.",
        "datePublished": described.row["created_at"].isoformat(timespec="seconds"),
        "rai:personalSensitiveInformation": [
            each.attribute for each in described.columns if each.role == "sensitive"
        ],
        "rai:dataReleaseMaintenancePlan": f"Version {described.row['version']} of {described.release}.",
        "rai:dataPreprocessingProtocol": [_noise(described), *described.guarantees],
        "rai:dataLimitations": list(described.unprotected),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": each.address,
                "name": each.path,
                "contentUrl": each.address,
                "contentSize": f"{each.size} B",
                "encodingFormat": each.media,
                "sha256": each.sha256,
            }
            for each in files
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table,
                "name": described.release,
                "description": f"{described.row['rows_published']:,} rows.",
                "field": [_croissant_field(each, table, files[0]) for each in described.columns],
            },
            *(
                _croissant_labels(each, f"{table}/labels/{quote(each.name, safe='')}")
                for each in described.columns
                if each.labels
            ),
        ],
    }
    if licence := described.row["licence"]:
        document["license"] = licence
    if contact := described.row["contact"]:
        document["creator"] = {"@type": "sc:Organization", "name": contact}
        if MAIL.fullmatch(contact):
            document["creator"]["email"] = contact
    return document


def _croissant_field(column: PublishedColumn, table: str, file: ExportedFile) -> Document:
    name = quote(column.name, safe="")
    field = {
        "@type": "cr:Field",
        "@id": f"{table}/{name}",
        "name": column.name,
        "description": _explained(column),
        "dataType": _types(column)[0],
        "source": {"fileObject": {"@id": file.address}, "extract": {"column": column.name}},
    }
    if column.labels:
        field["references"] = {"field": {"@id": f"{table}/labels/{name}/value"}}
    return field


def _croissant_labels(column: PublishedColumn, place: str) -> Document:
    """Return the labels of a column as a Croissant record set."""
    return {
        "@type": "cr:RecordSet",
        "@id": place,
        "name": f"{column.name} labels",
        "description": f"What the codes of {column.name} mean.",
        "key": {"@id": f"{place}/value"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{place}/{part}",
                "name": part,
                "description": what,
                "dataType": "sc:Text",
            }
            for part, what in (("value", "The code."), ("label", "What it means."))
        ],
        "data": [
            {f"{place}/value": "" if value is None else value, f"{place}/label": label}
            for value, label in column.labels
        ],
    }


def _dcat(described: Described, files: Sequence[ExportedFile]) -> Document:
    """Return the DCAT-AP 3 document of a release (for European data portals), with its columns in CSVW."""
    document = {
        "@context": DCAT,
        "@type": "dcat:Dataset",
        "dct:identifier": described.release,
        "dct:title": described.title,
        "dct:description": _summary(described),
        "dct:issued": {
            "@type": "xsd:dateTime",
            "@value": f"{described.row['created_at'].isoformat(timespec='seconds')}Z",
        },
        "dcat:version": str(described.row["version"]),
        "dcat:keyword": ["statistical disclosure control", described.population],
        "dct:provenance": [
            {"@type": "dct:ProvenanceStatement", "rdfs:label": each}
            for each in (_noise(described), *described.guarantees, *described.unprotected)
        ],
        "dct:conformsTo": {
            "@type": ["dct:Standard", "csvw:Schema"],
            "dct:title": f"Columns of {described.release}",
            "csvw:column": {
                "@list": [
                    {
                        "@type": "csvw:Column",
                        "csvw:name": each.name,
                        "csvw:datatype": _types(each)[2],
                        "dct:description": _explained(each),
                    }
                    for each in described.columns
                ]
            },
        },
        "dcat:distribution": [_dcat_distribution(described, each) for each in files],
    }
    if contact := described.row["contact"]:
        document["dcat:contactPoint"] = {
            "@type": ["vcard:Organization", "vcard:Kind"],
            "vcard:fn": contact,
            **(
                {"vcard:hasEmail": {"@id": f"mailto:{quote(contact, safe='@')}"}}
                if MAIL.fullmatch(contact)
                else {}
            ),
        }
    return document


def _dcat_distribution(described: Described, file: ExportedFile) -> Document:
    found = {
        "@type": "dcat:Distribution",
        "dct:title": file.path,
        "dcat:accessURL": {"@id": file.address, "@type": "rdfs:Resource"},
        "dcat:mediaType": {
            "@id": f"https://www.iana.org/assignments/media-types/{file.media}",
            "@type": "dct:MediaType",
        },
        "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(file.size)},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {
                "@id": "spdx:checksumAlgorithm_sha256",
                "@type": "spdx:ChecksumAlgorithm",
            },
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": file.sha256},
        },
    }
    if licence := described.row["licence"]:
        found["dct:license"] = {
            "@type": "dct:LicenseDocument",
            **({"@id": licence} if WEB.fullmatch(licence) else {"dct:title": licence}),
        }
    return found


def _datapackage(described: Described, files: Sequence[ExportedFile]) -> Document:
    """Return the Data Package of a release; the schema of each resource lists the columns."""
    promise = described.promise
    document = {
        "profile": "data-package",
        "name": _slug(described.release),
        "title": described.title,
        "description": _summary(described),
        "version": f"{described.row['version']}.0.0",
        "created": f"{described.row['created_at'].isoformat(timespec='seconds')}Z",
        "privacy": {
            "population": described.population,
            "method": described.method.name,
            "parameters": described.row["parameters"],
            "unit": promise.unit,
            "neighbours": promise.neighbours,
            "epsilon": promise.epsilon,
            "delta": promise.delta,
            "guarantees": list(described.guarantees),
            "not_protected": list(described.unprotected),
        },
        "resources": [
            {
                "name": _slug(each.path),
                "path": each.path,
                "format": Path(each.path).suffix.removeprefix(".") or "duckdb",
                "mediatype": each.media,
                "bytes": each.size,
                "hash": f"sha256:{each.sha256}",
                **(
                    {"schema": {"fields": _datapackage_fields(described)}}
                    if each is files[0]
                    else {}
                ),
            }
            for each in files
        ],
    }
    if licence := described.row["licence"]:
        document["licenses"] = [
            {"path": licence, "title": licence}
            if WEB.fullmatch(licence)
            else {"name": _slug(licence), "title": licence}
        ]
    if contact := described.row["contact"]:
        document["contributors"] = [
            {
                "title": contact,
                "role": "publisher",
                **({"email": contact} if MAIL.fullmatch(contact) else {}),
            }
        ]
    return document


def _datapackage_fields(described: Described) -> list[Document]:
    fields = []
    for column in described.columns:
        field: Document = {
            "name": column.name,
            "type": _types(column)[1],
            "description": _explained(column),
        }
        domain = described.domains.get(column.attribute)
        if column.role == "sensitive" and domain:
            field["constraints"] = {"enum": [each for each in domain if each is not None]}
        if column.labels:
            field["categories"] = [
                {"value": value, "label": label}
                for value, label in column.labels
                if value is not None
            ]
        fields.append(field)
    return fields


def _slug(name: str) -> str:
    """Return a name with only the characters that a Data Package allows.

    >>> _slug("Visits (public)"), _slug("日本")
    ('visits-public', 'release')
    """
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.") or "release"


FORMATS: Mapping[str, Callable[[Described, Sequence[ExportedFile]], Document]] = {
    "croissant": _croissant,
    "dcat": _dcat,
    "datapackage": _datapackage,
}
"""The function that writes each metadata format, by name."""


def place_of(export: Path, form: str) -> Path:
    """Return the path of an export's metadata document in a format."""
    return beside(export, f"{form}.json")


def _mark(release: str) -> str:
    """Return the first characters of every document, by which an overwrite recognizes it."""
    return f'{{\n "generator": {json.dumps(f"duckdb_priv, of {release}", ensure_ascii=False)},'


def check_replaceable(place: Path, release: str) -> None:
    """Refuse to overwrite anything but an earlier document about the same release."""
    refuse_unmarked(place, _mark(release), release, "metadata")


def write(workspace: Workspace, export: Path, described: Described, forms: Sequence[str]) -> None:
    """Write the metadata documents of an export after its own files are written."""

    def written() -> None:
        files = _files(export)
        for form in forms:
            document = FORMATS[form](described, files)
            text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=str)
            write_text(place_of(export, form), _mark(described.release) + text.removeprefix("{"))

    workspace.on_commit.append(written)


def _files(export: Path) -> list[ExportedFile]:
    """List the files of an export, the one with the rows first."""
    inside = [export / "data.parquet", export / "setup.sql"] if export.is_dir() else [export]
    found = []
    for file in inside:
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        found.append(
            ExportedFile(
                file.relative_to(export.parent).as_posix(),
                MEDIA.get(file.suffix, DATABASE),
                file.stat().st_size,
                digest,
            )
        )
    return found


CROISSANT = json.loads("""
{"@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column",
 "conformsTo": "dct:conformsTo", "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
 "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
 "dct": "http://purl.org/dc/terms/", "equivalentProperty": "cr:equivalentProperty",
 "examples": {"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract", "field": "cr:field",
 "fileProperty": "cr:fileProperty", "fileObject": "cr:fileObject", "fileSet": "cr:fileSet", "format": "cr:format",
 "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath", "key": "cr:key",
 "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path", "recordSet": "cr:recordSet",
 "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace",
 "samplingRate": "cr:samplingRate", "sc": "https://schema.org/", "separator": "cr:separator", "source": "cr:source",
 "subField": "cr:subField", "transform": "cr:transform"}
""")
"""The context that Croissant 1.0 prescribes."""
DCAT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "spdx": "http://spdx.org/rdf/terms#",
    "csvw": "http://www.w3.org/ns/csvw#",
}
