-- Where the fingerprints of a source are laid out while it is looked at.
CREATE OR REPLACE TEMP TABLE _priv_record (level UTINYINT, number HUGEINT, mark UBIGINT, shown UINTEGER[], others UINTEGER[], placed UINTEGER, person UBIGINT);
CREATE OR REPLACE TEMP TABLE _priv_person (level UTINYINT, number HUGEINT, mark UBIGINT);
CREATE OR REPLACE TEMP TABLE _priv_content (level UTINYINT, mark UBIGINT)
