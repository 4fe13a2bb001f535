CREATE TABLE doctors (id INTEGER PRIMARY KEY, name TEXT NOT NULL, specialty TEXT NOT NULL, hired DATE NOT NULL, salary NUMERIC(10, 2) NOT NULL, full_time BOOLEAN NOT NULL, rating REAL);
CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT NOT NULL, birth_date DATE NOT NULL, sex TEXT NOT NULL, city TEXT NOT NULL, insurer TEXT, allergies TEXT, active BOOLEAN NOT NULL);
CREATE TABLE visits (id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patients (id), doctor_id INTEGER NOT NULL REFERENCES doctors (id), visited_on DATE NOT NULL, type TEXT NOT NULL, state TEXT NOT NULL, minutes INTEGER, fee NUMERIC(8, 2) NOT NULL, note TEXT);
CREATE TABLE prescriptions (id INTEGER PRIMARY KEY, visit_id INTEGER NOT NULL REFERENCES visits (id), drug TEXT NOT NULL, dose_mg INTEGER NOT NULL, days INTEGER NOT NULL, refills INTEGER NOT NULL);
CREATE TABLE bills (id INTEGER PRIMARY KEY, visit_id INTEGER NOT NULL REFERENCES visits (id), amount NUMERIC(8, 2) NOT NULL, issued_on TEXT NOT NULL, paid_on TEXT, method TEXT);
INSERT INTO doctors VALUES
 (1, 'Ines Okafor', 'cardiology', '2015-04-01', 9800, 1, 4.7), (2, 'Tom van Dyk', 'pediatrics', '2019-09-15', 7200, 1, 4.2),
 (3, 'Mara Lindqvist', 'dermatology', '2021-01-11', 6900, 0, 3.9), (4, 'Yusuf Demir', 'cardiology', '2010-06-30', 11200, 1, NULL),
 (5, 'Ana Prieto', 'general practice', '2024-02-01', 5600, 0, 4.9), (6, 'Klaus Berger', 'general practice', '2008-11-20', 8100, 1, 3.1),
 (7, 'Ruth Amsel', 'neurology', '2025-10-05', 9900, 1, 4.4);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
INSERT INTO patients SELECT i,
 json_extract('["Lena","Omar","Paul","Sofia","Wei","Greta","Ivan","Nora","Hugo","Aisha"]', '$[' || (i % 10) || ']') || ' ' || json_extract('["Falk","Rossi","Chen","Novak","Silva","Weber","Khan"]', '$[' || (i % 7) || ']'),
 date('1938-01-20', '+' || (i * 521) || ' days'),
 CASE WHEN i % 10 IN (0, 3, 5, 7, 9) THEN 'female' ELSE 'male' END,
 json_extract('["Aachen","Bremen","Kassel","Ulm"]', '$[' || (i * i % 11 % 4) || ']'),
 json_extract('["Medica","Nordkasse","Vita 24",null,"Medica"]', '$[' || (i % 5) || ']'),
 CASE i % 6 WHEN 0 THEN 'penicillin' WHEN 1 THEN 'nuts' WHEN 2 THEN 'latex, pollen' END,
 i % 9 <> 0 FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
INSERT INTO visits SELECT i, 1 + (i * 17 + i * i) % 55, 1 + (i * i + i / 7) % 6, date('2026-04-10', '-' || (i * 3) || ' days'),
 json_extract('["checkup","follow-up","emergency","vaccination"]', '$[' || (i * 7 % 11 % 4) || ']'),
 CASE WHEN i < 9 THEN 'planned' ELSE json_extract('["done","cancelled","done","no-show","done","done"]', '$[' || (i % 6) || ']') END,
 CASE WHEN i % 6 IN (1, 3) OR i < 9 THEN NULL ELSE 8 + i * 13 % 67 END, 20 + i * 37 % 180 + (i % 4) * 0.25,
 CASE WHEN i % 13 = 0 THEN 'needs x-ray' WHEN i % 17 = 0 THEN 'call back' END FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 140)
INSERT INTO prescriptions SELECT i, 9 + i * 2, json_extract('["Ibuprofen","Amoxicillin","Metformin","Ramipril","Vitamin D3"]', '$[' || (i * i % 7 % 5) || ']'), 50 * (1 + i % 12), 3 + i * 5 % 28, i % 4 FROM n;
WITH RECURSIVE n (i) AS (SELECT 9 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
INSERT INTO bills SELECT i - 8, i, 20 + i * 37 % 180 + (i % 4) * 0.25 + (i % 3) * 5, date('2026-04-10', '-' || (i * 3 - 2) || ' days'), CASE WHEN i % 5 <> 0 THEN date('2026-04-10', '-' || (i * 3 - 2 - i % 20) || ' days') END,
 CASE WHEN i % 5 <> 0 THEN json_extract('["cash","card","transfer"]', '$[' || (i % 3) || ']') END FROM n WHERE i % 6 NOT IN (1, 3);
