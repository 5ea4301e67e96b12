-- The records of a source with keyed marks of their groups, and of their ids and values. From the version before: whether they were
-- in it, and how many records their row represents.
WITH coded AS (
    SELECT s.*, d.position AS _priv_code, @id_number@ AS _priv_number, @id_text@ AS _priv_text, @group@ AS _priv_group
    FROM @source@ JOIN @domain@ AS d ON d.value IS NOT DISTINCT FROM @sensitive@
), grouped AS (
    SELECT _priv_group, _priv_bits(@groups@::UBIGINT, NULL::BIGINT, _priv_group, 0::UINTEGER) AS _priv_grouped
    FROM (SELECT DISTINCT _priv_group FROM coded)
), marked AS (
    SELECT coded.* EXCLUDE (_priv_group, _priv_code, _priv_number, _priv_text), _priv_grouped, _priv_code, @id_of_coded@ AS _priv_id,
        _priv_bits(@marks@::UBIGINT, _priv_number, _priv_text, _priv_code) AS _priv_mark
    FROM coded JOIN grouped USING (_priv_group)
)
SELECT marked.*, known.mark IS NOT NULL AS _priv_known, known.scale AS _priv_scale
FROM marked LEFT JOIN (FROM priv.sampled_record WHERE release = @release@ AND in_version) AS known
    ON known.grouped = _priv_grouped AND known.mark = _priv_mark
