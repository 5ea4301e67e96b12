-- How often each value of the domain is shown in each group. The text of a query: what stands in braces is
-- filled in when the macro is called, and every name of our own begins with _priv_: the others are the caller's.
-- Groups are materialized with their numbers: counted a second time, they would come in another order.
grouped AS (
    SELECT {group_columns}
        count(*) AS _priv_total, histogram(@attribute@) AS _priv_histogram,
        count_if(@attribute@ IS NULL) AS _priv_missing
    FROM {database}@table@ WHERE ({condition}
    ) GROUP BY ALL
), numbered AS MATERIALIZED (
    SELECT row_number() OVER () AS _priv_group, * FROM grouped
), shown AS (
    SELECT _priv_group, unnest(map_keys(_priv_histogram))::@type@ AS _priv_value,
        unnest(map_values(_priv_histogram)) AS _priv_observed
    FROM numbered
    UNION ALL SELECT _priv_group, NULL, _priv_missing FROM numbered
), domain AS (
    SELECT unnest(range(@size@)) AS _priv_position, unnest(@values@)::@type@ AS _priv_value, @numbers@
), observed AS (
    SELECT numbered.* EXCLUDE (_priv_histogram, _priv_missing), domain.*,
        coalesce(_priv_observed, 0)::DOUBLE AS _priv_observed
    FROM numbered CROSS JOIN domain
    LEFT JOIN shown ON shown._priv_group = numbered._priv_group
        AND shown._priv_value IS NOT DISTINCT FROM domain._priv_value
)
