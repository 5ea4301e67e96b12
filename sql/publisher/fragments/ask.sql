-- Asks a procedure that changes nothing.
asked AS MATERIALIZED (
    SELECT _priv_ask(@name@, arguments) AS answer FROM call
), answered AS MATERIALIZED (
    SELECT CASE WHEN starts_with(answer, '!') THEN error(answer[2:]) ELSE answer END AS answer FROM asked
)
