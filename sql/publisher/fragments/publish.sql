-- Publishes by a method; what it takes is written from its record (publisher/surface.py).
CREATE OR REPLACE MACRO priv.@macro@(source, release, @parameters@) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id,
        to_json({"source": source, "release": release, @arguments@, @caller@})::VARCHAR AS arguments @constants@
), @run@
@receipt@;

COMMENT ON MACRO TABLE priv.@macro@ IS @comment@
