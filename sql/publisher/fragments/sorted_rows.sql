-- A table of rows in the order of their own columns: duckdb_priv/engine/byte_order.py.

-- name: sorted
CREATE TABLE @table@ AS FROM (@rows@) ORDER BY @order@

-- name: counted_rows
SELECT *, count(*) AS _priv_rows FROM (@rows@) GROUP BY ALL

-- name: counted
-- Each row is written as often as it was counted. Lists have a limit, since DuckDB keeps them in memory.
CREATE TABLE @table@ (@declared@);
INSERT INTO @table@ SELECT @columns@ FROM (
    SELECT *, unnest(range(least(_priv_rows - _priv_start, @at_once@))) AS _priv_copy FROM (
        SELECT *, unnest(range(0, _priv_rows, @at_once@)) AS _priv_start FROM (
            FROM (@rows@) ORDER BY @order@
        )
    )
)
