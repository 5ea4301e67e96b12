-- A publisher's whole session, in: duckdb-priv shell hospital.duckdb -f 1_publisher.sql
-- The first statement stands for your own table.

CREATE TABLE visits AS
SELECT id, 20 + id * 37 % 60 AS age, if(id % 2 = 0, 'f', 'm') AS gender,
       ['asthma', 'cold', 'diabetes', 'flu'][1 + (id * id) % 23 % 4] AS disease
FROM range(20000) AS t(id);

FROM priv.publish_uniform('visits', 'visits_public', sensitive := 'disease', retention := 0.3, record_id := 'id');

SELECT attribute, guarantee, value, holds FROM priv.audit('visits_public');

FROM priv.export_release('visits_public', 'visits_public.duckdb');
