-- The pieces of a query about the attribute that is asked for: texts, and between them the names of arguments.

CREATE OR REPLACE MACRO priv._query(_key, _place) AS @pieces@;

COMMENT ON MACRO priv._query IS 'The pieces of a query about the attribute that is asked for.';
