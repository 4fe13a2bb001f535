-- A market: values are missing here and there, and one order has two lines of the same product.
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, tier TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), amount REAL, status TEXT, ordered_on DATE);
CREATE TABLE payments (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), paid REAL, paid_on DATE);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, sku TEXT, price REAL, discontinued BOOLEAN);
CREATE TABLE order_items (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id), product_id INTEGER REFERENCES products (id), quantity INTEGER);
INSERT INTO customers VALUES (1, 'Ann Voss', 'Berlin', 'gold'), (2, 'Ben Ode', 'Hamburg', NULL), (3, 'Cem Aru', NULL, 'silver'), (4, 'Dora Ix', 'Munich', 'gold'), (5, 'Eli Fen', NULL, NULL);
INSERT INTO orders VALUES (1, 1, 100, 'paid', '2025-11-02'), (2, 1, 50, 'open', '2025-11-09'), (3, 2, 70, NULL, '2025-10-30'), (4, 3, 20, 'paid', '2025-09-01'), (5, 4, 10, 'cancelled', '2025-11-20'), (6, NULL, 5, 'open', '2025-11-21');
INSERT INTO payments VALUES (1, 1, 60, '2025-11-03'), (2, 1, 40, '2025-11-05'), (3, 2, 70, '2025-11-06'), (4, 3, 20, '2025-09-02');
INSERT INTO products VALUES (1, 'Glue 50% stronger', 'GL_50', 4.5, 0), (2, 'Glue 500 ml', 'GL-500', 3.5, 0), (3, 'Bolt A_1', 'BOLTA1', 0.5, 1), (4, 'Bolt AX1', 'BOLTAX1', 0.6, 0), (5, '100% cotton cloth', 'CL_1', 2, NULL), (6, NULL, 'X\1', 9, 0);
INSERT INTO order_items VALUES (1, 1, 1, 2), (2, 1, 2, 1), (3, 2, 3, 10), (4, 3, 4, 5), (5, 4, 5, 1), (6, 5, 1, 1), (7, 3, 4, 1);
