-- What the analyst of the demo asks of the release, and the same asked of the source. Columns that both answers
-- have tell which rows belong together.

-- question: How many nurses are there?
SELECT unnest(priv.reconstructed_interval(
    'census.occupation', noisy_occupation, 'nurse'))
FROM census;
-- truth
SELECT count(*) FILTER (occupation = 'nurse') AS truth FROM person;

-- question: How many women and men are teachers?
SELECT gender, unnest(priv.reconstructed_interval(
    'census.occupation', noisy_occupation, 'teacher'))
FROM census GROUP BY gender ORDER BY gender;
-- truth
SELECT gender, count(*) FILTER (occupation = 'teacher') AS truth FROM person GROUP BY gender;

-- question: How many software developers are younger than 35 and went to university?
SELECT unnest(priv.reconstructed_interval(
    'census.occupation', noisy_occupation, 'software developer'))
FROM census
WHERE age < 35 AND education IN ('bachelor', 'master', 'doctorate');
-- truth
SELECT count(*) FILTER (occupation = 'software developer') AS truth
FROM person WHERE age < 35 AND education IN ('bachelor', 'master', 'doctorate');

-- question: At which age do people retire?
SELECT age // 10 * 10 AS decade,
       unnest(priv.reconstructed_interval(
           'census.occupation', noisy_occupation, 'retired'))
FROM census WHERE age BETWEEN 40 AND 89 GROUP BY decade ORDER BY decade;
-- truth
SELECT age // 10 * 10 AS decade, count(*) FILTER (occupation = 'retired') AS truth FROM person GROUP BY decade;

-- question: Who earns more than 90,000?
SELECT education,
       unnest(priv.reconstructed_interval(
           'census.income', noisy_income, 'over 90k'))
FROM census GROUP BY education ORDER BY education;
-- truth
SELECT education, count(*) FILTER (income = 'over 90k') AS truth FROM person GROUP BY education;

-- question: How is income distributed?
FROM priv.reconstructed_distribution('census.income');
-- truth
SELECT income AS value, count(*) AS truth FROM person GROUP BY income;

-- question: And among widowed women?
FROM priv.reconstructed_distribution('census.income',
    condition := 'marital_status = ''widowed'' AND gender = ''female''');
-- truth
SELECT income AS value, count(*) AS truth
FROM person WHERE marital_status = 'widowed' AND gender = 'female' GROUP BY income;

-- question: Which five occupations are the most common?
FROM priv.reconstructed_distribution('census.occupation')
ORDER BY estimate DESC LIMIT 5;
-- truth
SELECT occupation AS value, count(*) AS truth FROM person GROUP BY occupation;

-- question: Where, by education and gender, are there more than 1,000 engineers?
SELECT education, gender,
       unnest(priv.reconstructed_interval(
           'census.occupation', noisy_occupation, 'engineer'))
FROM census GROUP BY education, gender
HAVING priv.reconstructed_count(
    'census.occupation', noisy_occupation, 'engineer') > 1000
ORDER BY education, gender;
-- truth
SELECT education, gender, count(*) FILTER (occupation = 'engineer') AS truth
FROM person GROUP BY education, gender;

-- question: How many of the young are students, by a table of the analyst's own?
WITH stage(stage, youngest, oldest) AS (
    VALUES ('school', 16, 18), ('university', 19, 26)
)
SELECT stage, unnest(priv.reconstructed_interval(
    'census.occupation', noisy_occupation, 'student'))
FROM census JOIN stage ON age BETWEEN youngest AND oldest
GROUP BY stage ORDER BY stage;
-- truth
SELECT CASE WHEN age < 19 THEN 'school' ELSE 'university' END AS stage,
    count(*) FILTER (occupation = 'student') AS truth
FROM person WHERE age < 27 GROUP BY stage;

-- question: How many divorced men of 50 drive a bus? (Few: the interval says so.)
SELECT unnest(priv.reconstructed_interval(
    'census.occupation', noisy_occupation, 'bus driver'))
FROM census
WHERE age = 50 AND gender = 'male' AND marital_status = 'divorced';
-- truth
SELECT count(*) FILTER (occupation = 'bus driver') AS truth
FROM person WHERE age = 50 AND gender = 'male' AND marital_status = 'divorced';

-- question: How many physicians are there, almost certainly?
SELECT unnest(priv.reconstructed_interval(
    'census.occupation', noisy_occupation, 'physician',
    confidence := 0.99))
FROM census;
-- truth
SELECT count(*) FILTER (occupation = 'physician') AS truth FROM person;
