-- Groups of the sample, by one column or by two, and the values that another column has in them.
    SELECT given, other.number AS told, key, other.value AS value, count(*) AS rows
    FROM (@given@) AS groups JOIN _priv_cell AS other USING (record) WHERE @asked@
    GROUP BY ALL
