-- A script in any language: attach the release and leave your own database in use.

ATTACH 'visits_public.duckdb' AS visits (READ_ONLY);

SELECT visits.priv.reconstructed_count('visits_public', noisy_disease, 'flu') AS flu FROM visits.visits_public;

FROM visits.priv.reconstructed_distribution('visits_public', database := 'visits');
