-- Where the caller stands: names are looked up from there.
_database: current_database(), _schemas: current_schemas(false)
