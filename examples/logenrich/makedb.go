package main

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

//go:embed sampledata/clients.csv
var sampleClients string

//go:embed sampledata/users.csv
var sampleUsers string

// schema is that of a made-up database.
const schema = `
CREATE TABLE clients(key TEXT PRIMARY KEY, name TEXT, country TEXT, plan TEXT) WITHOUT ROWID;
CREATE TABLE users(key TEXT PRIMARY KEY, name TEXT, role TEXT) WITHOUT ROWID;`

// insertRow says how a row of each table is inserted.
var insertRow = map[string]string{
	"clients": "INSERT INTO clients VALUES(?,?,?,?)",
	"users":   "INSERT INTO users VALUES(?,?,?)",
}

// contents are the rows of a database, by table.
type contents map[string][][]string

// sampleDatabase returns the name of the database of the sample's clients, which
// it makes if there is none in the user's cache folder, or a damaged one. Where
// there is no such folder it is made in a temporary one, which remove removes.
func sampleDatabase(ctx context.Context, cacheDir func() (string, error), key string) (name string, remove func(), err error) {
	remove = func() {}
	dir, err := cacheDir()
	if err == nil {
		dir = filepath.Join(dir, "sluice-logenrich")
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		name, err = sampleIn(ctx, dir, key)
	}
	if err == nil || ctx.Err() != nil {
		return name, remove, err
	}
	if dir, err = os.MkdirTemp("", "sluice-logenrich-"); err != nil {
		return "", remove, err
	}
	forget := program.Unfinished(dir)
	remove = func() { forget(); os.RemoveAll(dir) }
	if name, err = sampleIn(ctx, dir, key); err != nil {
		remove()
	}
	return name, remove, err
}

// sampleIn returns the name of the sample's database in dir, made if need be. Its
// name changes with its contents.
func sampleIn(ctx context.Context, dir, key string) (string, error) {
	sum := fnv.New32a()
	for _, s := range []string{schema, sampleClients, sampleUsers} {
		sum.Write([]byte(s))
	}
	name := filepath.Join(dir, fmt.Sprintf("sample-%08x.db", sum.Sum32()))
	if db, err := openDatabase(ctx, name, asking{key: key, n: 1, batch: 1}); err == nil {
		return name, db.close()
	}
	rows := contents{}
	for table, text := range map[string]string{"clients": sampleClients, "users": sampleUsers} {
		lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			return "", err
		}
		rows[table] = lines
	}
	if err := makeDatabase(ctx, name, rows); err != nil {
		return "", err
	}
	return name, program.WriteWhole(filepath.Join(dir, "sample.log"), sampleLog)
}

// makeDatabase writes a database, whole or not at all.
func makeDatabase(ctx context.Context, name string, rows contents) (err error) {
	temp, err := os.MkdirTemp(filepath.Dir(name), ".logenrich-")
	if err != nil {
		return program.ReasonFor("database "+name, err)
	}
	forget := program.Unfinished(temp)
	defer func() { os.RemoveAll(temp); forget() }()
	file := filepath.Join(temp, "new.db")
	if err := fillDatabase(ctx, file, rows); err != nil {
		return fmt.Errorf("database %s: %w", name, err)
	}
	if err := program.ReplaceFile(file, name); err != nil {
		return program.ReasonFor("database "+name, err)
	}
	return nil
}

func fillDatabase(ctx context.Context, file string, rows contents) (err error) {
	db, err := sql.Open("sqlite", dataSource(file, "rwc", 0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	for table, lines := range rows {
		insert, err := tx.PrepareContext(ctx, insertRow[table])
		if err != nil {
			return err
		}
		for _, fields := range lines {
			args := make([]any, len(fields))
			for i, f := range fields {
				args[i] = f
			}
			if _, err := insert.ExecContext(ctx, args...); err != nil {
				return err
			}
		}
		if err := insert.Close(); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// inventContents makes up a client for nine in ten of the keys that lines have.
// What is made up depends on the key alone.
func inventContents(ctx context.Context, cfg config, src *source) (contents, error) {
	keys := map[string]map[string]bool{keyClient: {}, keyUser: {}}
	asClient, asUser := cfg, cfg
	asClient.key, asUser.key = keyClient, keyUser
	parsers := []parser{newParser(asClient), newParser(asUser)}
	err := src.each(ctx, func(records []record) bool {
		for _, r := range records {
			for _, p := range parsers {
				if _, key, err := p.parse(r.line); err == nil && key.present {
					keys[p.key][key.text] = true
				}
			}
		}
		return true
	})
	rows := contents{}
	for what, table := range tables {
		for key := range keys[what] {
			if row := invent(what, key); row != nil {
				rows[table] = append(rows[table], row)
			}
		}
		slices.SortFunc(rows[table], slices.Compare)
	}
	return rows, err
}

// invent makes up the row of a key, or none.
func invent(what, key string) []string {
	const oneIn = 10
	hash := fnv.New32a()
	hash.Write([]byte(key))
	h := int(hash.Sum32() >> 1)
	if h%oneIn == 0 {
		return nil
	}
	h /= oneIn
	pick := func(of ...string) string {
		s := of[h%len(of)]
		h /= len(of)
		return s
	}
	if what == keyUser {
		return []string{key, "User " + key, pick("reader", "editor", "admin")}
	}
	name := pick("Amber", "Birch", "Cobalt", "Delta", "Elm", "Fjord", "Granite", "Harbour") + " " +
		pick("Books", "Labs", "Mills", "Networks", "Press", "Systems", "Tools", "Works")
	return []string{key, name, pick("BR", "CA", "DE", "FR", "IN", "JP", "KE", "NO", "PT", "US"), pick("free", "team", "business")}
}
