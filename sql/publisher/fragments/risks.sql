-- Part of the text of a query: joins the risks, computed once for each pair of size and count, to every group.
risk AS (
    SELECT unnest(CASE WHEN answer.mistake IS NULL THEN answer.found ELSE error(answer.mistake) END) AS _priv_risk
    FROM asked
), joined AS (
    SELECT chosen.*, _priv_risk FROM chosen
    JOIN risk ON _priv_risk.size = _priv_size AND _priv_risk.count = _priv_most
)
