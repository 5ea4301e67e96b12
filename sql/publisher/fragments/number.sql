-- Asks a procedure for one number, in an expression.
[CASE WHEN starts_with(answer, '!') THEN error(answer[2:])
    ELSE json_extract_string(answer, '$[0].value')::DOUBLE END FOR answer IN [_priv_ask(@name@, arguments)]][1]
