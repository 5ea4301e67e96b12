-- What the functions know of the attributes. facts: short facts of all attributes, or the facts of one attribute, as a JSON
-- text. fact: one of them, by the key of the attribute and its name. An attribute has two keys: 'release.attribute' and, if
-- it is the only one, 'release'. place: the position in the domain of the value that a row reports, from 0. DuckDB needs the
-- ENUM type when it plans a query, so each attribute has a macro with its type.

CREATE OR REPLACE MACRO priv.@macro@(@arguments@) AS @content@;

COMMENT ON MACRO priv.@macro@ IS @comment@;
