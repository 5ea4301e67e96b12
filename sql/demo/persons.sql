-- The table person: a census of made-up people, $rows of them, for the demo
--
-- Every attribute depends on those before it as in real censuses: education on age, marital status on age
-- and gender, occupation on education, gender and age, income on occupation, education, age and gender. The
-- numbers behind it are hashes of the person's number, so the same $seed gives the same people in one version of DuckDB.

CREATE TABLE person AS
WITH job(occupation, size, level, women, pay) AS (
    -- How common it is, the education it takes (1 to 6), the share of women in it, and log of the pay over the mean.
    VALUES
        ('accountant', 14, 4.0, 0.57, 0.25), ('actor', 2, 3.5, 0.49, -0.20), ('administrator', 22, 3.0, 0.72, -0.05),
        ('architect', 4, 5.0, 0.38, 0.35), ('baker', 5, 2.5, 0.55, -0.35), ('bank clerk', 9, 3.5, 0.60, 0.10),
        ('bus driver', 7, 2.2, 0.22, -0.10), ('butcher', 3, 2.2, 0.18, -0.20), ('call centre agent', 8, 2.5, 0.64, -0.35),
        ('caretaker', 9, 2.0, 0.20, -0.30), ('carpenter', 8, 2.6, 0.04, -0.02), ('cashier', 12, 2.0, 0.78, -0.50),
        ('chef', 9, 2.5, 0.30, -0.25), ('chemist', 4, 5.3, 0.42, 0.40), ('child carer', 12, 2.9, 0.94, -0.35),
        ('civil servant', 15, 3.9, 0.55, 0.15), ('cleaner', 17, 1.6, 0.82, -0.60), ('dentist', 3, 5.6, 0.50, 0.85),
        ('designer', 6, 4.0, 0.55, 0.00), ('electrician', 9, 2.8, 0.03, 0.08), ('engineer', 20, 4.7, 0.18, 0.45),
        ('farmer', 7, 2.4, 0.28, -0.25), ('firefighter', 3, 3.0, 0.06, 0.12), ('gardener', 6, 2.1, 0.22, -0.35),
        ('hairdresser', 7, 2.4, 0.88, -0.55), ('journalist', 3, 4.5, 0.52, 0.10), ('judge', 1, 5.5, 0.48, 0.80),
        ('labourer', 20, 1.6, 0.16, -0.35), ('lawyer', 6, 5.4, 0.47, 0.70), ('librarian', 3, 4.5, 0.80, -0.05),
        ('machine operator', 16, 2.2, 0.22, -0.10), ('manager', 24, 4.2, 0.34, 0.55), ('mechanic', 11, 2.6, 0.04, 0.00),
        ('midwife', 2, 3.8, 0.99, 0.10), ('musician', 2, 4.0, 0.38, -0.15), ('nurse', 22, 3.5, 0.86, 0.02),
        ('painter', 5, 2.3, 0.08, -0.18), ('pharmacist', 4, 5.0, 0.68, 0.40), ('physician', 8, 5.7, 0.49, 0.90),
        ('pilot', 1, 4.2, 0.07, 0.85), ('police officer', 6, 3.5, 0.25, 0.20), ('researcher', 6, 5.8, 0.44, 0.40),
        ('sales assistant', 24, 2.4, 0.66, -0.38), ('social worker', 9, 4.2, 0.78, -0.05),
        ('software developer', 16, 4.6, 0.19, 0.55), ('teacher', 20, 4.8, 0.72, 0.15), ('waiter', 10, 2.1, 0.60, -0.55),
        ('student', 40, 2.8, 0.51, -1.40), ('retired', 150, 2.8, 0.53, -0.55), ('not employed', 24, 1.9, 0.58, -1.10)
), education(level, education) AS (
    VALUES (1, 'primary'), (2, 'secondary'), (3, 'vocational'), (4, 'bachelor'), (5, 'master'), (6, 'doctorate')
), gender(gender) AS (
    VALUES ('female'), ('male')
), band(band, youngest, working, studying, pension) AS (
    -- How common work, study and retirement are at these ages.
    VALUES (1, 16, 0.25, 2.50, 0.0), (2, 20, 0.80, 1.20, 0.0), (3, 25, 1.00, 0.15, 0.0), (4, 35, 1.00, 0.03, 0.0),
           (5, 45, 1.00, 0.01, 0.0), (6, 55, 0.80, 0.0, 0.25), (7, 65, 0.15, 0.0, 1.50), (8, 70, 0.03, 0.0, 3.00)
), weighted AS (
    SELECT e.level, gender, band, occupation, pay,
        size * exp(-0.9 * (e.level - job.level) ** 2 * (pay > -1.4 AND occupation <> 'retired')::INTEGER)
            * CASE gender WHEN 'female' THEN women ELSE 1 - women END
            * CASE occupation WHEN 'student' THEN studying WHEN 'retired' THEN pension ELSE working END AS weight
    FROM job, education e, gender, band
), occupation AS (
    SELECT level, gender, band, occupation, pay,
        (sum(weight) OVER earlier - weight) / sum(weight) OVER whole AS low
    FROM weighted WHERE weight > 0
    WINDOW whole AS (PARTITION BY level, gender, band), earlier AS (whole ORDER BY occupation)
), coin AS (
    -- Nine numbers between 0 and 1 for each person. A hash of several numbers mixes them badly, a hash of a hash well.
    SELECT range AS person_id, [hash(xor(hash($seed, range), i::UBIGINT)) / 2.0 ** 64 FOR i IN range(9)] AS u
    FROM range($rows)
), aged AS (
    SELECT person_id, u, CASE WHEN u[1] < 0.51 THEN 'female' ELSE 'male' END AS gender,
        CAST(floor(16 + 56 * u[2] + 22 * u[2] ** 6) AS INTEGER) AS age
    FROM coin
), taught AS (
    -- The young have studied more, and not yet finished.
    SELECT *, u[3] + greatest(0, age - 45) / 140.0 - (gender = 'female' AND age < 45)::INTEGER * 0.03 AS rank
    FROM aged
), schooled AS (
    SELECT * EXCLUDE (rank), CASE
            WHEN age >= 27 AND rank < 0.02 THEN 6 WHEN age >= 24 AND rank < 0.14 THEN 5
            WHEN age >= 21 AND rank < 0.33 THEN 4 WHEN age >= 19 AND rank < 0.66 THEN 3
            WHEN age >= 18 AND rank < 0.94 THEN 2 WHEN age < 18 AND rank < 0.60 THEN 2 ELSE 1 END AS level,
        greatest(0, least(0.86, (age - 21) / 17.0)) AS settled,
        greatest(0, (age - 55) / 90.0) * CASE gender WHEN 'female' THEN 1.6 ELSE 0.7 END AS widowed
    FROM taught
), placed AS (
    SELECT schooled.*, band FROM schooled ASOF JOIN band ON age >= youngest
), employed AS (
    SELECT placed.*, occupation,
        10.35 + pay + 0.09 * (placed.level - 3) + 0.012 * least(greatest(age - 20, 0), 30)
            - 0.10 * (placed.gender = 'female')::INTEGER + 0.55 * (u[5] + u[6] + u[7] + u[8] - 2) AS log_income
    FROM placed ASOF JOIN occupation ON placed.level = occupation.level AND placed.gender = occupation.gender
        AND placed.band = occupation.band AND u[4] >= low
)
SELECT person_id, gender, age, education,
    CASE WHEN u[9] < widowed THEN 'widowed' WHEN u[9] > 1 - settled * 0.14 THEN 'divorced'
         WHEN u[9] < widowed + settled * 0.80 THEN 'married' ELSE 'never married' END AS marital_status,
    occupation,
    CASE WHEN log_income < ln(15000) THEN 'under 15k' WHEN log_income < ln(30000) THEN '15k to 30k'
         WHEN log_income < ln(45000) THEN '30k to 45k' WHEN log_income < ln(60000) THEN '45k to 60k'
         WHEN log_income < ln(90000) THEN '60k to 90k' ELSE 'over 90k' END AS income
FROM employed JOIN education USING (level)
ORDER BY person_id;
