-- FROM priv.check_source(source, sensitive := … [, record_id := …] [, exclude := […]] [, public := […]]
--   [, person := …] [, domain := …] [, retention := … | epsilon := … | rho1 := …, rho2 := …] [, certainty := 0.95])
--   -> severity, finding, columns, figure, statement, advice, basis
--
-- The same as priv."check", under a name that needs no quotes.
--
--   SELECT severity, finding, columns, figure FROM priv.check_source('visits', sensitive := 'disease', record_id := 'id');

CREATE OR REPLACE MACRO priv.check_source(
    source, sensitive := NULL, record_id := NULL, exclude := NULL, public := NULL, person := NULL,
    domain := NULL, retention := NULL, epsilon := NULL, rho1 := NULL, rho2 := NULL, certainty := 0.95
) AS TABLE FROM priv."check"(
    source, sensitive := sensitive, record_id := record_id, exclude := exclude, public := public, person := person,
    domain := domain, retention := retention, epsilon := epsilon, rho1 := rho1, rho2 := rho2, certainty := certainty
);

COMMENT ON MACRO TABLE priv.check_source IS
    'What would be wrong with publishing a source, the worst first; the same as priv."check".';
