-- A formula that several functions share.

CREATE OR REPLACE MACRO priv.@macro@(@parameter@) AS @formula@;

COMMENT ON MACRO priv.@macro@ IS @comment@;
