-- How often each value of the domain is shown in each group, scaled, and the sums that an interval needs besides.
-- The text of a query: what stands in braces is filled in when the macro is called.
-- Groups are materialized with their numbers: counted a second time, they would come in another order.
grouped AS (
    SELECT {group_columns}
        coalesce(sum(({weight})::DOUBLE), 0) AS _priv_total,
        {squared: coalesce(sum(({weight})::DOUBLE ** 2), 0),
         sampled: coalesce(sum(({weight})::DOUBLE ** 2) FILTER (({weight}) > 1), 0),
         largest: coalesce(max(({weight})::DOUBLE), 1)} AS _priv_sums,
        histogram({v: @attribute@, w: ({weight})::DOUBLE}) AS _priv_histogram
    FROM {database}@table@ WHERE ({condition}
    ) GROUP BY ALL
), numbered AS MATERIALIZED (
    SELECT row_number() OVER () AS _priv_group, * FROM grouped
), entry AS (
    SELECT _priv_group, unnest(map_entries(_priv_histogram)) AS _priv_entry FROM numbered
), shown AS (
    SELECT _priv_group, _priv_entry.key.v::@type@ AS _priv_value,
        sum(_priv_entry.key.w * _priv_entry.value) AS _priv_observed,
        sum(_priv_entry.key.w ** 2 * _priv_entry.value) AS _priv_squared
    FROM entry GROUP BY ALL
), domain AS (
    SELECT unnest(range(@size@)) AS _priv_position, unnest(@values@)::@type@ AS _priv_value, @numbers@
), observed AS (
    SELECT numbered.* EXCLUDE (_priv_histogram), domain.*,
        coalesce(_priv_observed, 0)::DOUBLE AS _priv_observed, coalesce(_priv_squared, 0)::DOUBLE AS _priv_squared
    FROM numbered CROSS JOIN domain
    LEFT JOIN shown ON shown._priv_group = numbered._priv_group
        AND shown._priv_value IS NOT DISTINCT FROM domain._priv_value
)
