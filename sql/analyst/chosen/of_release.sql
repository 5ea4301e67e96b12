-- What is known of a release by its name.

CREATE OR REPLACE MACRO priv._of_release(_key, _place) AS nullif(list_extract(@every@, _place), '');

COMMENT ON MACRO priv._of_release IS 'What is known of the release that is asked for.';
