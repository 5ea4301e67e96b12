-- What analysts ask, on releases whose rows were put there by hand, so that the answers can be computed by hand:
-- half the records are redrawn from two values, so 60 shown of 100 stand for (60 - 25) / 0.5 = 70.
-- setup
CREATE TABLE source AS SELECT i AS id, (['no', 'yes'])[1 + i % 2] AS ill FROM range(10) AS t(i);
FROM priv.publish_uniform('source', 'patients', sensitive := 'ill', retention := 0.5, exclude := 'id');
CREATE OR REPLACE TABLE patients AS
    SELECT i % 2 = 0 AS member, i // 50 AS ward, (['adult', 'child', NULL])[1 + i % 3] AS age,
        (CASE WHEN i < 40 OR i >= 80 THEN 'yes' ELSE 'no' END)::ENUM('no', 'yes') AS noisy_ill
    FROM range(100) AS t(i);
CREATE TABLE ward (ward BIGINT, name VARCHAR, floor INTEGER);
INSERT INTO ward VALUES (0, 'north', 1), (1, 'south', 2), (2, 'empty', 2);
CREATE TABLE two AS SELECT i AS id, (['a', 'b'])[1 + i % 2] AS one, i % 4 AS other FROM range(40) AS t(i);
FROM priv.publish_uniform('two', 'pairs', sensitive := ['one', 'other'], retention := 0.5, record_id := 'id');
CREATE OR REPLACE TABLE pairs AS SELECT one::ENUM('a', 'b') AS noisy_one,
    other::VARCHAR::ENUM('0', '1', '2', '3') AS noisy_other FROM two;

-- title: sixty shown of a hundred stand for seventy
SELECT priv.reconstructed_count('patients', noisy_ill, 'yes'), priv.reconstructed_count('patients', noisy_ill, 'no') FROM patients;
-- expect
70 | 30

-- title: plain counts are what is shown
SELECT count(*) FILTER (noisy_ill = 'yes') FROM patients;
-- expect
60

-- title: where
SELECT priv.reconstructed_count('patients', noisy_ill, 'yes') FROM patients WHERE ward = 0;
-- expect
55

-- title: group by, ordered by the estimate
SELECT ward, priv.reconstructed_count('patients', noisy_ill, 'yes') AS n FROM patients GROUP BY ward ORDER BY n DESC;
-- expect
0 | 55
1 | 15

-- title: group by an expression, and by a public value that is missing
SELECT coalesce(age, 'unknown'), priv.reconstructed_count('patients', noisy_ill, 'yes') FROM patients GROUP BY ALL ORDER BY ALL;
-- expect
adult | 25
child | 21.5
unknown | 23.5

-- title: rollup
SELECT ward, priv.reconstructed_count('patients', noisy_ill, 'yes') FROM patients GROUP BY ROLLUP (ward) ORDER BY ward NULLS LAST;
-- expect
0 | 55
1 | 15
NULL | 70

-- title: having
SELECT ward FROM patients GROUP BY ward HAVING priv.reconstructed_count('patients', noisy_ill, 'yes') > 20;
-- expect
0

-- title: join with a table of the analyst
SELECT name, priv.reconstructed_count('patients', noisy_ill, 'yes') FROM patients JOIN ward USING (ward) GROUP BY name ORDER BY name;
-- expect
north | 55
south | 15

-- title: semi join
SELECT priv.reconstructed_count('patients', noisy_ill, 'yes') FROM patients WHERE ward IN (SELECT ward FROM ward WHERE floor = 2);
-- expect
15

-- title: common table expression
WITH chosen AS (FROM patients WHERE ward = 1), counted AS (
    SELECT priv.reconstructed_count('patients', noisy_ill, 'yes') AS n FROM chosen)
SELECT n, n / 50 FROM counted;
-- expect
15 | 0.3

-- title: scalar subquery
SELECT name, (SELECT priv.reconstructed_count('patients', noisy_ill, 'yes') FROM patients WHERE patients.ward = ward.ward)
FROM ward ORDER BY name;
-- expect
empty | 0
north | 55
south | 15

-- title: window over results
SELECT ward, n, sum(n) OVER (ORDER BY ward), rank() OVER (ORDER BY n)
FROM (SELECT ward, priv.reconstructed_count('patients', noisy_ill, 'yes') AS n FROM patients GROUP BY ward) ORDER BY ward;
-- expect
0 | 55 | 55 | 2
1 | 15 | 70 | 1

-- title: window over results in the same query
SELECT ward, priv.reconstructed_count('patients', noisy_ill, 'yes') AS n,
    priv.reconstructed_count('patients', noisy_ill, 'yes') / sum(priv.reconstructed_count('patients', noisy_ill, 'yes')) OVER () FROM patients GROUP BY ward ORDER BY ward;
