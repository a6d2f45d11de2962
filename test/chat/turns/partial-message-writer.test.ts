// The stored partial text of a turn: each piece is written once, and a failed write is repeated with the next piece.
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CHAT_LIMITS } from '../../../src/chat/limits.ts'
import { PartialMessageWriter } from '../../../src/chat/turns/partial-message-writer.ts'
import { Store, type StoreOptions } from '../../../src/db/store.ts'
import {
  clearTurnDrafts,
  findOwnedThread,
  insertThread,
  readDraftText,
  startTurn,
  type TurnState,
} from '../../../src/db/threads.ts'
import { watchConnections } from '../../db/kit.ts'
import { inFolder } from '../../helpers/folder.ts'

const NEVER_MS = 3_600_000
const LIMITS = { ...CHAT_LIMITS, draft_ms: NEVER_MS }
const PIECE = LIMITS.draft_characters
const owner = { user_id: '1', workspace_id: null }
const at = '2026-01-01T00:00:00.000Z'

/** A store with a running turn. */
async function withTurn(path: string, options: StoreOptions = {}): Promise<{ store: Store; state: TurnState }> {
  const store = await Store.open(path, options)
  const thread = { id: 'thread', title: null, last_sequence: 1, size: 0, spoken_at: at, created_at: at, updated_at: at }
  const state = await store.write((tx) => {
    insertThread(tx, { ...owner, ...thread })
    const { key: thread_key } = findOwnedThread(tx, owner, 'thread')!
    const turn = { thread_key, id: 'turn', provider: null, model: null, workflow_id: null, job_id: null }
    startTurn(tx, { ...turn, created_at: at })
    return turn
  })
  return { store, state }
}

const keptIn = (store: Store, { thread_key }: TurnState) => store.read((tx) => readDraftText(tx, thread_key))
const written = (store: Store) => store.write(() => {})

test(
  'a text of 4 MB in small pieces makes the log grow by a few times its length',
  inFolder(async (folder) => {
    const path = join(folder, 'svc.db')
    const quiet = { bytes: 2 ** 40, look_every_ms: NEVER_MS }
    const { store, state } = await withTurn(path, { wal: quiet, durability: 'normal' })
    await using _ = store
    const drafts = new PartialMessageWriter(store, LIMITS, () => state)
    const before = statSync(`${path}-wal`).size
    let text = ''
    for (let count = 0; text.length < 4_194_304; count++) {
      const word = `word ${count} `
      text += word
      drafts.append(word)
      if (text.length % PIECE < word.length) await written(store)
    }
    await written(store)
    assert.ok(text.length - keptIn(store, state).length < PIECE, 'no more is left out than a piece')
    assert.ok(text.startsWith(keptIn(store, state)))
    const bytes = statSync(`${path}-wal`).size - before
    assert.ok(bytes < 10 * text.length, `${bytes} bytes`)
  }),
)

test(
  'a failed write is repeated with the next piece, and a stored message starts another text',
  inFolder(async (folder) => {
    const path = join(folder, 'svc.db')
    using watched = watchConnections()
    const { store, state } = await withTurn(path)
    await using _ = store
    const drafts = new PartialMessageWriter(store, LIMITS, () => state)
    const [one, two, three, four] = ['1', '2', '3', '4'].map((char) => char.repeat(PIECE)) as [string, ...string[]]
    drafts.append(one)
    await written(store)
    assert.equal(keptIn(store, state), one)
    watched.of(path).pragma('query_only = on')
    drafts.append(two!)
    await assert.rejects(store.write((tx) => clearTurnDrafts(tx, state)))
    watched.of(path).pragma('query_only = off')
    assert.equal(keptIn(store, state), one)
    drafts.append(three!)
    await written(store)
    assert.equal(keptIn(store, state), `${one}${two}${three}`)
    drafts.append('the end')
    drafts.startNextMessage()
    await store.write((tx) => clearTurnDrafts(tx, state))
    assert.equal(keptIn(store, state), '')
    drafts.append(four!)
    await written(store)
    assert.equal(keptIn(store, state), four)
  }),
)
