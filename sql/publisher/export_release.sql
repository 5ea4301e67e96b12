-- FROM priv.export_release(release, path [, format := 'duckdb' | 'parquet'] [, card := true]
--   [, metadata := ['croissant', 'dcat', 'datapackage']]
--   [, dialects := ['spark', 'postgres', 'bigquery', 'trino', 'snowflake']] [, sign := false] [, key_file := …])
--   -> release, path, format, seconds, card, metadata, dialects, signed_with
--
-- Writes what you hand to analysts: one DuckDB file that every client from version 1.4 on opens, or a folder with Parquet
-- files and a setup.sql. It holds the published table, the public catalog and the macros: no source row, no secret, nothing
-- that calls Python. It replaces an earlier export of the same release, and nothing else. The file is written beside its
-- place and moved there when it is complete; remains of a killed program are removed.
--
-- The card describes the release to people, what it promises and what it is good for: one page of HTML, computed from the
-- release alone. It is in the release, FROM priv.card, and unless card := false beside it: visits_public.html beside
-- visits_public.duckdb, card.html in a folder.
--
-- metadata := […] describes the release for programs, in one or more formats, each in a file beside it, such as
-- visits_public.croissant.json: croissant for catalogs of machine learning, dcat for open data portals (DCAT-AP 3, JSON-LD),
-- datapackage for Frictionless. They name columns, types, labels, licence, contact, guarantees, population, version and the
-- digests of the files. The column metadata says where they are. They are not signed.
--
-- dialects := […] writes views of estimates for other databases, such as visits_public.spark.sql beside the file: the count of each
-- value with its standard error and interval, in all rows and by each public column if there are few. Load the published table
-- there, and run the script. It is for attributes with two probabilities for each value: uniform perturbation, and decoy groups of
-- values that are equally frequent. It needs sqlglot: pip install 'duckdb_priv[sql]'.
--
-- sign := true signs the release (Ed25519) with the key in key_file, in the file that DUCKDB_PRIV_KEY_FILE names, or with
-- the key that duckdb-priv key new makes. The signature covers the rows in their order, the catalog, the macros and the
-- card, not the bytes of the file: FROM priv.signature. duckdb-priv verify checks it with the public key.
--
-- Refused: a name of another format (x.csv), a path that is neither a file nor a folder, and in Parquet the types that would
-- not be read back unchanged (HUGEINT, INTERVAL, TIME WITH TIME ZONE).
--
--   FROM priv.export_release('visits_public', 'visits_public.duckdb');

CREATE OR REPLACE MACRO priv.export_release(release, path, format := 'duckdb', card := true, metadata := NULL,
    dialects := NULL, sign := false, key_file := NULL)
AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id, to_json({release: release, path: path, format: format, card: card, metadata: metadata,
        dialects: dialects, sign: sign,
        key_file: key_file, @caller@})::VARCHAR AS arguments
), @run@
SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "path": "VARCHAR", "format": "VARCHAR", "seconds": "DOUBLE",
    "card": "VARCHAR", "metadata": ["VARCHAR"], "dialects": ["VARCHAR"], "signed_with": "VARCHAR"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.export_release IS
    'Write a release to one file (or a Parquet folder) that analysts open without Python.';
