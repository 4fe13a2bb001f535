CREATE TABLE studios (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL, founded INTEGER NOT NULL, state TEXT);
CREATE TABLE films (id INTEGER PRIMARY KEY, title TEXT NOT NULL, studio_id INTEGER REFERENCES studios (id), year INTEGER NOT NULL, month INTEGER NOT NULL, language TEXT NOT NULL, length_min INTEGER NOT NULL, rating REAL, votes INTEGER NOT NULL, budget NUMERIC(12, 2), gross NUMERIC(12, 2), in_color BOOLEAN NOT NULL, type TEXT NOT NULL);
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE, died DATE, country TEXT NOT NULL);
CREATE TABLE credits (id INTEGER PRIMARY KEY, film_id INTEGER NOT NULL REFERENCES films (id), person_id INTEGER NOT NULL REFERENCES people (id), role TEXT NOT NULL, "order" INTEGER NOT NULL);
CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT NOT NULL, joined TEXT NOT NULL, plan TEXT NOT NULL, "it" BOOLEAN NOT NULL);
CREATE TABLE loans (id INTEGER PRIMARY KEY, film_id INTEGER NOT NULL REFERENCES films (id), member_id INTEGER NOT NULL REFERENCES members (id), out_on DATE NOT NULL, due_on DATE NOT NULL, back_on DATE, fine NUMERIC(6, 2) NOT NULL DEFAULT 0);
INSERT INTO studios VALUES (1, 'Blue Heron', 'Canada', 1974, 'active'), (2, 'Studio 54 North', 'United States', 1991, 'active'), (3, 'Kino Vostok', 'Poland', 1958, 'closed'), (4, 'Les Films du Pont', 'France', 2003, 'active'), (5, 'Monsoon Pictures', 'India', 2011, 'sold'), (6, 'Nightjar', 'United States', 2019, NULL), (7, 'Aurora 7', 'Norway', 1985, 'closed');
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
INSERT INTO films SELECT i,
 json_extract('["The Long","Red","Silent","Last","Paper","Winter","Seven","Glass","Golden"]', '$[' || (i % 9) || ']') || ' ' || json_extract('["River","House","Station","Letters","Summer","Engine","Garden"]', '$[' || (i % 7) || ']') || CASE WHEN i > 63 THEN ' 2' ELSE '' END,
 CASE WHEN i % 15 = 0 THEN NULL ELSE 1 + i * i % 6 % 5 + (i % 4 = 1) END, 1960 + i * 29 % 66, 1 + i * 5 % 12, json_extract('["English","French","Polish","Hindi","English","Norwegian"]', '$[' || (i * i % 13 % 6) || ']'),
 71 + i * 43 % 109, CASE WHEN i % 11 <> 0 THEN round(2 + i * 31 % 79 / 10.0, 1) END, 17 + i * i * 7 % 4001, CASE WHEN i % 7 <> 0 THEN 200000 + i * 133337 % 9000000 END, CASE WHEN i % 10 <> 0 THEN 100000 + i * 987659 % 25000000 END, 1960 + i * 29 % 66 > 1971,
 json_extract('["feature","documentary","feature","short","feature"]', '$[' || (i % 5) || ']') FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
INSERT INTO people SELECT i, json_extract('["Agnes","Boris","Carla","Dev","Elin","Frank","Gita"]', '$[' || (i % 7) || ']') || ' ' || json_extract('["Moreau","Novak","Stone","Iyer","Dahl","Hart","Quinn","Lebrun"]', '$[' || (i % 8) || ']'),
 CASE WHEN i % 12 <> 0 THEN date('1921-05-03', '+' || (i * 577) || ' days') END, CASE WHEN i % 4 = 1 AND i < 30 THEN date('1990-01-01', '+' || (i * 400) || ' days') END, json_extract('["France","Poland","United States","India","Norway","Canada"]', '$[' || (i % 6) || ']') FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 360)
INSERT INTO credits SELECT i, 1 + (i - 1) / 3 % 118, 1 + (i * 7 + i / 3 * i) % 46, CASE i % 3 WHEN 1 THEN 'director' WHEN 2 THEN 'actor' ELSE CASE WHEN i % 2 THEN 'writer' ELSE 'actor' END END, 1 + (i - 1) % 3 FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO members SELECT i, json_extract('["Olga","Peter","Quentin","Rosa","Stig"]', '$[' || (i % 5) || ']') || ' ' || json_extract('["Abel","Bloch","Conti","Dupre","Ek","Fisk"]', '$[' || (i % 6) || ']'), date('2026-03-20', '-' || (i * i * 3) || ' days'), json_extract('["basic","plus","student"]', '$[' || (i * i % 7 % 3) || ']'), i % 8 = 0 FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 260)
INSERT INTO loans SELECT i, 1 + i * i * 3 % 113, 1 + (i * 7 + i * i / 5) % 28, date('2026-03-14', '-' || (i * 2) || ' days'), date('2026-03-28', '-' || (i * 2) || ' days'), CASE WHEN i % 9 <> 0 AND i > 5 THEN date('2026-03-14', '-' || (i * 2 - 1 - i * 5 % 22) || ' days') END, CASE WHEN i * 5 % 22 > 13 THEN i * 5 % 22 * 0.5 ELSE 0 END FROM n;
