-- Record ids that differ from another one in upper and lower case, blanks or leading zeros only. Of very many ids only those are
-- looked at whose rest, without any blanks and zeros, has a hash in one of several classes.
SELECT coalesce(sum(ids - 1), 0)::BIGINT FROM (
    SELECT count(DISTINCT id) AS ids
    FROM (SELECT (@columns@) AS id, (@rest@) AS rest FROM @source@ WHERE @among@)
    GROUP BY rest HAVING ids > 1
)
