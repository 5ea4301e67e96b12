-- Where the caller stands: names are looked up from there, and times have its zone.
_database: current_database(), _schemas: current_schemas(false),
_zone: current_setting('TimeZone')
