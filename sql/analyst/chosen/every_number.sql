-- The numbers of all values of the attribute that is asked for, as many as there are values.

CREATE OR REPLACE MACRO priv._every_number(_key, _place) AS list_resize(
    priv._numbers(_key, _place), CAST(priv._fact(_key, @size@) AS INTEGER),
    list_extract(priv._numbers(_key, _place), 1)
);

COMMENT ON MACRO priv._every_number IS 'The numbers of all values of the attribute that is asked for, as many as there are values.';
