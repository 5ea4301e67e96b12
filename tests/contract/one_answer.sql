-- One question a paragraph, asked by every door that can: its columns are the groups, estimate, stderr, low and high.
--
-- {of} stands for the release, the attribute and the column, {weight} for the weight that functions need, {few} for a condition
-- that few rows meet.

-- a count
SELECT ward, {few} AS few, unnest(priv.reconstructed_interval({of}, 'flu'{weight})) FROM visits GROUP BY ward, few;
SELECT ward, {few} AS few, unnest(priv.reconstructed_list_interval({of}, 'flu'{weight})) FROM visits GROUP BY ward, few;
SELECT ward, {few} AS few, unnest(priv.reconstructed_list_interval({of}, ['flu']{weight})) FROM visits GROUP BY ward, few;
SELECT ward, {few} AS few, count(*) AS n FROM visits WHERE disease = 'flu' GROUP BY ward, few;
SELECT ward, {few} AS few, count_if(disease = 'flu') AS n FROM visits GROUP BY ward, few;
SELECT ward, {few} AS few, count(*), count_stderr(), count_low(), count_high() FROM visits WHERE disease = 'flu' GROUP BY ward, few;
SELECT ward, {few} AS few, count_if(disease = 'flu'), count_if_stderr(disease = 'flu'), count_if_low(disease = 'flu'), count_if_high(disease = 'flu') FROM visits GROUP BY ward, few;

-- several values
SELECT ward, unnest(priv.reconstructed_list_interval({of}, ['flu', 'cancer']{weight})) FROM visits GROUP BY ward;
SELECT ward, count_if(disease IN ('flu', 'cancer')) AS n FROM visits GROUP BY ward;
SELECT ward, count(*), count_stderr(), count_low(), count_high() FROM visits WHERE disease IN ('flu', 'cancer') GROUP BY ward;

-- a share
SELECT age, {few} AS few, unnest(priv.reconstructed_share({of}, 'flu'{weight})) FROM visits GROUP BY age, few;
SELECT age, {few} AS few, count_if(disease = 'flu') / count(*) AS n FROM visits GROUP BY age, few;

-- more of one value than of others
SELECT ward, {few} AS few, unnest(priv.reconstructed_difference({of}, ['flu'], ['asthma', 'cancer']{weight})) FROM visits GROUP BY ward, few;
SELECT ward, {few} AS few, count_if(disease = 'flu') - count_if(disease IN ('asthma', 'cancer')) AS n FROM visits GROUP BY ward, few;

-- how many times as many
SELECT age, {few} AS few, unnest(priv.reconstructed_ratio({of}, 'flu', 'asthma'{weight})) FROM visits GROUP BY age, few;
SELECT age, {few} AS few, count_if(disease = 'flu') / count_if(disease = 'asthma') AS n FROM visits GROUP BY age, few;

-- more in one group than in another
SELECT unnest(priv.reconstructed_group_difference({of}, 'flu', ward = 'north', ward = 'south'{weight})) FROM visits;
SELECT count_if(disease = 'flu' AND ward = 'north') - count_if(disease = 'flu' AND ward = 'south') AS n FROM visits;

-- how many times as many in one group as in another
SELECT unnest(priv.reconstructed_group_ratio({of}, 'flu', ward = 'north', ward = 'south'{weight})) FROM visits;
SELECT count_if(disease = 'flu' AND ward = 'north') / count_if(disease = 'flu' AND ward = 'south') AS n FROM visits;

-- by how much a share is larger
SELECT unnest(priv.reconstructed_share_difference({of}, 'flu', ward = 'north', ward = 'south'{weight})) FROM visits;
SELECT count_if(disease = 'flu' AND ward = 'north') / count_if(ward = 'north')
    - count_if(disease = 'flu' AND ward = 'south') / count_if(ward = 'south') AS n FROM visits;

-- how many times as large a share is
SELECT unnest(priv.reconstructed_share_ratio({of}, 'flu', ward = 'north', age IN ('30', '40'){weight})) FROM visits;
SELECT (count_if(disease = 'flu' AND ward = 'north') / count_if(ward = 'north'))
    / (count_if(disease = 'flu' AND age IN ('30', '40')) / count_if(age IN ('30', '40'))) AS n FROM visits;

