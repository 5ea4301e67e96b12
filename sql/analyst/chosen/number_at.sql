-- The number of the value at a position in the domain of the attribute that is asked for.

CREATE OR REPLACE MACRO priv._number_at(_key, _place, _position) AS
    list_extract(priv._numbers(_key, _place), least(_position, len(priv._numbers(_key, _place))));

COMMENT ON MACRO priv._number_at IS 'The number of the value at a position in the domain of the attribute that is asked for.';
