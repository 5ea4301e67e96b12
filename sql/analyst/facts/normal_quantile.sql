-- The z of a two-sided normal interval, from its confidence.

CREATE OR REPLACE MACRO priv._normal_quantile(_confidence) AS @quantile@;

COMMENT ON MACRO priv._normal_quantile IS 'The z of a two-sided normal interval, from its confidence.';
