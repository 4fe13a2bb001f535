-- A firm: departments, who works in them, and on what.
CREATE TABLE departments (id INTEGER PRIMARY KEY, name VARCHAR(40), city VARCHAR(40), budget DECIMAL(12,2));
CREATE TABLE employees (id INTEGER PRIMARY KEY, name VARCHAR(80), department_id INTEGER REFERENCES departments(id), job_title VARCHAR(40), salary DECIMAL(10,2), gender VARCHAR(10), hire_date DATE, is_remote BOOLEAN);
CREATE TABLE projects (id INTEGER PRIMARY KEY, title VARCHAR(80), department_id INTEGER REFERENCES departments(id), status VARCHAR(20), budget DECIMAL(12,2), start_date DATE, end_date DATE);
CREATE TABLE assignments (id INTEGER PRIMARY KEY, employee_id INTEGER REFERENCES employees(id), project_id INTEGER REFERENCES projects(id), hours INTEGER);
INSERT INTO departments VALUES (1,'Research','Oslo',900000),(2,'Sales','Madrid',400000),(3,'Support','Lisbon',150000),(4,'Legal','Oslo',120000);
INSERT INTO employees VALUES
(1,'Ann Berg',1,'engineer',90000,'female','2019-03-04',1),
(2,'Bo Lund',1,'engineer',84000,'male','2021-06-01',0),
(3,'Cleo Diaz',2,'seller',52000,'female','2022-01-10',1),
(4,'Dan Ruiz',2,'manager',70000,'male','2018-11-20',0),
(5,'Eva Costa',3,'agent',38000,'female','2023-09-15',1),
(6,'Finn Hald',1,'manager',98000,'male','2015-02-02',0),
(7,'Gil Pinto',3,'agent',36500,'male','2026-02-11',0),
(8,'Hana Vik',4,'lawyer',88000,'female','2020-05-25',0),
(9,'Ines Mora',2,'seller',47000,'female','2026-01-19',1);
INSERT INTO projects VALUES
(1,'Aurora',1,'active',250000,'2025-01-15','2026-06-30'),
(2,'Borealis',1,'finished',120000,'2023-02-01','2024-02-01'),
(3,'Cadence',2,'active',80000,'2025-10-01','2026-04-01'),
(4,'Delta',3,'planned',40000,'2026-05-04','2026-09-04'),
(5,'Echo',2,'finished',60000,'2024-03-11','2024-08-11');
INSERT INTO assignments VALUES (1,1,1,400),(2,2,1,350),(3,6,1,90),(4,1,2,500),(5,3,3,220),(6,4,3,75),(7,5,4,30),(8,9,3,60),(9,3,5,310),(10,2,2,280);
