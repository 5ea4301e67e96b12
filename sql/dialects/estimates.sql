-- A view for databases other than DuckDB: the count of every value with its standard error and interval, in all rows or in each
-- group of one public column. It is written for DuckDB, and translated. The moments, the test and the ends are the estimator's.

-- name: view
CREATE OR REPLACE VIEW @name@ AS
WITH numbers AS (
    SELECT position, value, CAST(own AS DOUBLE) AS own, CAST(other AS DOUBLE) AS other
    FROM (VALUES @numbers@) AS n(position, value, own, other)
), totals AS (
    SELECT @group@ CAST(count(*) AS DOUBLE) AS total FROM @table@ @by@
), showing AS (
    SELECT @group@ @noisy@ AS _value, CAST(count(*) AS DOUBLE) AS shown FROM @table@ GROUP BY @showing_by@
), sums AS (
    SELECT @key_of_total@ n.position, n.value, n.own, n.other, t.total, coalesce(s.shown, 0) AS shown
    FROM totals AS t CROSS JOIN numbers AS n
    LEFT JOIN showing AS s
        ON coalesce(s._value, '') = coalesce(n.value, '') AND (s._value IS NULL) = (n.value IS NULL) @same_group@
), moments AS (
    SELECT @key@ value, shown, @moments@ FROM sums
), tested AS (
    SELECT @key@ value, shown, @test@ FROM moments
)
SELECT @named@ value, @ends@, CAST(shown AS BIGINT) AS noisy_count FROM tested

-- name: group
@public@ AS _key,

-- name: by
GROUP BY @public@

-- name: showing_by
@public@, @noisy@

-- name: key
_key,

-- name: key_of_total
t._key,

-- name: same_group
AND (s._key = t._key OR (s._key IS NULL AND t._key IS NULL))

-- name: named
_key AS @heading@,
