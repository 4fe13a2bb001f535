-- A school: a student may take a course twice; a room is named once for each course.
CREATE TABLE teachers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, campus TEXT, salary NUMERIC(8, 2));
CREATE TABLE courses (id INTEGER PRIMARY KEY, title TEXT NOT NULL, subject TEXT, fee NUMERIC(8, 2), teacher_id INTEGER REFERENCES teachers (id), archived BOOLEAN);
CREATE TABLE students (id INTEGER PRIMARY KEY, name TEXT NOT NULL, house TEXT, email TEXT);
CREATE TABLE enrollments (id INTEGER PRIMARY KEY, student_id INTEGER NOT NULL REFERENCES students (id), course_id INTEGER NOT NULL REFERENCES courses (id), term TEXT, score INTEGER);
CREATE TABLE rooms (id INTEGER PRIMARY KEY, name TEXT NOT NULL, seats INTEGER NOT NULL);
CREATE TABLE course_rooms (course_id INTEGER NOT NULL REFERENCES courses (id), room_id INTEGER NOT NULL REFERENCES rooms (id), PRIMARY KEY (course_id, room_id));
CREATE TABLE excursions (id INTEGER PRIMARY KEY, teacher_id INTEGER REFERENCES teachers (id), place TEXT, cost NUMERIC(8, 2));
INSERT INTO teachers VALUES (1, 'Ida Moss', 'north', 4100), (2, 'Jon Pell', 'south', 3900), (3, 'Kai Rund', NULL, NULL), (4, 'Lea Sack', 'east', 4400);
INSERT INTO courses VALUES (1, 'Algebra', 'maths', 100, 1, 0), (2, 'Poetry', 'letters', 80, 2, 1), (3, 'Drawing', NULL, 60, NULL, NULL), (4, 'Geometry', 'maths', 120, 1, 0), (5, 'Latin', 'letters', 90, 3, 0);
INSERT INTO students VALUES (1, 'Mia', 'red', 'mia@example.com'), (2, 'Noa', NULL, NULL), (3, 'Odo', 'blue', 'odo_x@example.com'), (4, 'Pia', 'green', 'pia%x@example.com'), (5, 'Quin', NULL, NULL);
INSERT INTO enrollments VALUES (1, 1, 1, 'spring', 70), (2, 1, 1, 'autumn', 90), (3, 2, 1, 'spring', 55), (4, 3, 2, NULL, 80), (5, 4, 3, 'autumn', 60), (6, 4, 4, 'autumn', NULL);
INSERT INTO rooms VALUES (1, 'Attic', 12), (2, 'Hall', 200), (3, 'Cellar', 30);
INSERT INTO course_rooms VALUES (1, 1), (1, 2), (2, 1), (4, 2);
INSERT INTO excursions VALUES (1, 1, 'lake', 30), (2, 1, 'hill', 20), (3, 2, 'mill', 15);
