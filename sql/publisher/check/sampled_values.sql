-- How often each value of a column is in the sample.
    SELECT number AS told, value, count(*) AS rows FROM _priv_cell WHERE number IN (@told@) GROUP BY ALL
