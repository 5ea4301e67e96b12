-- Where the caller stands: names are looked up from there, and times have its zone.
_database: system.main.current_database(), _schemas: system.main.current_schemas(false),
_zone: system.main.current_setting('TimeZone')
