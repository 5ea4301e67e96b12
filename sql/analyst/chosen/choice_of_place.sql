-- The thin choice above these. Only what is chosen is looked up, row by row.

CREATE OR REPLACE MACRO priv.@macro@(_key, _column) AS CASE @cases@ END;

COMMENT ON MACRO priv.@macro@ IS @comment@;
