-- One field of the numbers of the attribute that is asked for, as a text.

CREATE OR REPLACE MACRO priv._fact(_key, _place) AS list_extract(string_split(priv._facts(_key), @between@), _place);

COMMENT ON MACRO priv._fact IS 'One field of the numbers of the attribute that is asked for, as a text.';
