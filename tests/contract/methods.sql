-- The world of the contract, and for each method one publication of it. A test of the contract changes names and adds arguments, nothing else.

-- world:
CREATE TABLE visits AS
SELECT 'patient-' || lpad(i::VARCHAR, 6, '0') AS id, 20 + (hash('age' || i) % 3)::INTEGER * 10 AS age,
    ['north', 'south'][1 + (hash('ward' || i) % 2)::INTEGER] AS ward,
    ['none', 'none', 'flu', 'asthma', 'cancer', NULL][1 + (hash('disease' || i) % 6)::INTEGER] AS disease
FROM range(3000) AS t(i);

CREATE TABLE reactions AS
SELECT id, age, ward, 'r' || lpad((hash('reaction' || id) % 60)::VARCHAR, 2, '0') AS reaction FROM visits;

CREATE TABLE stays AS
SELECT id, age, ward, if(hash('ill' || id) % 20 = 0, NULL, (hash('days' || id) % 5)::INTEGER) AS days FROM visits;

CREATE TABLE exchange AS
WITH disease AS (SELECT unnest(['none', 'flu', 'asthma', 'cancer', NULL]) AS value)
SELECT a.value AS original, b.value AS published, if(a.value IS NOT DISTINCT FROM b.value, 0.6, 0.1) AS probability
FROM disease a, disease b;

CREATE TABLE hierarchies AS
SELECT attribute, value, level, if(level = 0, value, 'any') AS generalized
FROM (
    SELECT 'age' AS attribute, unnest(['20', '30', '40']) AS value
    UNION ALL SELECT 'ward', unnest(['north', 'south'])
), (SELECT unnest([0, 1]) AS level);

-- method: uniform
FROM priv.publish_uniform('visits', 'r', sensitive := 'disease', record_id := 'id', retention := 0.5);

-- method: block_design
FROM priv.publish_block_design('reactions', 'r', sensitive := 'reaction', record_id := 'id', epsilon := 1.0);

-- method: fine_grain
FROM priv.publish_fine_grain('visits', 'r', sensitive := 'disease', record_id := 'id', tolerance := 3, min_retention := 0.05);

-- method: matrix
FROM priv.publish_matrix('visits', 'r', sensitive := 'disease', record_id := 'id', matrix := 'exchange');

-- method: for_questions
FROM priv.publish_for_questions('stays', 'r', sensitive := 'days', record_id := 'id', questions := 'ranges', low := 0, high := 5, bins := 5, epsilon := 1.0);

-- method: reconstruction_private
FROM priv.publish_reconstruction_private('visits', 'r', sensitive := 'disease', record_id := 'id', retention := 0.5, epsilon := 0.3, delta := 0.3);

-- method: shuffled
FROM priv.publish_shuffled('visits', 'r', sensitive := 'disease', record_id := 'id', epsilon := 1.0, delta := 1e-6);

-- method: splu
FROM priv.publish_splu('visits', 'r', sensitive := 'disease', record_id := 'id', gamma := 3);

-- method: safe_k
FROM priv.publish_safe_k('visits', 'r', record_id := 'id', k := 10, beta := 0.3, epsilon := 1.0, hierarchies := 'hierarchies', levels := {'age': 0, 'ward': 0}, exclude := 'disease');

-- method: anatomy
FROM priv.publish_anatomy('visits', 'r', sensitive := 'disease', record_id := 'id', l := 3);

-- method: distribution
FROM priv.publish_distribution('visits', 'r', sensitive := 'disease', record_id := 'id');
