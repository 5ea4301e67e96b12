-- The thin choice above these: the text of the attribute that is called by a key, of which each has two: 'release.attribute'
-- and, where it is the only one, 'release'. All that is written anew when a release comes or goes is names and a call.

CREATE OR REPLACE MACRO priv.@macro@(_key) AS
    list_extract([@contents@], (list_position(@keys@, lower(_key)) + 1) // 2);

COMMENT ON MACRO priv.@macro@ IS @comment@;
