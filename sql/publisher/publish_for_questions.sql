-- FROM priv.publish_for_questions(source, release, sensitive := …, questions := 'ranges' | 'prefixes' | 'mean' | 'values' | 'table',
--   bins := […] | low := …, high := …, bins := 64, epsilon := … | rho1 := …, rho2 := …
--   [, rounding := 'middle' | 'random'] [, clip := false] [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings
--
-- Publishes a table whose sensitive numbers, dates or timestamps are perturbed so that the questions that you name have the
-- least error: counts of all ranges, counts up to a value, the mean, counts of single values, or the ranges of a table with
-- the columns low, high and weight. The promise is that of priv.publish_uniform with the same epsilon. With epsilon := 1.0 and
-- 64 bins, ranges have a quarter of its error, and the mean a tenth; all other questions can be asked, too.
-- Numbers are cut at the edges of bins, which you declare: they must not depend on the data. A bin holds its lower edge and not
-- its upper one, the last bin both. A record then shows the middle of a bin. With rounding := 'random' a number becomes one of
-- the two edges beside it, so that means stay what they are. Values outside of all bins are an error, or go to the outer bins with
-- clip := true. At most 128 values are allowed; the search for the operator takes up to ten seconds for 64 of them, and
-- once it is found it is kept. Several sensitive columns take structs: bins := {'age': [0, 18, 65, 120], 'income': [0, 1e4, 1e5]}.
--
--   FROM priv.publish_for_questions('visits', 'visits_public', sensitive := 'age', questions := 'ranges',
--                                   low := 0, high := 100, bins := 10, epsilon := 1.0, record_id := 'id', exclude := ['gender', 'disease']);

@publish@;
