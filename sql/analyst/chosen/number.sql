-- One number of the attribute that is asked for.

CREATE OR REPLACE MACRO priv._number(_key, _place) AS
    TRY_CAST(list_extract(string_split(priv._facts(_key), @between@), _place) AS DOUBLE);

COMMENT ON MACRO priv._number IS 'One number of the attribute that is asked for.';
