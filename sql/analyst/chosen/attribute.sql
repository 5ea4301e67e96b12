-- What the functions must know of one attribute, as a text: written once, when its release is published.

CREATE OR REPLACE MACRO priv.@macro@() AS @content@;

COMMENT ON MACRO priv.@macro@ IS @comment@;
