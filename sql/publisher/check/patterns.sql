-- For each column, the number of its sampled texts, and of those that match each pattern.
WITH sampled AS (
    SELECT [@texts@] AS texts FROM (FROM @sample@ @sampling@)
), shown AS (
    SELECT unnest(range(len(texts))) AS number, unnest(texts) AS text FROM sampled
), different AS (
    SELECT number, text, trim(text) AS trimmed, count(*) AS records FROM shown WHERE trim(text) <> '' GROUP BY number, text
), matched AS (
    SELECT number, records,
        regexp_full_match(trimmed, '[^@\s]+@[^@\s]+\.[A-Za-z]{2,}') AS email,
        regexp_full_match(trimmed, '(\+|00)?[0-9(][0-9 ()./-]{6,}[0-9]')
            AND NOT regexp_full_match(trimmed, '[0-9]{4}-[0-9]{2}-[0-9]{2}') AND regexp_matches(text, '[-+ ()./]') AS telephone,
        regexp_full_match(trimmed, '[0-9]{3}-[0-9]{2}-[0-9]{4}') AS social_security_number,
        regexp_full_match(trimmed, '[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?') AS iban,
        regexp_full_match(lower(trimmed), '\{?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\}?') AS uuid,
        regexp_full_match(trimmed, '([0-9]{1,3}\.){3}[0-9]{1,3}|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{1,4}') AS network_address,
        regexp_matches(trimmed, '^(https?://|www\.)') AS web_address,
        len(string_split_regex(trimmed, '\s+')) >= 6 AS free_text
    FROM different
)
SELECT number, sum(records) AS texts, count(*) AS distinct_texts,
    sum(records) FILTER (email) AS email, sum(records) FILTER (telephone) AS telephone,
    sum(records) FILTER (social_security_number) AS social_security_number, sum(records) FILTER (iban) AS iban,
    sum(records) FILTER (uuid) AS uuid, sum(records) FILTER (network_address) AS network_address,
    sum(records) FILTER (web_address) AS web_address, sum(records) FILTER (free_text) AS free_text
FROM matched GROUP BY number ORDER BY number
