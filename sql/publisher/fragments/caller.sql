-- The caller's search path and time zone: names are looked up there, and times have its zone.
_database: current_database(), _schemas: current_schemas(false),
_zone: current_setting('TimeZone')
