-- Runs a procedure in two lanes, of which one does the work, and commits behind both (procedures.py says why).
one_lane AS MATERIALIZED (
    SELECT _priv_begin(call.id, @name@, arguments) AS ticket FROM call
), other_lane AS MATERIALIZED (
    SELECT _priv_begin(call.id, @name@, arguments) AS ticket FROM call
), begun AS MATERIALIZED (
    SELECT max(ticket) AS ticket FROM (FROM one_lane UNION ALL FROM other_lane)
), finished AS MATERIALIZED (
    SELECT CASE WHEN starts_with(ticket, '!') THEN ticket ELSE _priv_finish(ticket) END AS answer FROM begun
), answered AS MATERIALIZED (
    SELECT CASE WHEN starts_with(answer, '!') THEN error(answer[2:]) ELSE answer END AS answer FROM finished
)
