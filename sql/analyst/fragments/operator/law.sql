-- Pr[a record shows the value | it has it] and Pr[... | it has another], on average over the records that have others:
-- what is left of the shown ones when those are taken away that have it.
(SELECT {own: own, other: (seen - own * estimate) / (total - estimate)} FROM (
    SELECT list_extract(@owns@, @place@) AS own, sum(n)::DOUBLE AS total, coalesce(sum(n) FILTER (y = @place@), 0) AS seen,
        sum(n * @law_weight@) AS estimate
    FROM (SELECT coalesce(list_position(@texts@, @attribute@::VARCHAR), @size@) AS y, count(*) AS n FROM @table@ GROUP BY ALL)))
