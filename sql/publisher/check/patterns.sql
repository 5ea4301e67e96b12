-- What the texts of each column look like: the share of them that match each pattern, among those that are there.
SELECT number, count(*) AS texts, count(DISTINCT text) AS distinct_texts,
    avg(regexp_full_match(trim(text), '[^@\s]+@[^@\s]+\.[A-Za-z]{2,}')::INTEGER) AS email,
    avg((regexp_full_match(trim(text), '(\+|00)?[0-9(][0-9 ()./-]{6,}[0-9]')
        AND NOT regexp_full_match(trim(text), '[0-9]{4}-[0-9]{2}-[0-9]{2}')
        AND regexp_matches(text, '[-+ ()./]'))::INTEGER) AS telephone,
    avg(regexp_full_match(trim(text), '[0-9]{3}-[0-9]{2}-[0-9]{4}')::INTEGER) AS social_security_number,
    avg(regexp_full_match(trim(text), '[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?')::INTEGER) AS iban,
    avg(regexp_full_match(lower(trim(text)), '\{?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\}?')::INTEGER) AS uuid,
    avg(regexp_full_match(trim(text), '([0-9]{1,3}\.){3}[0-9]{1,3}|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{1,4}')::INTEGER) AS network_address,
    avg(regexp_matches(trim(text), '^(https?://|www\.)')::INTEGER) AS web_address,
    avg((len(string_split_regex(trim(text), '\s+')) >= 6)::INTEGER) AS free_text
FROM _priv_text WHERE trim(text) <> '' GROUP BY number ORDER BY number
