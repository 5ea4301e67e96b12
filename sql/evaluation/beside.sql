-- The answers of the releases beside the truth.
SELECT release, asked.query, conditions, attribute, value, records, counts.true_count, estimate, stderr, low, high,
    abs(estimate - counts.true_count) / nullif(counts.true_count, 0) AS relative_error,
    counts.true_count BETWEEN low AND high AS covered
FROM @queries@ AS asked
JOIN _priv_counts AS counts ON counts.query = asked.query
JOIN _priv_answers AS answers ON answers.query = asked.query
