-- A store, of which only the table of products may be asked about.
CREATE TABLE suppliers (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT NOT NULL, supplier_id INTEGER REFERENCES suppliers (id), brand_id INTEGER, warehouse_id INTEGER, price REAL);
INSERT INTO suppliers VALUES (1, 'Acme'), (2, 'Bolt and Sons'), (3, 'Nobody buys here');
INSERT INTO product VALUES (1, 'Lamp', 1, 7, 3, 10), (2, 'Chair', NULL, 7, 3, 20), (3, 'Desk', 2, NULL, NULL, 30), (4, 'Rug', NULL, 8, NULL, 5), (5, 'Stool', 1, 8, 3, 15);
