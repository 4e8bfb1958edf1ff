PRAGMA application_id = 1801604199;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE candidates (
	"row" INTEGER NOT NULL, 
	cells TEXT NOT NULL, 
	"check" TEXT NOT NULL, 
	PRIMARY KEY ("row")
)
 STRICT

;
INSERT INTO "candidates" VALUES(-1,'["Cs","T (\u00b0C)","note"]','65693f6973a4961a');
INSERT INTO "candidates" VALUES(0,'["0.1","20","plain"]','568b8f52842384c4');
INSERT INTO "candidates" VALUES(1,'["0.2","25","line\nbreak; \"quoted\""]','92e8c8e734e28e3c');
INSERT INTO "candidates" VALUES(2,'["0.3","-3.5","\u65e5\u672c \u00e4"]','425fc52a80230b3e');
CREATE TABLE events (
	seq INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	trial INTEGER, 
	"row" INTEGER, 
	value REAL, 
	"key" TEXT, 
	worker TEXT, 
	at REAL NOT NULL, 
	body TEXT NOT NULL, 
	"before" TEXT NOT NULL, 
	"check" TEXT NOT NULL, 
	PRIMARY KEY (seq)
)
 STRICT

;
INSERT INTO "events" VALUES(1,'created',NULL,NULL,NULL,NULL,NULL,1794813970.539,'{"settings":{"target":"stability","direction":"maximize","seed":7},"candidates":{"chosen":["Cs","T (\u00b0C)"],"cost":null}}','62bf729dcff4b89d','a145f299c22e0a38');
INSERT INTO "events" VALUES(2,'asked',1,2,NULL,'k-1','bench 1',1794813970.569,'{"note":{"weight":1.25,"width":2.0,"mean":-0.1,"sd":0.3},"lease":604800.0,"why":"it is the most uncertain"}','a145f299c22e0a38','873792d0682b0b14');
INSERT INTO "events" VALUES(3,'told',1,2,3.00000000000000044408e-01,'k-2','bench 1',1794813970.581,'{}','873792d0682b0b14','af3f26a681180661');
INSERT INTO "events" VALUES(4,'failed',2,0,NULL,'k-3',NULL,1794813970.597,'{}','af3f26a681180661','0cac5e3422328b23');
INSERT INTO "events" VALUES(5,'told',3,1,-5.0,NULL,NULL,1794813970.613,'{}','0cac5e3422328b23','da94940658b7690a');
INSERT INTO "events" VALUES(6,'corrected',3,1,0.625,NULL,NULL,1794813970.629,'{"was":-5.0,"reason":"wrong unit"}','da94940658b7690a','1978b04bbc75b7d4');
INSERT INTO "events" VALUES(7,'withdrawn',1,2,NULL,NULL,NULL,1794813970.64,'{"was":0.30000000000000004,"reason":"spilled"}','1978b04bbc75b7d4','a3514af97805d0bc');
INSERT INTO "events" VALUES(8,'settings',NULL,NULL,NULL,NULL,NULL,1794813970.652,'{"auto":true,"centre":0.25,"spread":1e+100}','a3514af97805d0bc','45056f643171378b');
INSERT INTO "events" VALUES(9,'released',4,0,NULL,NULL,NULL,1794813970.668,'{"overdue":true}','45056f643171378b','3b5db1cd654d1b76');
INSERT INTO "events" VALUES(10,'undone',1,2,NULL,NULL,NULL,1794813970.684,'{"of":7,"kind":"withdrawn"}','3b5db1cd654d1b76','893b6021612dd297');
INSERT INTO "events" VALUES(11,'noted',NULL,NULL,NULL,NULL,NULL,1794813970.7,'{"lost":3,"text":"\u00e4\u2028"}','893b6021612dd297','0887033963877d68');
CREATE TABLE head (
	id INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	"check" TEXT NOT NULL, 
	PRIMARY KEY (id)
)
 STRICT

;
INSERT INTO "head" VALUES(1,11,'0887033963877d68');
CREATE TABLE spare (
	"row" INTEGER NOT NULL, 
	cells TEXT NOT NULL, 
	"check" TEXT NOT NULL, 
	PRIMARY KEY ("row")
)
 STRICT

;
INSERT INTO "spare" VALUES(-1,'["Cs","T (\u00b0C)","note"]','65693f6973a4961a');
INSERT INTO "spare" VALUES(0,'["0.1","20","plain"]','568b8f52842384c4');
INSERT INTO "spare" VALUES(1,'["0.2","25","line\nbreak; \"quoted\""]','92e8c8e734e28e3c');
INSERT INTO "spare" VALUES(2,'["0.3","-3.5","\u65e5\u672c \u00e4"]','425fc52a80230b3e');
CREATE TABLE study (
	id INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	rows INTEGER NOT NULL, 
	columns TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	header TEXT NOT NULL, 
	release TEXT NOT NULL, 
	"check" TEXT NOT NULL, 
	PRIMARY KEY (id)
)
 STRICT

;
INSERT INTO "study" VALUES(1,1,3,'["Cs","T (\u00b0C)","note"]','62bf729dcff4b89d5eeb8bf241e3ca87960f91c35e059cedec702337f822c505','{"settings":{"target":"stability","direction":"maximize","seed":7},"candidates":{"chosen":["Cs","T (\u00b0C)"],"cost":null}}','0.1.0','7520081f9926c098');
COMMIT;
