-- The place in the domain of what a row reports, from 0, of an attribute whose values are an ENUM: that needs its type.

CREATE OR REPLACE MACRO priv.@macro@(_column) AS enum_code(TRY_CAST(_column AS @enum@))::INTEGER;

COMMENT ON MACRO priv.@macro@ IS @comment@;
