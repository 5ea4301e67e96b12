-- The values of a sensitive attribute: given ones in the order of the type, bins, and points on an axis.

-- name: in_order
SELECT text, (@value@)::VARCHAR AS value FROM (SELECT unnest(?) AS text) ORDER BY TRY_CAST(text AS @kind@) NULLS LAST

-- name: texts_of_points
SELECT (@value@)::@kind@::VARCHAR FROM (SELECT unnest(?::DOUBLE[]) AS _at)

-- name: points_of_texts
SELECT @point@ FROM (SELECT unnest(?::VARCHAR[]) AS written)

-- name: view_of_bins
-- On one line, as all advised statements.
CREATE VIEW @view@ AS SELECT * REPLACE (CASE WHEN @column@ IS NOT NULL THEN (@values@::@kind@[])[1 + len(list_filter([@edges@], lambda edge: edge <= @point@))] END AS @column@) FROM @table@;

-- name: in_bins
(SELECT * EXCLUDE (@hidden@), @bin@ AS @place@ FROM (SELECT s.*, @point@ AS @axis@@bits@ FROM @records@ AS s))

-- name: binned
(SELECT * EXCLUDE (@place@) REPLACE (@value@ AS @column@) FROM @records@)
