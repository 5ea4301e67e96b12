-- What every publish_… returns.
SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "mechanism": "VARCHAR", "rows_source": "BIGINT",
    "rows_published": "BIGINT", "rows_suppressed": "BIGINT", "seconds": "DOUBLE", "guarantee": "VARCHAR",
    "warnings": ["VARCHAR"], "notes": ["VARCHAR"], "ledger": "VARCHAR"}]'), recursive := true)
FROM answered
