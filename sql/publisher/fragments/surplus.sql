-- The ids of the records that a person has beyond the number that may be published: those with the largest keyed hash.
CREATE OR REPLACE TEMP TABLE @table@ AS
WITH drawn AS (
    SELECT @ids@, @person@, _priv_bits(@stream@::UBIGINT, @id_number@, @id_text@, 0::UINTEGER) AS _priv_order FROM @source@
)
SELECT @ids@ FROM drawn
QUALIFY row_number() OVER (PARTITION BY @same_person@ ORDER BY _priv_order, @ids@) > @max_rows@
