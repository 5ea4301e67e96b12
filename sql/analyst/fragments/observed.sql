-- How often each value of the domain is shown in each group, and the sums that its estimate is made of. The text of a
-- query: names in braces are filled in when the macro is called. Every name of our own begins with _priv_: the
-- others are the caller's. Groups are materialized with their numbers: counted a second time, they would come in
-- another order.
here AS MATERIALIZED (
    @here@
), grouped AS (
    @query.grouped@
), numbered AS MATERIALIZED (
    SELECT row_number() OVER () AS _priv_group, * FROM grouped
), @query.shown@, domain AS (
    SELECT unnest(range(@size@)) AS _priv_position, unnest(@values@)::@type@ AS _priv_value, {@numbers@} AS _priv_numbers
    FROM here WHERE found
), observed AS (
    SELECT numbered.* EXCLUDE (_priv_histogram), domain.*, coalesce(_priv_observed, 0)::DOUBLE AS _priv_observed,
        coalesce(_priv_cell, @query.empty@) AS _priv_cell
    FROM numbered CROSS JOIN domain
    LEFT JOIN shown ON shown._priv_group = numbered._priv_group AND @query.showing@
)