-- a sum of what may be negative
SELECT ward, {few} AS few, unnest(priv.reconstructed_sum({of}, ['flu', 'cancer'], age::VARCHAR::INTEGER - 30{weight})) FROM visits GROUP BY ward, few;
SELECT ward, {few} AS few, sum(CASE WHEN disease IN ('flu', 'cancer') THEN age::VARCHAR::INTEGER - 30 ELSE 0 END) AS n FROM visits GROUP BY ward, few;
SELECT ward, {few} AS few, sum(age::VARCHAR::INTEGER - 30), sum_stderr(age::VARCHAR::INTEGER - 30), sum_low(age::VARCHAR::INTEGER - 30), sum_high(age::VARCHAR::INTEGER - 30) FROM visits WHERE disease IN ('flu', 'cancer') GROUP BY ward, few;

-- a mean
SELECT ward, {few} AS few, unnest(priv.reconstructed_mean({of}, 'flu', age::VARCHAR::INTEGER - 30{weight})) FROM visits GROUP BY ward, few;
SELECT ward, {few} AS few, avg(age::VARCHAR::INTEGER - 30) FILTER (disease = 'flu') AS n FROM visits GROUP BY ward, few;
SELECT ward, {few} AS few, avg(age::VARCHAR::INTEGER - 30), avg_stderr(age::VARCHAR::INTEGER - 30), avg_low(age::VARCHAR::INTEGER - 30), avg_high(age::VARCHAR::INTEGER - 30) FROM visits WHERE disease = 'flu' GROUP BY ward, few;

-- every value
SELECT ward, value, estimate, stderr, low, high FROM priv.reconstructed_distribution('visits.disease', group_columns := 'ward'{named});
SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL;
SELECT ward, disease, count(*), count_stderr(), count_low(), count_high() FROM visits GROUP BY ALL;

-- a count of two attributes
SELECT ward, count_if(disease = 'flu' AND dose = 1) AS n FROM visits GROUP BY ward;
SELECT ward, estimate, stderr, low, high FROM priv.reconstructed_joint('visits', ['disease', 'dose'], ['flu', '1'], group_columns := 'ward');
SELECT ward, count(*), count_stderr(), count_low(), count_high() FROM visits WHERE disease = 'flu' AND dose = 1 GROUP BY ward;

-- a count of two attributes over few records
SELECT age, count_if(disease = 'flu' AND dose = 1) AS n FROM visits WHERE cost < 3 GROUP BY age;
SELECT age, count_if(disease = 'flu' AND dose = 1), count_if_stderr(disease = 'flu' AND dose = 1), count_if_low(disease = 'flu' AND dose = 1), count_if_high(disease = 'flu' AND dose = 1) FROM visits WHERE cost < 3 GROUP BY age;

-- every pair of values of two attributes
SELECT disease, dose, count(*) AS n FROM visits WHERE ward = 'north' GROUP BY ALL;
SELECT disease, dose, count(*), count_stderr(), count_low(), count_high() FROM visits WHERE ward = 'north' GROUP BY ALL;

-- a sum over two attributes
SELECT ward, sum(age::VARCHAR::INTEGER) AS n FROM visits WHERE disease = 'flu' AND dose = 1 GROUP BY ward;
SELECT ward, sum(age::VARCHAR::INTEGER), sum_stderr(age::VARCHAR::INTEGER), sum_low(age::VARCHAR::INTEGER), sum_high(age::VARCHAR::INTEGER) FROM visits WHERE disease = 'flu' AND dose = 1 GROUP BY ward;

-- a mean over two attributes
SELECT ward, avg(age::VARCHAR::INTEGER) AS n FROM visits WHERE disease = 'flu' AND dose = 1 GROUP BY ward;
SELECT ward, avg(age::VARCHAR::INTEGER), avg_stderr(age::VARCHAR::INTEGER), avg_low(age::VARCHAR::INTEGER), avg_high(age::VARCHAR::INTEGER) FROM visits WHERE disease = 'flu' AND dose = 1 GROUP BY ward;

-- a mean of numbers of an attribute
SELECT ward, avg(2000 + length(disease)) AS n FROM visits GROUP BY ward;
SELECT ward, avg(2000 + length(disease)), avg_stderr(2000 + length(disease)), avg_low(2000 + length(disease)), avg_high(2000 + length(disease)) FROM visits GROUP BY ward;
