-- What each value of the domain counts for in each group: a record of n values counts as 1/n for each of them. The text of
-- a query: what stands in braces is filled in when the macro is called.
-- Groups are materialized with their numbers: counted a second time, they would come in another order.
grouped AS (
    SELECT {group_columns}
        count_if(_priv_place = 1) AS _priv_total, histogram({v: _priv_shown, n: _priv_size}) AS _priv_histogram
    FROM (
        SELECT *, unnest(@attribute@) AS _priv_shown, generate_subscripts(@attribute@, 1) AS _priv_place,
            len(@attribute@) AS _priv_size
        FROM {database}@table@ WHERE ({condition}
        )
    ) AS @table@ GROUP BY ALL
), numbered AS MATERIALIZED (
    SELECT row_number() OVER () AS _priv_group, * FROM grouped
), entry AS (
    SELECT _priv_group, unnest(map_entries(_priv_histogram)) AS _priv_entry FROM numbered
), shown AS (
    SELECT _priv_group, _priv_entry.key.v::@type@ AS _priv_value,
        sum(_priv_entry.value / _priv_entry.key.n) AS _priv_observed,
        sum(_priv_entry.value / _priv_entry.key.n ** 2) AS _priv_squared, sum(_priv_entry.value) AS _priv_holders
    FROM entry GROUP BY ALL
), domain AS (
    SELECT unnest(range(@size@)) AS _priv_position, unnest(@values@)::@type@ AS _priv_value, @numbers@
), observed AS (
    SELECT numbered.* EXCLUDE (_priv_histogram), domain.*, coalesce(_priv_observed, 0)::DOUBLE AS _priv_observed,
        coalesce(_priv_squared, 0)::DOUBLE AS _priv_squared, coalesce(_priv_holders, 0) AS _priv_holders
    FROM numbered CROSS JOIN domain
    LEFT JOIN shown ON shown._priv_group = numbered._priv_group
        AND shown._priv_value IS NOT DISTINCT FROM domain._priv_value
)
