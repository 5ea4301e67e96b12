-- Intervals and standard errors: numbers computed elsewhere, and the ends of what is possible. The rows are made up,
-- so that a value is shown as often as wanted; only the numbers of the release matter to what is computed from them.
-- setup
CREATE TABLE source AS SELECT i % 14 AS s FROM range(28) AS t(i);
FROM priv.publish_uniform('source', 'half', sensitive := 's', retention := 0.5, domain := range(14));
FROM priv.publish_uniform('source', 'fifth', sensitive := 's', retention := 0.2, domain := range(50));
CREATE TYPE of_half AS ENUM (SELECT i::VARCHAR FROM range(14) AS t(i));
CREATE TYPE of_fifth AS ENUM (SELECT i::VARCHAR FROM range(50) AS t(i));
CREATE MACRO rows(shown, total) AS TABLE SELECT (i < shown)::INTEGER::VARCHAR::of_half AS noisy_s FROM range(total) AS t(i);
CREATE MACRO rows_of_fifth(shown, total) AS TABLE
    SELECT (i < shown)::INTEGER::VARCHAR::of_fifth AS noisy_s FROM range(total) AS t(i);

-- title: forty shown of a hundred
SELECT i.estimate, round(i.low, 4), round(i.high, 4)
FROM (SELECT priv.reconstructed_interval('half', noisy_s, 1) AS i FROM rows(40, 100));
-- expect
72.8571429 | 56.4087 | 92.7898

-- title: two shown of a hundred
SELECT i.estimate, round(i.low, 4), round(i.high, 4)
FROM (SELECT priv.reconstructed_interval('half', noisy_s, 1) AS i FROM rows(2, 100));
-- expect
-3.14285714 | 0 | 6.4729

-- title: two hundred shown of a thousand, at a low retention
SELECT i.estimate, round(i.low, 3), round(i.high, 3)
FROM (SELECT priv.reconstructed_interval('fifth', noisy_s, 1) AS i FROM rows_of_fifth(200, 1000));
-- expect
920 | 801.991 | 1000

-- title: the standard error is unbiased for the variance of the perturbation
SELECT (2 * a.stderr ** 2 + 5 * b.stderr ** 2) / 7
FROM (SELECT priv.reconstructed_stderr('half', noisy_s, 1) AS stderr FROM rows(185, 1000)) AS a,
    (SELECT priv.reconstructed_stderr('half', noisy_s, 1) AS stderr FROM rows(186, 1000)) AS b;
-- expect
394.897959

-- title: nothing shown, and everything shown
SELECT unnest(priv.reconstructed_interval('half', noisy_s, 1)) FROM rows(0, 40) UNION ALL
SELECT unnest(priv.reconstructed_interval('half', noisy_s, 1)) FROM rows(40, 40);
-- expect
-2.85714286 | 1.74963553 | 0 | 4.00377616
77.1428571 | 8.46360757 | 39 | 40

-- title: no record has no interval but zero
SELECT unnest(priv.reconstructed_interval('half', noisy_s, 1)) FROM rows(0, 0);
-- expect
0 | 0 | 0 | 0

-- title: estimate and standard error are those of the other macros
SELECT i.estimate = priv.reconstructed_count('half', noisy_s, 1) AND i.stderr = priv.reconstructed_stderr('half', noisy_s, 1)
FROM rows(40, 100), (SELECT priv.reconstructed_interval('half', noisy_s, 1) AS i FROM rows(40, 100)) GROUP BY i;
-- expect
True

-- title: the distribution has the same intervals
SELECT bool_and(d.estimate = i.estimate AND d.stderr = i.stderr
    AND greatest(abs(d.low - i.low), abs(d.high - i.high)) <= 1e-9 * i.high), count(*)
FROM priv.reconstructed_distribution('half') AS d
JOIN (SELECT v, priv.reconstructed_interval('half', noisy_s, v) AS i FROM half, range(14) AS t(v) GROUP BY v) ON v = d.value;
-- expect
True | 14

-- title: the confidence may be a parameter of the analyst
SELECT bool_and(i.low <= i.estimate) FROM (
    SELECT priv.reconstructed_interval('half', noisy_s, 1, confidence := (SELECT 0.8)) AS i FROM rows(40, 100));
-- expect
True
