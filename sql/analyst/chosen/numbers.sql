-- The numbers of all values of the attribute that is asked for: only one where all are the same.

CREATE OR REPLACE MACRO priv._numbers(_key, _place) AS
    string_split(nullif(list_extract(string_split(priv._facts(_key), @between@), _place), ''), ',')::DOUBLE[];

COMMENT ON MACRO priv._numbers IS 'The numbers of all values of the attribute that is asked for: only one where all are the same.';
