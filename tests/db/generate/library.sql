-- A library: books, members, and what is lent.  The models call its columns by Chinese labels.
CREATE TABLE books (id INTEGER PRIMARY KEY, title VARCHAR(80), author VARCHAR(80), genre VARCHAR(20), published_year INTEGER, pages INTEGER, copies INTEGER);
CREATE TABLE members (id INTEGER PRIMARY KEY, name VARCHAR(80), city VARCHAR(40), joined_on DATE, is_student BOOLEAN);
CREATE TABLE loans (id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES books(id), member_id INTEGER REFERENCES members(id), loaned_on DATE, due_on DATE, returned_on DATE, fine DECIMAL(8,2));
INSERT INTO books VALUES
(1,'红楼梦','曹雪芹','小说',1791,1200,4),(2,'三体','刘慈欣','科幻',2008,302,6),(3,'活着','余华','小说',1993,191,3),
(4,'Dune','Frank Herbert','科幻',1965,612,2),(5,'万历十五年','黄仁宇','历史',1981,320,1),(6,'史记','司马迁','历史',1959,3322,1);
INSERT INTO members VALUES
(1,'王芳','北京','2023-05-06',1),(2,'李雷','上海','2024-09-01',1),(3,'韩梅','北京','2025-12-20',0),(4,'张伟','广州','2026-02-03',0),(5,'Mary Hill','上海','2026-03-02',1);
INSERT INTO loans VALUES
(1,1,1,'2025-11-03','2025-12-03','2025-11-30',0),(2,2,1,'2026-01-10','2026-02-10','2026-02-20',5),
(3,2,2,'2026-02-14','2026-03-14',NULL,0),(4,3,3,'2026-02-25','2026-03-25','2026-03-10',0),
(5,4,2,'2026-03-01','2026-04-01',NULL,0),(6,5,4,'2026-03-09','2026-04-09',NULL,0),
(7,2,3,'2025-06-01','2025-07-01','2025-07-15',7.5),(8,3,5,'2026-03-12','2026-04-12',NULL,0),(9,1,4,'2026-02-08','2026-03-08','2026-03-06',0);
