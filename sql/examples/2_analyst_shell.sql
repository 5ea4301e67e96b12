-- An analyst's session in the DuckDB shell: duckdb -readonly visits_public.duckdb -f 2_analyst_shell.sql

SELECT statement FROM priv.guarantee;

SELECT gender, round(priv.reconstructed_count('visits_public', noisy_disease, 'flu')) AS flu
FROM visits_public WHERE age > 30 GROUP BY gender ORDER BY gender;

SELECT gender, unnest(priv.reconstructed_interval('visits_public', noisy_disease, 'flu'))
FROM visits_public WHERE age > 30 GROUP BY gender ORDER BY gender;
