-- FROM priv.derive(release, coarser, retention := … | epsilon := … [, replace := false])
--   -> release, mechanism, rows_published, guarantee, seconds
--
-- Makes a coarser release from a finer one, for readers who are trusted less. What a row shows is kept or redrawn once more,
-- as if the source had been published with the smaller retention, or epsilon. Nothing of the source is read. Someone who has
-- both learns no more than from the finer one, and the ledger charges the finer one alone. Two releases that are published
-- from the source are two looks, and add up. The same rows show the same in the next version. The result is exact for
-- uniform perturbation and, with the design of its blocks, for block designs. Matrices and fine grain become uniform
-- perturbation if their operator can be factorized; the error names the largest retention for which it can. FROM
-- priv.refresh(coarser) follows the finer one.
--
--   FROM priv.derive('visits_public', 'visits_for_all', retention := 0.1);

CREATE OR REPLACE MACRO priv.derive(release, coarser, retention := NULL, epsilon := NULL, replace := false) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id,
        to_json({"release": release, "coarser": coarser, "retention": retention, "epsilon": epsilon, "replace": replace,
            @caller@})::VARCHAR AS arguments
), @run@
SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "mechanism": "VARCHAR", "rows_published": "BIGINT",
    "guarantee": "VARCHAR", "seconds": "DOUBLE"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.derive IS
    'Make a noisier release from a finer one, so that both together tell no more than the finer.';
