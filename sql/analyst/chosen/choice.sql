-- A thin macro above these: the text of the attribute, or release, that has a key. An attribute has two keys,
-- 'release.attribute' and, if it is the only one, 'release'. When a release comes or goes, only names, short texts as one
-- literal, and a call for each long text are written again.

CREATE OR REPLACE MACRO priv.@macro@(_key) AS @chosen@;

COMMENT ON MACRO priv.@macro@ IS @comment@;