-- expect
0 | 55 | 0.785714286
1 | 15 | 0.214285714

-- title: union of subsets
SELECT sum(n) FROM (
    SELECT priv.reconstructed_count('patients', noisy_ill, 'yes') AS n FROM patients WHERE member
    UNION ALL SELECT priv.reconstructed_count('patients', noisy_ill, 'yes') FROM patients WHERE NOT member);
-- expect
70

-- title: arithmetic and comparison with the estimate
SELECT round(100 * priv.reconstructed_count('patients', noisy_ill, 'yes') / count(*)) AS percent,
    CASE WHEN priv.reconstructed_count('patients', noisy_ill, 'yes') > 50 THEN 'most' ELSE 'few' END FROM patients;
-- expect
70 | most

-- title: pivoted afterwards
PIVOT (FROM priv.reconstructed_distribution('patients', group_columns := 'ward')) ON value USING first(estimate) GROUP BY ward ORDER BY ward;
-- expect
0 | -5 | 55
1 | 35 | 15

-- title: values from a table
SELECT v, priv.reconstructed_count('patients', noisy_ill, v) FROM patients, (VALUES ('no'), ('yes')) AS t(v) GROUP BY v ORDER BY v;
-- expect
no | 30
yes | 70

-- title: the release may be named in upper case, and qualified
SELECT priv.reconstructed_count('PATIENTS', p.noisy_ill, 'yes'), priv.reconstructed_count('patients.ILL', noisy_ill, 'yes') FROM patients AS p;
-- expect
70 | 70

-- title: rows that are copied elsewhere are still of the release
SELECT priv.reconstructed_count('patients', shown, 'yes') FROM (SELECT noisy_ill AS shown FROM patients WHERE ward = 0);
-- expect
55

-- title: the column has its own type
SELECT priv.reconstructed_count('patients', noisy_ill::VARCHAR, 'yes') FROM patients;
-- error
the second argument must be the noisy column

-- title: no rows stand for nobody
SELECT priv.reconstructed_count('patients', noisy_ill, 'yes'), priv.reconstructed_stderr('patients', noisy_ill, 'yes'),
    priv.reconstructed_mle('patients', noisy_ill, 'yes') FROM patients WHERE false;
-- expect
0 | 0 | 0

-- title: no rows, no groups
SELECT ward, priv.reconstructed_count('patients', noisy_ill, 'yes') FROM patients WHERE false GROUP BY ward;
-- expect

-- title: estimates may lie outside of what is possible, and add up
SELECT priv.reconstructed_count('patients', noisy_ill, 'yes') FROM patients WHERE ward = 0 AND noisy_ill = 'yes';
-- expect
60

-- title: the most likely count is possible
SELECT priv.reconstructed_mle('patients', noisy_ill, 'yes') FROM patients WHERE ward = 0;
-- expect
50

-- title: weights of the rows sum to the count
SELECT sum(priv.weight('patients', noisy_ill, 'yes')), min(priv.weight('patients', noisy_ill, 'yes')), max(priv.weight('patients', noisy_ill, 'yes'))
FROM patients;
-- expect
70 | -0.5 | 1.5

-- title: sums of weights answer lists of values
SELECT sum(priv.weight('pairs.other', noisy_other, 1) + priv.weight('pairs.other', noisy_other, 2)),
    priv.reconstructed_count('pairs.other', noisy_other, 1) + priv.reconstructed_count('pairs.other', noisy_other, 2) FROM pairs;
-- expect
20 | 20

-- title: products of weights answer predicates over several attributes
SELECT sum(priv.weight('pairs.one', noisy_one, 'a') * priv.weight('pairs.other', noisy_other, 0)),
    sum(priv.weight('pairs.one', noisy_one, 'b') * priv.weight('pairs.other', noisy_other, 0)),
    priv.reconstructed_count('pairs.other', noisy_other, 0) FROM pairs;
-- expect
25 | -15 | 10

-- title: weights in an expression and with a filter of their own
SELECT sum(priv.weight('patients', noisy_ill, 'yes')) FILTER (WHERE ward = 0) FROM patients;
-- expect
55

-- title: weights over a window
SELECT DISTINCT ward, sum(priv.weight('patients', noisy_ill, 'yes')) OVER (PARTITION BY ward) FROM patients ORDER BY ward;
-- expect
0 | 55
1 | 15

-- title: the distribution has every value
SELECT value, estimate, noisy_count FROM priv.reconstructed_distribution('patients');
-- expect
no | 30 | 40
yes | 70 | 60

-- title: the distribution by group
SELECT ward, value, estimate, noisy_count FROM priv.reconstructed_distribution('patients', group_columns := 'ward');
-- expect
0 | no | -5 | 10
0 | yes | 55 | 40
1 | no | 35 | 30
1 | yes | 15 | 20

