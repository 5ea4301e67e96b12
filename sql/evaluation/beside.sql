-- The answers of the releases beside the true counts: of the records that entered the release, and of all records.
SELECT answers.release, asked.query, conditions, attribute, value, coalesce(entered.records, counts.records) AS records,
    coalesce(entered.true_count, counts.true_count) AS true_count, estimate, stderr, low, high,
    abs(estimate - coalesce(entered.true_count, counts.true_count)) / nullif(coalesce(entered.true_count, counts.true_count), 0)
        AS relative_error,
    coalesce(entered.true_count, counts.true_count) BETWEEN low AND high AS covered, counts.true_count AS true_count_all
FROM @queries@ AS asked
JOIN _priv_counts AS counts ON counts.query = asked.query
JOIN _priv_answers AS answers ON answers.query = asked.query
LEFT JOIN _priv_entered AS entered ON entered.query = asked.query AND entered.release = answers.release
