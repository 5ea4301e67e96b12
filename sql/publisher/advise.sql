-- FROM priv.advise(source, sensitive := … [, rho1 := …, rho2 := …] [, epsilon := … [, delta := …]] [, max_error := …]
--   [, retentions := [0.05, 0.1, 0.2, …]] [, epsilons := [0.5, 1, 2, 3, 4]] [, tolerances := [5, 10, 20, 50]] [, gammas := [2, 3, 5, 10]]
--   [, reconstruction_epsilons := [0.3], reconstruction_deltas := [0.3]]
--   [, hierarchies := 'table', levels := {…}, ks := [10, 20, 50], betas := [0.05, 0.1, 0.2]]
--   [, workload := 'table' | queries := 5000, max_public_attributes := 3,
--   min_selectivity := 0.001 | selectivity := [low, high] | small_counts := n, seed := 0
--   | questions := 'ranges', bins := 64, low := 0, high := 100 [, clip := true]]
--   [, record_id := …] [, exclude := […]] [, public := […]] [, person := …] [, max_rows := …])
--   -> mechanism, parameters, guarantee, epsilon, delta, mean_relative_error, median_relative_error, suppressed, basis,
--      meets, expected_error, statement
--
-- Publishes nothing. Lists what you could publish, what each option promises, and the errors to expect of a workload over
-- this table, from closed-form variances. It tries uniform perturbation at the retentions, codes of block designs at the
-- epsilons, fine-grain perturbation at the tolerances, reconstruction privacy at the retentions and its epsilons and deltas,
-- and decoy groups at the gammas. It tries generalized samples at ks and betas, if you give hierarchies and the levels to
-- publish. Codes that are not more accurate, and options that the table makes impossible, are left out. basis says where the
-- errors come from. suppressed is the share of the records that small groups are expected to suppress. meets says whether an
-- option meets the requirement: (rho1, rho2), the largest epsilon and delta of differential privacy, the largest mean
-- relative error. With several sensitive columns, only options that publish them with the same arguments are listed, and the
-- errors are those of questions about each of them. epsilon and meets are about one value. With several columns, or a named
-- person, the guarantee also states the sum over all values and records of a person. Options that meet the requirement come
-- first, the most accurate at the top; statement publishes one. For the publisher: the errors are computed from true counts.
--
-- With questions and bins, as publish_for_questions takes them for one column, it compares how exactly those questions are
-- answered instead: by uniform perturbation, a code of blocks and fine-grain perturbation of the same bins, and by the operator
-- for the questions, each with the epsilon that is asked for. expected_error is the root mean square of the standard errors of
-- the answers, as shares of the records, as priv.expected_error gives it of a release. basis says in words which is best. A
-- statement for a method that does not cut numbers itself has a view of the bins before it. Fine-grain perturbation counts the
-- bins with noise when it publishes, so its epsilon and its error are close to what is expected.
--
--   SELECT parameters, guarantee, mean_relative_error, statement
--   FROM priv.advise('visits', sensitive := 'disease', record_id := 'id', rho1 := 0.1, rho2 := 0.5) WHERE meets LIMIT 1;

CREATE OR REPLACE MACRO priv.advise(
    source, sensitive := NULL, rho1 := NULL, rho2 := NULL, epsilon := NULL, delta := NULL, max_error := NULL,
    @grid_parameters@,
    questions := NULL, bins := NULL, low := NULL, high := NULL, clip := false, workload := NULL, queries := 5000,
    max_public_attributes := 3, min_selectivity := 0.001, selectivity := NULL, small_counts := NULL, seed := 0,
    record_id := NULL, exclude := NULL, public := NULL, person := NULL, max_rows := NULL
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({
        source: source, sensitive: sensitive, rho1: rho1, rho2: rho2, epsilon: epsilon, delta: delta, max_error: max_error,
        @grid_arguments@,
        questions: questions, bins: bins, low: low, high: high, clip: clip, workload: workload, queries: queries, max_public_attributes: max_public_attributes,
        min_selectivity: min_selectivity, selectivity: selectivity, small_counts: small_counts, seed: seed,
        record_id: record_id, exclude: exclude, public: public, person: person, max_rows: max_rows, @caller@
    })::VARCHAR AS arguments
), @ask@
SELECT unnest(from_json(answer, '[{"mechanism": "VARCHAR", "parameters": "VARCHAR", "guarantee": "VARCHAR",
    "epsilon": "DOUBLE", "delta": "DOUBLE", "mean_relative_error": "DOUBLE", "median_relative_error": "DOUBLE",
    "suppressed": "DOUBLE", "basis": "VARCHAR", "meets": "BOOLEAN",
    "expected_error": "DOUBLE", "statement": "VARCHAR"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.advise IS
    'Mechanisms and parameters with what each promises and the errors to expect; publishes nothing.';
