-- A formula that stands in several functions.

CREATE OR REPLACE MACRO priv.@macro@(@parameter@) AS @formula@;

COMMENT ON MACRO priv.@macro@ IS @comment@;
