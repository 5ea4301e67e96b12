-- The names of the columns that are no part of a micro group, quoted, with commas between them.
array_to_string(['"' || replace(name, '"', '""') || '"' FOR name IN flatten([
    from_json(CASE WHEN starts_with(given, '[') THEN given ELSE '[' || given || ']' END, '["VARCHAR"]')
    FOR given IN [to_json(sensitive)::VARCHAR, to_json(record_id)::VARCHAR, to_json(exclude)::VARCHAR]
    IF coalesce(given, 'null') <> 'null'])], ', ')
