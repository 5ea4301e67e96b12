-- The thin choice above these: the text of the attribute, or release, that is called by a key. An attribute has two,
-- 'release.attribute' and, where it is the only one, 'release'. All that is written anew when a release comes or goes is names,
-- short texts as one literal, and a call for each long text.

CREATE OR REPLACE MACRO priv.@macro@(_key) AS @chosen@;

COMMENT ON MACRO priv.@macro@ IS @comment@;
