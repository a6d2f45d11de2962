// The search for threads by title runs in steps, for any number of threads.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { listThreadsSteps } from '../../../src/chat/threads/list.ts'
import { insertThread, THREAD_LIST_STATEMENT } from '../../../src/db/threads.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { openStore } from '../../helpers/store.ts'

const OWNER = { user_id: 'ada', workspace_id: null }
const COUNT = 1_000
const timeOf = (at: number) => new Date(1_700_000_000_000 + Math.floor(at / 3) * 1_000).toISOString()

test('titles are searched in steps, and a page starts after a given thread', async () => {
  await using opened = await openStore()
  const { store } = opened
  await store.write((tx) => {
    for (let at = 0; at < COUNT; at++) {
      const times = { spoken_at: timeOf(at), created_at: timeOf(at), updated_at: timeOf(at) }
      const title = at % 100 === 0 ? `Round ${at}` : at % 7 === 0 ? null : 'a\u0301\u0316'.repeat(80)
      const id = `thread_${String(at).padStart(4, '0')}`
      for (const owner of [OWNER, { ...OWNER, user_id: 'bob' }])
        insertThread(tx, { id: `${owner.user_id}_${id}`, ...owner, title, last_sequence: 0, size: 0, ...times })
    }
  })
  const rounds = (limit: number, from = 1_000) =>
    Array.from({ length: Math.min(limit, from / 100) }, (_, at) => `Round ${from - 100 - at * 100}`)
  const titles = (limit: number, spoken_at?: string) => {
    const after = spoken_at === undefined ? null : { spoken_at, id: '' }
    return runToCompletion(listThreadsSteps(store, OWNER, { q: 'ROUND', after, limit })).map(({ title }) => title)
  }
  assert.deepEqual(titles(50), rounds(50))
  assert.deepEqual(titles(3), rounds(3))
  assert.deepEqual(titles(50, timeOf(500)), rounds(50, 500))
  const all = runToCompletion(listThreadsSteps(store, OWNER, { after: null, limit: 50 }))
  assert.deepEqual(
    all.map(({ id }) => id),
    Array.from({ length: 50 }, (_, at) => `ada_thread_${String(COUNT - 1 - at).padStart(4, '0')}`),
  )
  const steps = listThreadsSteps(store, OWNER, { q: 'nothing', after: null, limit: 50 })
  let yielded = 0
  for (; !steps.next().done; yielded++);
  assert.ok(yielded >= COUNT / 64, `${yielded} steps`)
})

test('a list is read in the order of an index', async () => {
  await using opened = await openStore()
  const db = new Database(opened.path)
  const plan = db.prepare(`explain query plan ${THREAD_LIST_STATEMENT.sql.replaceAll('?', "'a'")}`).all()
  db.close()
  assert.deepEqual(
    (plan as { detail: string }[]).map(({ detail }) => detail),
    ['SEARCH thread USING INDEX thread_by_owner (user_id=? AND <expr>=? AND (spoken_at,id)<(?,?))'],
  )
})
