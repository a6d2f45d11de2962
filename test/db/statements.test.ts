// Statements that return rows return whole rows, which are verified; the exceptions are named here with the reason.
// own-process: it looks at all statements that its process runs.
import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'

interface Compiled {
  readonly sql: string
  readonly node: { readonly kind: string }
  readonly verified: string | null
  readonly reads: 'rows' | 'keys' | 'unverified'
}

/** The beginnings of statements that read no whole rows, and why they cannot serve damaged data. */
const ALLOWED: Readonly<Record<string, RegExp>> = {
  'they count, for limits and metrics': /^select (count\(\*\)|coalesce\(sum|"status", count)/,
  'they tell whether there is a row': /^select 1 as "one"|^with recursive ("above"|"way")/,
  'they give a bound of keys, and the rows are read by them': /^select (min|max)\(/,
  'they choose assets of which the rows are read by their keys': /^with "reached"/,
  'they verify each row in SQL': /row_sound\('job_event'/,
  'they choose owners whose rows are read by their names': /^select distinct "user_id"/,
  'they tell that the database answers': /^select \(select count\(\*\) from \(select 1 from job/,
}

const ROOT = new URL('../../src/db/', import.meta.url)

test('every statement gives whole rows that are verified, or is one of a few that serve none', async () => {
  const compiled: Compiled[] = []
  const hear = (one: unknown) => void compiled.push(one as Compiled)
  channel('svc:statement').subscribe(hear)
  // The workers' own files begin their work when they are imported.
  const files = (readdirSync(ROOT, { recursive: true }) as string[]).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('-worker.ts'),
  )
  for (const name of files) await import(new URL(name, ROOT).href)
  channel('svc:statement').unsubscribe(hear)
  assert.ok(compiled.length > 100)
  const reading = compiled.filter(({ node, verified, reads }) => {
    return node.kind === 'SelectQueryNode' && verified === null && reads === 'rows'
  })
  const reasons = Object.values(ALLOWED)
  const others = reading.filter(({ sql }) => !reasons.some((reason) => reason.test(sql)))
  assert.deepEqual(
    others.map(({ sql }) => sql),
    [],
  )
  for (const [why, reason] of Object.entries(ALLOWED))
    assert.ok(
      reading.some(({ sql }) => reason.test(sql)),
      why,
    )
  const unverified = compiled
    .filter(({ reads }) => reads === 'unverified')
    .map(({ sql }) => /from "(\w+)"/.exec(sql)![1])
  assert.deepEqual([...new Set(unverified)].sort(), ['user_secret', 'user_setting'])
})

test('every statement that writes rows writes their checksum', async () => {
  const compiled: Compiled[] = []
  const { statement } = await import('../../src/db/statement.ts')
  const hear = (one: unknown) => void compiled.push(one as Compiled)
  channel('svc:statement').subscribe(hear)
  statement()((db) => db.updateTable('thread').set({ title: 'x' }))
  statement()((db) => db.insertInto('job_doomed').values({ job_key: 1 }))
  channel('svc:statement').unsubscribe(hear)
  assert.match(compiled[0]!.sql, /"checksum" = row_rechecksum\('thread', "checksum", '3'/)
  assert.match(compiled[1]!.sql, /\("job_key", "checksum"\)/)
})
