-- The calculators, on the numbers of the papers and on nonsense.
-- setup
SELECT 1;

-- title: the amplification that keeps one tenth below one half
SELECT priv.amplification_gamma(0.1, 0.5), priv.amplification_gamma(0.05, 0.5), priv.amplification_gamma(0.2, 0.6),
    priv.amplification_gamma(0.01, 0.1);
-- expect
9 | 19 | 6 | 11

-- title: the largest retention, by size of the domain
SELECT m, priv.max_retention(0.1, 0.5, m), priv.max_retention(0.05, 0.5, m), priv.max_retention(0.2, 0.6, m),
    priv.max_retention(0.01, 0.1, m)
FROM unnest([2, 10, 14, 50]) AS t(m);
-- expect
2 | 0.8 | 0.9 | 0.714285714 | 0.833333333
10 | 0.444444444 | 0.642857143 | 0.333333333 | 0.5
14 | 0.363636364 | 0.5625 | 0.263157895 | 0.416666667
50 | 0.137931034 | 0.264705882 | 0.0909090909 | 0.166666667

-- title: half the records redrawn from two values change odds by three
SELECT exp(priv.ldp_epsilon(0.5, 2)), exp(priv.ldp_epsilon(0.5, 14)), priv.ldp_epsilon(0.5, 50);
-- expect
3 | 15 | 3.93182563

-- title: numbers may come from a table
SELECT sum(priv.ldp_epsilon(p, m)) FROM (VALUES (0.5, 2), (0.2, 5)) AS t(p, m);
-- expect
1.9095425

-- title: integers and decimals are the same numbers
SELECT priv.ldp_epsilon(0.5::DECIMAL(3, 2), 2::UTINYINT) = priv.ldp_epsilon(0.5::DOUBLE, 2::HUGEINT);
-- expect
True

-- title: a crowd hides a record: the more the larger, the less the more is kept
SELECT n, round(priv.shuffled_epsilon(8 / 58, 50, n, 1e-6), 4), round(priv.shuffled_epsilon(0.5, 2, n, 1e-6), 4)
FROM unnest([1, 20, 100, 1000]) AS t(n);
-- expect
1 | 2.1972 | 1.0986
20 | 1.1911 | 1.0983
100 | 0.5702 | 0.5884
1000 | 0.1758 | 0.1683

-- title: the retention of which a crowd makes the epsilon that is wanted
SELECT n, round(p, 4), round(priv.shuffled_epsilon(p, 50, n, 1e-6), 4)
FROM (SELECT n, priv.shuffled_retention(1.0, 1e-6, 50, n) AS p FROM unnest([1, 100, 1000, 10_000]) AS t(n));
-- expect
1 | 0.0332 | 1
100 | 0.2408 | 1
1000 | 0.5226 | 1
10000 | 0.8509 | 1

-- title: a crowd of nobody
SELECT priv.shuffled_epsilon(0.5, 50, 0, 1e-6);
-- error
group_size must be a whole number of at least 1, got 0

-- title: a crowd hides nobody with certainty
SELECT priv.shuffled_retention(1.0, 0, 50, 100);
-- error
delta must lie strictly between 0 and 1, got 0

-- title: prior and posterior out of order
SELECT priv.amplification_gamma(0.5, 0.1);
-- error
rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1, got 0.5 and 0.1

-- title: a prior that is certain already
SELECT priv.max_retention(0.1, 1, 10);
-- error
rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1, got 0.1 and 1

-- title: a prior that is missing
SELECT priv.amplification_gamma(NULL, 0.5);
-- error
rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1, got NULL and 0.5

-- title: a domain of one value
SELECT priv.max_retention(0.1, 0.5, 1);
-- error
a domain needs at least 2 values, got 1

-- title: a domain without size
SELECT priv.ldp_epsilon(0.5, NULL);
-- error
a domain needs at least 2 values, got NULL

-- title: everything is kept
SELECT priv.ldp_epsilon(1, 10);
-- error
retention must lie strictly between 0 and 1, got 1

-- title: nothing is kept
SELECT priv.ldp_epsilon(0, 10);
-- error
retention must lie strictly between 0 and 1, got 0

-- title: a retention that is no number
SELECT priv.ldp_epsilon('nan'::DOUBLE, 10);
-- error
retention must lie strictly between 0 and 1, got nan

-- title: a retention that is missing
SELECT priv.ldp_epsilon(NULL, 10);
-- error
retention must lie strictly between 0 and 1, got NULL
