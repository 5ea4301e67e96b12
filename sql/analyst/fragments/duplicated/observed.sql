-- How often each value of the domain is shown in each group, and the sums that an interval needs besides. The text of a
-- query: what stands in braces is filled in when the macro is called.
-- Groups are materialized with their numbers: counted a second time, they would come in another order.
grouped AS (
    SELECT {group_columns} count(*)::DOUBLE AS _priv_total,
        histogram({v: @attribute@, w: ({weight})::DOUBLE}) AS _priv_histogram
    FROM {database}@table@ WHERE ({condition}
    ) GROUP BY ALL
), numbered AS MATERIALIZED (
    SELECT row_number() OVER () AS _priv_group, * FROM grouped
), entry AS (
    SELECT _priv_group, unnest(map_entries(_priv_histogram)) AS _priv_entry FROM numbered
), inflated AS (
    SELECT _priv_group, _priv_entry.key.v::@type@ AS _priv_value, _priv_entry.value::DOUBLE AS _priv_rows,
        _priv_entry.key.w AS _priv_copies,
        CASE WHEN _priv_entry.key.w > 1 THEN _priv_entry.key.w + 0.25e0 / _priv_entry.key.w ELSE 1e0 END AS _priv_inflation
    FROM entry
), shown AS (
    SELECT _priv_group, _priv_value, sum(_priv_rows) AS _priv_observed,
        {inflated: sum(_priv_rows * _priv_inflation),
         parted: coalesce(sum(_priv_rows / _priv_copies) FILTER (_priv_copies > 1), 0)} AS _priv_squared
    FROM inflated GROUP BY ALL
), summed AS (
    SELECT _priv_group, {inflated: sum(_priv_rows * _priv_inflation), largest: max(_priv_inflation),
        sampled: coalesce(sum(_priv_rows) FILTER (_priv_copies > 1), 0),
        parted: coalesce(sum(_priv_rows / _priv_copies) FILTER (_priv_copies > 1), 0),
        copied: coalesce(sum(_priv_rows * _priv_copies) FILTER (_priv_copies > 1), 0)} AS _priv_sums
    FROM inflated GROUP BY ALL
), domain AS (
    SELECT unnest(range(@size@)) AS _priv_position, unnest(@values@)::@type@ AS _priv_value, @numbers@
), observed AS (
    SELECT numbered.* EXCLUDE (_priv_histogram), domain.*, coalesce(_priv_observed, 0)::DOUBLE AS _priv_observed,
        coalesce(_priv_squared, {inflated: 0e0, parted: 0e0}) AS _priv_squared,
        coalesce(_priv_sums, {inflated: 0e0, largest: 1e0, sampled: 0e0, parted: 0e0, copied: 0e0}) AS _priv_sums
    FROM numbered CROSS JOIN domain
    LEFT JOIN summed ON summed._priv_group = numbered._priv_group
    LEFT JOIN shown ON shown._priv_group = numbered._priv_group
        AND shown._priv_value IS NOT DISTINCT FROM domain._priv_value
)
