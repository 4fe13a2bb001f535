BEGIN TRANSACTION;
CREATE TABLE client_keys (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	prefix TEXT NOT NULL, 
	claims TEXT NOT NULL, 
	daily_limit BIGINT, 
	created DATETIME NOT NULL, 
	expires DATETIME, 
	revoked DATETIME, requests_per_minute BIGINT, 
	PRIMARY KEY (id), 
	UNIQUE (hash)
);
INSERT INTO "client_keys" VALUES('f73725958cbc','laptop','e2f7b31c285ebfacee4a8f90b8349dc260f049ea0916138b8311eb03b1a3e11b','rdk_f73725958cbc_ra5T','{"team":"sales"}',NULL,'2026-11-30 12:00:00.000000',NULL,NULL,60);
CREATE TABLE graph_documents (
	collection TEXT NOT NULL, 
	document_id TEXT NOT NULL, 
	revision TEXT NOT NULL, 
	PRIMARY KEY (collection, document_id)
);
INSERT INTO "graph_documents" VALUES('handbook','doc1','rev1');
CREATE TABLE graph_entities (
	id TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	folded TEXT NOT NULL, 
	name TEXT NOT NULL, 
	type TEXT NOT NULL, 
	description TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "graph_entities" VALUES('ent_e1b93a45e5d0466c76c64564','handbook','ann','Ann','Person','');
INSERT INTO "graph_entities" VALUES('ent_c4432404c565136e399a9632','handbook','acme','Acme','','');
CREATE TABLE graph_mentions (
	entity TEXT NOT NULL, 
	chunk_id TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	document_id TEXT NOT NULL, 
	PRIMARY KEY (entity, chunk_id)
);
INSERT INTO "graph_mentions" VALUES('ent_e1b93a45e5d0466c76c64564','c1','handbook','doc1');
INSERT INTO "graph_mentions" VALUES('ent_c4432404c565136e399a9632','c1','handbook','doc1');
CREATE TABLE graph_relations (
	subject TEXT NOT NULL, 
	predicate TEXT NOT NULL, 
	object TEXT NOT NULL, 
	chunk_id TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	document_id TEXT NOT NULL, 
	PRIMARY KEY (subject, predicate, object, chunk_id)
);
INSERT INTO "graph_relations" VALUES('ent_e1b93a45e5d0466c76c64564','leads','ent_c4432404c565136e399a9632','c1','handbook','doc1');
CREATE TABLE kb_chunks (
	id TEXT NOT NULL, 
	document_id TEXT NOT NULL, 
	ordinal INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	index_text TEXT NOT NULL, 
	page INTEGER, 
	heading TEXT NOT NULL, 
	start BIGINT NOT NULL, 
	"end" BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE kb_collections (
	name TEXT NOT NULL, 
	embedder TEXT NOT NULL, 
	embedder_id TEXT, 
	dimension INTEGER, 
	language TEXT NOT NULL, 
	graph BOOLEAN NOT NULL, 
	chunk_chars INTEGER NOT NULL, 
	permission TEXT, 
	"index" TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (name), 
	UNIQUE ("index")
);
CREATE TABLE kb_documents (
	id TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	revision TEXT NOT NULL, 
	content_hash TEXT NOT NULL, 
	status TEXT NOT NULL, 
	title TEXT NOT NULL, 
	mime TEXT NOT NULL, 
	pages INTEGER, 
	characters BIGINT NOT NULL, 
	chunks INTEGER NOT NULL, 
	metadata TEXT NOT NULL, 
	report TEXT NOT NULL, 
	updated DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (revision)
);
CREATE TABLE kb_jobs (
	id TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	metadata TEXT NOT NULL, 
	upload TEXT, 
	owner TEXT, 
	lease_until DATETIME, 
	attempts INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE kb_leftovers (
	"index" TEXT NOT NULL, 
	revision TEXT NOT NULL, 
	job TEXT, 
	PRIMARY KEY ("index", revision)
);
CREATE TABLE kb_texts (
	document_id TEXT NOT NULL, 
	start BIGINT NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (document_id, start)
);
CREATE TABLE ledger (
	day DATE NOT NULL, 
	key_id TEXT NOT NULL, 
	engine TEXT NOT NULL, 
	searches BIGINT NOT NULL, 
	calls BIGINT NOT NULL, 
	cache_hits BIGINT NOT NULL, 
	cost_usd FLOAT NOT NULL, asked BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (day, key_id, engine)
);
INSERT INTO "ledger" VALUES('2026-11-30','','main',3,6,0,0.006,3);
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('written_by','0.1.0');
INSERT INTO "meta" VALUES('key_check','rd1.1FRnjDKoIWYm5gyZd7dLVESs58vk_bs1Yfql4MkbIHjNPyIGy4XN');
INSERT INTO "meta" VALUES('settings_stamp','a68620c3fbe1f0ba');
INSERT INTO "meta" VALUES('keys_stamp','ed4af82663d6ca98');
CREATE TABLE refdesk_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT refdesk_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "refdesk_schema" VALUES('0005');
CREATE TABLE requests (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	time DATETIME NOT NULL, 
	client_request_id TEXT, 
	key_id TEXT, 
	wire TEXT NOT NULL, 
	model TEXT, 
	upstream TEXT, 
	stream BOOLEAN NOT NULL, 
	status INTEGER, 
	route TEXT, 
	route_reason TEXT, 
	route_source TEXT, 
	search_header TEXT, 
	reason TEXT, 
	"query" TEXT, 
	engine TEXT, 
	results INTEGER NOT NULL, 
	cached BOOLEAN NOT NULL, 
	notices TEXT NOT NULL, 
	attempts TEXT NOT NULL, 
	queue_ms FLOAT, 
	search_ms FLOAT, 
	first_byte_ms FLOAT, 
	total_ms FLOAT, 
	injected_chars INTEGER NOT NULL, 
	client_disconnected BOOLEAN NOT NULL, 
	upstream_cut BOOLEAN NOT NULL, 
	error TEXT, 
	UNIQUE (id)
);
INSERT INTO "requests" VALUES(1,'0f1e2d3c','2026-11-30 12:00:00.000000',NULL,NULL,'messages','deepseek-chat',NULL,0,200,NULL,NULL,NULL,NULL,NULL,'When was it released?',NULL,0,0,'["a notice"]','[{"engine":"main","outcome":"ok","calls":2,"duration_s":0.0,"detail":""}]',NULL,NULL,NULL,NULL,0,0,0,NULL);
CREATE TABLE searches (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	request_id TEXT NOT NULL, 
	key_id TEXT, 
	time DATETIME NOT NULL, 
	"query" TEXT, 
	engine TEXT, 
	items TEXT NOT NULL, 
	answer TEXT, 
	conversation TEXT, type TEXT DEFAULT 'web' NOT NULL, source TEXT DEFAULT 'gateway' NOT NULL, config TEXT, keywords TEXT, entities TEXT, relations TEXT, dsl TEXT, "references" TEXT, graph TEXT, xml TEXT, prompt TEXT, error TEXT, duration_ms FLOAT, 
	UNIQUE (id)
);
INSERT INTO "searches" VALUES(1,'abababababababababababababababababababab','0f1e2d3c',NULL,'2026-11-30 12:00:00.000000','When was it released?','main','[{"title":"Python 3.14","url":"https://www.python.org/","snippet":"Released in October 2025.","published":null}]',NULL,NULL,'web','gateway',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "searches" VALUES(2,'cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd','0f1e2d3d','k1','2026-11-30 12:00:00.000000','old orders',NULL,'[]',NULL,NULL,'db','hook','{"db":{"max_results":20}}','[{"text":"orders","weight":1.0}]','[{"name":"Ann","type":"person","source":""}]','[{"subject":"Ann","predicate":"placed","object":"order 7","source":""}]','{"from":"orders"}','[{"id":"ref_002","index":2,"type":"db","source":"hook","weight":0.8,"score":null,"title":"Order 7","content":"Ann, 12 EUR","url":"","meta":{"record_id":7}}]','[{"id":"g1","type":"person","name":"Ann","description":"","relation":"","score":null,"metadata":{}}]','<references>','Cite.',NULL,1.5);
CREATE TABLE settings (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	secret BOOLEAN NOT NULL, 
	updated_at DATETIME NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "settings" VALUES('plain','{"a":[1,null]}',0,'2026-11-30 12:00:00.000000');
INSERT INTO "settings" VALUES('sealed','"rd1.1FRnjJiGCFS8itncz2-ZbD6QUUOB_8rt13eP8MBWneG4HuxEICgmRtKtkaF7"',1,'2026-11-30 12:00:00.000000');
CREATE INDEX ix_requests_time ON requests (time);
CREATE INDEX ix_searches_request_id ON searches (request_id);
CREATE INDEX ix_searches_conversation ON searches (conversation);
CREATE INDEX ix_searches_time ON searches (time);
CREATE UNIQUE INDEX ux_kb_documents_key ON kb_documents (collection, "key");
CREATE UNIQUE INDEX ux_kb_chunks_place ON kb_chunks (document_id, ordinal);
CREATE UNIQUE INDEX ux_kb_jobs_key ON kb_jobs (collection, "key");
CREATE INDEX ix_graph_entities_collection ON graph_entities (collection);
CREATE INDEX ix_graph_mentions_document ON graph_mentions (collection, document_id);
CREATE INDEX ix_graph_relations_object ON graph_relations (object);
CREATE INDEX ix_graph_relations_document ON graph_relations (collection, document_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('requests',1);
INSERT INTO "sqlite_sequence" VALUES('searches',2);
COMMIT;
