-- conditions: what must be so for the view of a release in the schema estimated to hand out a row; an error otherwise.
--
-- Texts are equal only if they are the same; the schema is the one in use; a count of known weights finds that its macros are what
-- is called; and the statement sums (guard).

CASE WHEN system.main.current_setting('default_collation') = '' THEN true ELSE system.main.error(@says.collated@) END
AND CASE WHEN system.main.current_schema() = @schema@ THEN true ELSE system.main.error(@says.elsewhere@) END
AND CASE WHEN (SELECT count(*) FROM (VALUES (2.5::DOUBLE), (-1)) AS probe(@weight@)) = 1.5 THEN true
    ELSE system.main.error(@says.shadowed@) END
AND (FROM query(@guard@))
