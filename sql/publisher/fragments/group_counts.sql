-- How often each size of a micro group occurs together with each count of a value in it.
WITH cell AS (
    SELECT @public@ @sensitive@ AS _priv_value, count(*) AS _priv_rows FROM @source@ GROUP BY ALL
), placed AS (
    SELECT _priv_rows, sum(_priv_rows) OVER (@partition@) AS _priv_size,
        row_number() OVER (@partition@ ORDER BY _priv_rows DESC) = 1 AS _priv_top
    FROM cell
)
SELECT _priv_size::BIGINT, _priv_rows, _priv_top::BIGINT, count(*) FROM placed GROUP BY ALL
