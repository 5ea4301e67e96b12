-- A sample of the records.
CREATE OR REPLACE TEMP TABLE _priv_sample AS SELECT @columns@ FROM @source@ USING SAMPLE @percent@% (bernoulli)
