-- What a BI tool sends when someone clicks: plain queries on the views that a release carries.

SELECT * FROM visits_public_disease_estimates ORDER BY estimate DESC;

SELECT disease_by_gender.gender, disease_by_gender.value, disease_by_gender.estimate
FROM visits_public_disease_by_gender AS disease_by_gender;

SELECT gender, disease, SUM(weight) AS persons FROM visits_public_disease_weights
WHERE age BETWEEN 30 AND 50 GROUP BY gender, disease;