-- title: the distribution by two groups, one an expression, on a condition
SELECT * EXCLUDE (stderr, low, high) FROM priv.reconstructed_distribution('patients',
    group_columns := 'ward + 1 AS floor, member', condition := 'age = ''child'' OR ward > 5') WHERE value = 'yes';
-- expect
1 | False | yes | 9.5 | 7
1 | True | yes | 8 | 6
2 | False | yes | 2 | 3
2 | True | yes | 2 | 3

-- title: a condition with a comment does not swallow the query
SELECT count(*) FROM priv.reconstructed_distribution('patients', condition := 'ward = 0 -- the north');
-- expect
2

-- title: groups without rows are not there
SELECT count(*) FROM priv.reconstructed_distribution('patients', group_columns := 'ward', condition := 'ward = 9');
-- expect
0

-- title: the distribution joined and filtered like any table
SELECT value, name, estimate FROM priv.reconstructed_distribution('patients', group_columns := 'ward') JOIN ward USING (ward)
WHERE estimate > 10 ORDER BY estimate DESC LIMIT 2;
-- expect
yes | north | 55
no | south | 35

-- title: an attribute of several
SELECT value, estimate FROM priv.reconstructed_distribution('pairs.other');
-- expect
0 | 10
1 | 10
2 | 10
3 | 10

-- title: a filter of its own is refused, not forgotten
SELECT priv.reconstructed_count('patients', noisy_ill, 'yes') FILTER (WHERE ward = 0) FROM patients;
-- error
are only applicable to

-- title: a distinct of its own is refused, not forgotten
SELECT priv.reconstructed_count(DISTINCT 'patients', noisy_ill, 'yes') FROM patients;
-- error
are only applicable to

-- title: an unknown release
SELECT priv.reconstructed_count('patient', noisy_ill, 'yes') FROM patients;
-- error
no release is called "patient"; there is "pairs", "patients"

-- title: a release that is not named
SELECT priv.reconstructed_count(NULL, noisy_ill, 'yes') FROM patients;
-- error
no release is called "NULL"; there is "pairs", "patients"

-- title: an unknown value
SELECT priv.reconstructed_count('patients', noisy_ill, 'maybe') FROM patients;
-- error
"patients" has no value 'maybe'; it has 'no', 'yes'

-- title: a value in another case is another value
SELECT priv.reconstructed_interval('patients', noisy_ill, 'Yes') FROM patients;
-- error
"patients" has no value 'Yes'; it has 'no', 'yes'

-- title: the missing value where the domain has none
SELECT priv.reconstructed_mle('patients', noisy_ill, NULL) FROM patients;
-- error
"patients" has no value NULL; it has 'no', 'yes'

-- title: an unknown value is an error without rows too
SELECT priv.reconstructed_count('patients', noisy_ill, 'maybe') FROM patients WHERE false;
-- error
"patients" has no value 'maybe'

-- title: one release with several attributes
SELECT priv.reconstructed_stderr('pairs', noisy_one, 'a') FROM pairs;
-- error
release "pairs" has several sensitive attributes: write 'pairs.one' or 'pairs.other'

-- title: an attribute that is public
SELECT priv.weight('patients.ward', ward, 1) FROM patients;
-- error
no release is called "patients.ward"

-- title: a weight where records stand for one
SELECT priv.reconstructed_count('patients', noisy_ill, 'yes', weight := 1) FROM patients;
-- error
records of release "patients" stand for one source record each: leave out weight

-- title: the distribution of an unknown release
FROM priv.reconstructed_distribution('nobody');
-- error
no release is called "nobody"; there is "pairs", "patients"

-- title: the distribution with a weight
FROM priv.reconstructed_distribution('patients', weight := 'ward');
-- error
stand for one source record each: leave out weight

-- title: the distribution by an unknown column
FROM priv.reconstructed_distribution('patients', group_columns := 'sex');
-- error
Referenced column "sex" not found

-- title: confidence of one
SELECT priv.reconstructed_interval('patients', noisy_ill, 'yes', confidence := 1) FROM patients;
-- error
confidence must lie strictly between 0 and 1

-- title: confidence that is missing
FROM priv.reconstructed_distribution('patients', confidence := NULL);
-- error
confidence must lie strictly between 0 and 1

-- title: more confidence, wider intervals
SELECT bool_and(wide.low <= narrow.low AND narrow.high <= wide.high AND wide.high - wide.low > narrow.high - narrow.low)
FROM priv.reconstructed_distribution('patients', confidence := 0.999) AS wide
JOIN priv.reconstructed_distribution('patients', confidence := 0.9) AS narrow USING (value);
-- expect
True
